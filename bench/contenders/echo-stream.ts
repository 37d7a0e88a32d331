import { Client, credentials, type ClientDuplexStream } from '@grpc/grpc-js';
import { echoService } from '../servers/echo-service.js';
import { RequestFrame, type AnswerFrame } from '../servers/frames.js';
import { addressOf, type Contender } from './contender.js';

/** Operations of one turn of the event loop in one message, answers by number: what a channel cannot be faster than. */
class BareStream {
  private readonly waiting = new Map<number, () => void>();
  private lastNumber = 0;
  private frame: RequestFrame | undefined;
  private broken: Error | undefined;

  constructor(private readonly stream: ClientDuplexStream<RequestFrame, AnswerFrame>) {
    stream.on('data', (answers: AnswerFrame) => this.settle(answers));
    stream.on('error', (error) => (this.broken = error));
  }

  ask(key: string): Promise<void> {
    if (this.broken !== undefined) return Promise.reject(this.broken);
    if (this.frame === undefined) {
      this.frame = new RequestFrame();
      process.nextTick(() => this.flush());
    }
    const number = ++this.lastNumber;
    this.frame.add(number, key);
    return new Promise((resolve) => this.waiting.set(number, resolve));
  }

  private flush(): void {
    const { frame } = this;
    this.frame = undefined;
    if (frame !== undefined) this.stream.write(frame);
  }

  private settle({ numbers }: AnswerFrame): void {
    for (const number of numbers) {
      this.waiting.get(number)?.();
      this.waiting.delete(number);
    }
  }
}

export const contender: Contender = {
  title: 'bare batched stream',
  family: 'bare',
  needs: 'echo',
  open: (addresses) => {
    const client = new Client(addressOf(addresses, 'echo'), credentials.createInsecure());
    const { path, requestSerialize, responseDeserialize } = echoService.Batches;
    const stream = new BareStream(client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize));
    return Promise.resolve({
      section: async ([key], held) => {
        await stream.ask(key);
        held();
        await stream.ask('');
      },
      close: () => Promise.resolve(client.close()),
    });
  },
};
