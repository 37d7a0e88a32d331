// Many raw lock clients in one process, to be killed all at once: each on a connection and a session of its own.
import { Client, credentials } from '@grpc/grpc-js';
import { emit, serve } from './child-side.mjs';

// Fields of the messages by hand, so that nothing but grpc-js is needed here.
const text = (field, value) => {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([field * 8 + 2, bytes.length]), bytes]);
};
const number = (field, value) => {
  const bytes = [field * 8];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
};
const path = (rpc) => `/klock.v1.LockService/${rpc}`;
const same = (bytes) => bytes;

function call(client, rpc, request) {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path(rpc), same, same, request, (error, answer) =>
      error ? reject(error) : resolve(answer),
    );
  });
}

async function openSession(client, leaseMs) {
  const answer = await call(client, 'CreateSession', Buffer.concat([number(1, leaseMs), text(2, '1')]));
  // field 1 of the answer is the session id
  return answer.subarray(2, 2 + answer[1]).toString();
}

async function wait(address, p1, leaseMs, index) {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const session = await openSession(client, leaseMs);
  const request = [text(1, 'l1'), text(2, p1), text(5, session), text(6, `r${index}`), text(7, '1')];
  call(client, 'Acquire', Buffer.concat(request)).then(
    () => emit('granted', index),
    () => undefined,
  );
}

serve({
  wait: async (address, p1, leaseMs, count) => {
    await Promise.all(Array.from({ length: count }, (_, index) => wait(address, p1, leaseMs, index)));
  },
});
