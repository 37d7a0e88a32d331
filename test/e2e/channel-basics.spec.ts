import { createKlock, type InstanceOptions, type KlockInstance } from '../../lib/core/index.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { LockServer } from '../../lib/server/index.js';

let server: LockServer;
const open: KlockInstance[] = [];

beforeAll(async () => {
  server = new LockServer({ address: '127.0.0.1:0', rateLimit: false });
  await server.start();
});
afterAll(() => server.close({ graceMs: 100 }));
afterEach(async () => {
  await Promise.all(open.splice(0).map((klock) => klock.close({ graceMs: 1 })));
});

function client(options: InstanceOptions = {}): KlockInstance {
  const klock = createKlock({
    ttlMs: 2_000,
    ...options,
    driver: klockDriver({ url: `klock://${server.address}` }),
  });
  open.push(klock);
  return klock;
}

describe('a client on a channel', () => {
  it('[K-141] locks, excludes, releases and renews without one unary call', async () => {
    const klock = client({ ttlMs: 300 });
    const other = client();
    const before = server.counters.unary_calls;
    const lock = await klock.acquire(['t', 'a']);
    expect(await other.tryAcquire(['t', 'a'])).toBeUndefined();
    const next = other.acquire('t');
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(lock.held).toBe(true);
    await lock.release();
    const whole = await next;
    expect(whole.fence > lock.fence).toBe(true);
    expect(server.counters.unary_calls).toBe(before);
    await whole.release();
    expect(server.stats.locks).toBe(0);
  });
});
