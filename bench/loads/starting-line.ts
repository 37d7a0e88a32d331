import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { sharedNow } from './sample.js';

/** Bursts one after the other. */
export interface Series {
  /** Nothing of the contender runs for so long before each of them; 0 for one right after the other. */
  readonly restMs: number;
  /** No burst begins later than this after the first; there is always one. */
  readonly forMs: number;
  readonly atMost: number;
}

/** Where the processes of a contender meet before each burst: all begin at one moment, and stop after the same one. */
export interface StartingLine {
  /** When the next burst begins, on the shared clock; undefined when there is none. */
  next(): Promise<number | undefined>;
  close(): void;
}

/** Time for the moment to reach everybody. */
const WORD_MS = 0.2;
const OVER = 'over';

/** Says when; the others join at its port. */
export class HostedLine implements StartingLine {
  private readonly server = createServer((socket) => this.guests.push(new Line(socket)));
  private readonly guests: Line[] = [];
  private untilMs: number | undefined;
  private begun = 0;

  constructor(
    private readonly expected: number,
    private readonly series: Series,
  ) {}

  async open(): Promise<number> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  async next(): Promise<number | undefined> {
    while (this.guests.length < this.expected) await once(this.server, 'connection');
    await Promise.all(this.guests.map((guest) => guest.read()));
    const { restMs, forMs, atMost } = this.series;
    const nowMs = sharedNow();
    this.untilMs ??= nowMs + forMs;
    const isOver = this.begun > 0 && (this.begun >= atMost || nowMs > this.untilMs);
    const startMs = nowMs + Math.max(restMs, this.expected === 0 ? 0 : WORD_MS);
    for (const guest of this.guests) guest.write(isOver ? OVER : String(startMs));
    this.begun++;
    return isOver ? undefined : startMs;
  }

  close(): void {
    this.server.close();
    for (const guest of this.guests) guest.close();
  }
}

/** Says when it is there, and is told when. */
export class JoinedLine implements StartingLine {
  private constructor(private readonly host: Line) {}

  static async join(port: number): Promise<JoinedLine> {
    const socket = createConnection(port, '127.0.0.1');
    await once(socket, 'connect');
    return new JoinedLine(new Line(socket));
  }

  async next(): Promise<number | undefined> {
    this.host.write('ready');
    const word = await this.host.read();
    return word === OVER ? undefined : Number(word);
  }

  close(): void {
    this.host.close();
  }
}

/** Words between two processes. */
class Line {
  private readonly words: AsyncIterator<string>;

  constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    this.words = createInterface({ input: socket })[Symbol.asyncIterator]();
  }

  write(word: string): void {
    this.socket.write(`${word}\n`);
  }

  /** @throws Error when the other process has gone. */
  async read(): Promise<string> {
    const word = await this.words.next();
    if (word.done === true) throw new Error('the other process of the burst has gone');
    return word.value;
  }

  close(): void {
    this.socket.destroy();
  }
}
