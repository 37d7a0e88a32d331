import { Client, credentials, type ClientDuplexStream } from '@grpc/grpc-js';
import { serve } from '../children/serve.js';

/** Sessions as cheap as they come: many on one connection, each on the one stream that carries it. */

const LEASE_MS = 60_000;
const bytes = (buffer: Buffer): Buffer => buffer;

function varint(value: number): number[] {
  const all: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) all.push((rest & 0x7f) | 0x80);
  return [...all, rest];
}

/** ClientFrame { hello = 1: { protocol_version = 1, lease_ms = 4, incarnation = 5 } } */
function helloFrame(): Buffer {
  const hello = [10, 1, '1'.charCodeAt(0), 32, ...varint(LEASE_MS), 40, 1];
  return Buffer.from([10, hello.length, ...hello]);
}

const WELCOME_TAG = 10;
const streams: ClientDuplexStream<Buffer, Buffer>[] = [];

function openSession(client: Client): Promise<void> {
  const stream = client.makeBidiStreamRequest('/klock.v1.LockService/Channel', bytes, bytes);
  streams.push(stream);
  const welcomed = new Promise<void>((resolve, reject) => {
    stream.once('data', (frame: Buffer) => {
      if (frame[0] === WELCOME_TAG) resolve();
      else reject(new Error('the server opened no session'));
    });
    stream.on('error', reject);
  });
  stream.write(helloFrame());
  return welcomed;
}

serve({
  open: async (address: string, count: number) => {
    const client = new Client(address, credentials.createInsecure());
    const atOnce = 50;
    for (let opened = 0; opened < count; opened += atOnce) {
      await Promise.all(Array.from({ length: Math.min(atOnce, count - opened) }, () => openSession(client)));
    }
  },
});
