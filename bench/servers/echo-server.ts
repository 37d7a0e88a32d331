import { Server, ServerCredentials, type ServerDuplexStream, type sendUnaryData } from '@grpc/grpc-js';
import { serve } from '../children/serve.js';
import { echoService } from './echo-service.js';
import { AnswerFrame, type RequestFrame } from './frames.js';

const TOKEN = 'lk_0123456789abcdefghijkl';
let fence = 2 ** 50;

/** Answers every operation with what a grant would carry, and looks nothing up. */
function answerAll(frame: RequestFrame): AnswerFrame {
  const answer = new AnswerFrame();
  for (let index = 0; index < frame.numbers.length; index++) {
    const isAcquire = frame.keys[index] !== '';
    answer.add(frame.numbers[index] as number, isAcquire ? TOKEN : '', isAcquire ? ++fence : 0);
  }
  return answer;
}

const server = new Server();
server.addService(echoService, {
  Echo: (call: { request: Buffer }, callback: sendUnaryData<Buffer>) => callback(null, call.request),
  Batches: (stream: ServerDuplexStream<RequestFrame, AnswerFrame>) => {
    stream.on('data', (frame: RequestFrame) => stream.write(answerAll(frame)));
    stream.on('end', () => stream.end());
    stream.on('error', () => undefined);
  },
});

serve({
  start: () =>
    new Promise<string>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
        if (error === null) resolve(`127.0.0.1:${port}`);
        else reject(error);
      });
    }),
});
