import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { klockDriver } from 'klock/client';
import { driverContract } from 'klock/testing';
import { LockServer } from '../../lib/server/index.js';

for (const channel of [true, false]) {
  let server: LockServer;
  driverContract(
    {
      name: channel ? 'klock over a channel' : 'klock over the six calls',
      // A call for each operation: on a busy machine three renewals of 300 ms can be too late.
      ttlMs: channel ? 300 : 900,
      capabilities: {
        ...klockDriver({ url: 'localhost' }).capabilities,
        ...(channel ? {} : { inspect: 'none', atLeast: false, revoke: false }),
      },
      start: async () => {
        server = new LockServer({ address: '127.0.0.1:0', rateLimit: false }, { channel });
        await server.start();
      },
      open: () => klockDriver({ url: `klock://${server.address}` }),
      stop: async () => await server.close({ graceMs: 50 }),
    },
    { describe, it, beforeAll, afterAll },
  );
}
