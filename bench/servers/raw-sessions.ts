import { Client, credentials, type ClientDuplexStream } from '@grpc/grpc-js';
import { serve } from '../children/serve.js';

/** Sessions as cheap as they come: many on one connection, each with the one stream a client keeps open. */

const SERVICE = '/klock.v1.LockService';
const LEASE_MS = 60_000;
const bytes = (buffer: Buffer): Buffer => buffer;

function field(number: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([number * 8 + 2, text.length]), Buffer.from(text)]);
}

/** lease_ms = 1, protocol_version = 2 */
function createRequest(): Buffer {
  const lease: number[] = [8];
  let rest = LEASE_MS;
  for (; rest > 0x7f; rest >>>= 7) lease.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...lease, rest]), field(2, '1')]);
}

/** session_id = 1 comes first in every answer; the ids are shorter than 128 bytes. */
function sessionIdOf(response: Buffer): string {
  if (response[0] !== 10) throw new Error('the server opened no session');
  return response.toString('utf8', 2, 2 + (response[1] as number));
}

const streams: ClientDuplexStream<Buffer, Buffer>[] = [];

function create(client: Client): Promise<string> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(`${SERVICE}/CreateSession`, bytes, bytes, createRequest(), (error, response) => {
      if (error !== null || response === undefined) reject(error ?? new Error('no answer'));
      else resolve(sessionIdOf(response));
    });
  });
}

async function openSession(client: Client): Promise<void> {
  const sessionId = await create(client);
  const stream = client.makeBidiStreamRequest(`${SERVICE}/WatchSession`, bytes, bytes);
  streams.push(stream);
  const established = new Promise<void>((resolve, reject) => {
    stream.once('data', () => resolve());
    stream.on('error', reject);
  });
  stream.write(Buffer.concat([field(1, sessionId), field(2, '1')]));
  await established;
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
