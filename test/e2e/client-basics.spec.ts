import { createKlock } from '../../lib/core/index.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { LockServer } from '../../lib/server/index.js';

describe('a client and the lock server', () => {
  it('acquires, excludes and releases over the wire', async () => {
    const server = new LockServer({ address: '127.0.0.1:0', drainMs: 200 });
    await server.start();
    const a = createKlock({ driver: klockDriver({ url: `klock://${server.address}` }) });
    const b = createKlock({ driver: klockDriver({ url: `klock://${server.address}` }) });
    const lock = await a.acquire(['t', 'r'], { waitMs: 500 });
    expect(lock.fence).toBeGreaterThan(0n);
    expect(await b.tryAcquire(['t', 'r'])).toBeUndefined();
    await expect(b.acquire('t', { waitMs: 50 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    const waiting = b.acquire(['t', 'r']);
    expect(await lock.release()).toBe('released');
    const second = await waiting;
    expect(second.fence).toBeGreaterThan(lock.fence);
    await second.release();
    const start = performance.now();
    for (let i = 0; i < 300; i++) await (await a.acquire(['t', `r${i}`])).release();
    console.log('us per pair', ((performance.now() - start) / 300) * 1000);
    await a.close();
    await b.close();
    await server.close();
  });
});
