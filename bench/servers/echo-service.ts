import type { MethodDefinition } from '@grpc/grpc-js';
import { AnswerFrame, RequestFrame } from './frames.js';

const bytes = (buffer: Buffer): Buffer => buffer;

function method<Q, R>(
  name: string,
  streams: boolean,
  request: { serialize(value: Q): Buffer; deserialize(buffer: Buffer): Q },
  response: { serialize(value: R): Buffer; deserialize(buffer: Buffer): R },
): MethodDefinition<Q, R> {
  return {
    path: `/klock.bench.Echo/${name}`,
    requestStream: streams,
    responseStream: streams,
    requestSerialize: (value) => request.serialize(value),
    requestDeserialize: (buffer) => request.deserialize(buffer),
    responseSerialize: (value) => response.serialize(value),
    responseDeserialize: (buffer) => response.deserialize(buffer),
  };
}

const raw = { serialize: bytes, deserialize: bytes };
const requests = {
  serialize: (frame: RequestFrame) => frame.bytes(),
  deserialize: (buffer: Buffer) => RequestFrame.read(buffer),
};
const answers = {
  serialize: (frame: AnswerFrame) => frame.bytes(),
  deserialize: (buffer: Buffer) => AnswerFrame.read(buffer),
};

/** What gRPC can do when the server has nothing to decide. */
export const echoService = {
  Echo: method<Buffer, Buffer>('Echo', false, raw, raw),
  Batches: method<RequestFrame, AnswerFrame>('Batches', true, requests, answers),
};
