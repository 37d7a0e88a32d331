import { FakeClock } from '../../lib/core/fake-clock.js';
import { advanceUntil, Bench, real, until } from '../support/client-rig.js';
import { scaled, scaleNote } from '../support/scale.js';
import { NEVER } from '../support/scripted-lock-server.js';

const bench = new Bench();
afterEach(() => bench.end());

describe('closing a client', () => {
  it('[K-196] ends live handles, stops all loops, closes the session on the server, then the connection', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 3_000 } });
    const lock = await klock.acquire('a');
    await until(() => server.watches.length === 1);
    await klock.close({ graceMs: 1 });
    expect(lost).toHaveLength(1);
    expect(lost[0]).toMatchObject({ reason: 'closed', code: 'CLIENT_CLOSE' });
    expect(lock.signal.aborted).toBe(true);
    expect(server.seen('CloseSession')).toHaveLength(1);
    await until(() => server.watches[0]?.cancelled === true);
    const beats = server.seen('Heartbeat').length;
    await clock.advance(10_000);
    await real(20);
    expect(server.seen('Heartbeat')).toHaveLength(beats);
    expect(clock.timers).toBe(0);
  });

  it('[K-197] [K-198] waits for what is still under way', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    await klock.acquire('a');
    let answered = false;
    server.on('CloseSession', async (_, { usual }) => {
      await real(150);
      answered = true;
      return usual();
    });
    await klock.close({ graceMs: 1 });
    expect(answered).toBe(true);
  });

  it('[K-199] during the opening of a session closes that session once, and the lock fails with CLOSED', async () => {
    const server = await bench.server();
    server.on('CreateSession', async (_, { usual }) => {
      await real(80);
      return usual();
    });
    const { klock } = bench.rig(server.url);
    const waiting = klock.acquire('a');
    await server.received('CreateSession', 1);
    const closing = klock.close();
    await expect(waiting).rejects.toMatchObject({ code: 'CLOSED' });
    await closing;
    expect(server.seen('CloseSession').map((call) => call.request.sessionId)).toEqual(['sess_1']);
    expect(server.seen('Acquire')).toHaveLength(0);
  });

  it('[K-200] during an acquire leaves nothing of it behind, and the lock fails with CLOSED', async () => {
    const server = await bench.server();
    server.on('Acquire', async (_, { usual }) => {
      const granted = usual();
      await real(120);
      return granted;
    });
    const { klock } = bench.rig(server.url);
    const waiting = klock.acquire('a');
    await server.received('Acquire', 1);
    const started = performance.now();
    const closing = klock.close();
    await expect(waiting).rejects.toMatchObject({ code: 'CLOSED' });
    expect(performance.now() - started).toBeLessThan(100);
    await closing;
    await until(() => server.held.size === 0);
  });

  it('[K-201] refuses locks afterwards, and can be repeated', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    await klock.acquire('a');
    await klock.close({ graceMs: 1 });
    await klock.close();
    await expect(klock.acquire('a')).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(klock.tryAcquire('a')).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(klock.driver.ready(100)).rejects.toMatchObject({ code: 'CLOSED' });
    expect(await klock.driver.health()).toMatchObject({ state: 'unreachable' });
    expect(server.seen('CloseSession')).toHaveLength(1);
  });

  it('closes a client that never connected without an RPC', async () => {
    const { klock } = bench.rig('klock://127.0.0.1:1');
    const started = performance.now();
    await klock.close();
    expect(performance.now() - started).toBeLessThan(100);
  });

  it.each(['SESSION_NOT_FOUND', 'SESSION_GONE'] as const)('[K-202] takes %s for success', async (code) => {
    const server = await bench.server();
    server.on('CloseSession', () => server.refuse(code));
    const { klock } = bench.rig(server.url);
    await klock.acquire('a');
    expect(await klock.driver.close(1_000)).toBe(true);
    expect(server.seen('CloseSession')).toHaveLength(1);
  });

  it('[K-203] that ran out of time can be repeated, and then closes the session on the server', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { clock });
    await klock.acquire('a');
    server.on('CloseSession', () => NEVER);
    const first = klock.close({ graceMs: 1 });
    await advanceUntil(clock, () => server.seen('CloseSession').length >= 1, 50);
    await clock.advance(1_000);
    await first;
    // The farewell has a budget of its own, longer than the caller's patience (WK-28).
    await clock.advance(2_500);
    server.on('CloseSession');
    const before = server.seen('CloseSession').length;
    const second = klock.close();
    await advanceUntil(clock, () => server.seen('CloseSession').length > before, 10);
    await second;
    expect(server.seen('CloseSession').at(-1)?.request.sessionId).toBe('sess_1');
    const told = server.seen('CloseSession').length;
    await klock.close();
    expect(server.seen('CloseSession')).toHaveLength(told);
  });

  it('[K-165] shares one farewell among all who close', async () => {
    const server = await bench.server();
    server.on('CloseSession', async (_, { usual }) => {
      await real(60);
      return usual();
    });
    const { klock } = bench.rig(server.url);
    await klock.acquire('a');
    const closes = await Promise.all([
      klock.driver.close(1_000),
      klock.driver.close(1_000),
      klock.driver.close(1_000),
    ]);
    expect(closes).toEqual([true, true, true]);
    expect(server.seen('CloseSession')).toHaveLength(1);
  });

  it('lets sections end first, with their locks still renewed', async () => {
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url, { instance: { ttlMs: 300 } });
    let inside = false;
    const section = klock.withLock('a', async (lock) => {
      inside = true;
      await real(500);
      return lock.held;
    });
    await until(() => inside);
    await klock.close({ graceMs: 2_000 });
    expect(await section).toBe(true);
    expect(server.seen('Heartbeat').length).toBeGreaterThan(2);
    expect(lost).toHaveLength(0);
    expect(server.seen('Release')).toHaveLength(1);
  });

  it(`[B-029] at random moments of waits and aborts surfaces no error of its own cancels${scaleNote(12)}`, async () => {
    const seed = 12_345;
    let random = seed;
    const next = (below: number): number => (random = (random * 48_271) % 2_147_483_647) % below;
    const errors: unknown[] = [];
    const note = (error: unknown): number => errors.push(error);
    process.on('unhandledRejection', note);
    process.on('uncaughtException', note);
    const server = await bench.server();
    server.held.set('l1/busy/', { token: 'lk_other', session: 'other', requestId: 'other' });
    server.on('Acquire', async (request, { usual }) => {
      if (request.p1 === 'busy') await real(Math.min(30, Number(request.timeoutMs)));
      return usual();
    });
    for (let round = 0; round < scaled(500, 12); round++) {
      const { klock } = bench.rig(server.url);
      const controller = new AbortController();
      const waits = [
        klock.acquire('busy', { signal: controller.signal }),
        klock.acquire('busy', { waitMs: 30 }),
      ];
      const settled = Promise.allSettled(waits);
      await real(next(12));
      controller.abort();
      await real(next(4));
      await klock.close({ graceMs: 1 });
      for (const end of await settled)
        expect({ seed, status: end.status }).toEqual({ seed, status: 'rejected' });
    }
    process.off('unhandledRejection', note);
    process.off('uncaughtException', note);
    expect({ seed, errors }).toEqual({ seed, errors: [] });
  }, 120_000);
});
