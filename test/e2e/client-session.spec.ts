import { status } from '@grpc/grpc-js';
import { FakeClock } from '../../lib/core/fake-clock.js';
import { advanceUntil, Bench, real, until } from '../support/client-rig.js';
import { NEVER, Status } from '../support/scripted-lock-server.js';

const bench = new Bench();
afterEach(() => bench.end());

describe('the session of a client', () => {
  it('[K-141] makes no RPC before the first lock', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    await real(30);
    expect(server.calls).toHaveLength(0);
    await klock.acquire('a');
    expect(server.calls.map((call) => call.rpc)).toEqual(['CreateSession', 'Acquire']);
  });

  it('[K-140] sends the token as a bearer with every call and watch, and nothing without a token', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { driver: { authToken: ' s3cret ' } });
    await (await klock.acquire('a')).release();
    await klock.close();
    expect(server.calls.map((call) => call.rpc)).toEqual([
      'CreateSession',
      'Acquire',
      'Release',
      'CloseSession',
    ]);
    for (const call of server.calls) expect(call.authorization).toBe('Bearer s3cret');
    const before = server.calls.length;
    const { klock: other } = bench.rig(server.url, { driver: { authToken: '   ' } });
    await other.acquire('b');
    for (const call of server.calls.slice(before)) expect(call.authorization).toBeUndefined();
  });

  it('[K-142] opens one session for concurrent first locks', async () => {
    const server = await bench.server();
    server.on('CreateSession', async (_, { usual }) => {
      await real(20);
      return usual();
    });
    const { klock } = bench.rig(server.url);
    await Promise.all(Array.from({ length: 30 }, (_, index) => klock.acquire(`k${index}`)));
    expect(server.seen('CreateSession')).toHaveLength(1);
    expect(new Set(server.seen('Acquire').map((call) => call.request.sessionId)).size).toBe(1);
  });

  it('[K-143] wakes everybody when the creation fails, and a later lock succeeds', async () => {
    const server = await bench.server();
    server.on('CreateSession', () => new Status(status.UNAUTHENTICATED));
    const { klock } = bench.rig(server.url);
    const failed = await Promise.allSettled([klock.acquire('a'), klock.acquire('b'), klock.acquire('c')]);
    for (const each of failed) {
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'BACKEND_MISCONFIGURED' } });
    }
    server.on('CreateSession');
    expect((await klock.acquire('a')).held).toBe(true);
  });

  it('[K-143] retries a creation that failed in passing while the wait lasts', async () => {
    const server = await bench.server();
    server.on('CreateSession', (_, { nth, usual }) => (nth < 3 ? server.refuse('SERVER_DRAINING') : usual()));
    const { klock } = bench.rig(server.url);
    expect((await klock.acquire('a', { waitMs: 3_000 })).held).toBe(true);
    expect(server.seen('CreateSession')).toHaveLength(3);
  });

  it('[K-142] lets each caller wait with its own deadline while the creation goes on', async () => {
    const server = await bench.server();
    server.on('CreateSession', async (_, { usual }) => {
      await real(300);
      return usual();
    });
    const { klock } = bench.rig(server.url);
    const controller = new AbortController();
    const impatient = klock.acquire('a', { signal: controller.signal });
    const patient = klock.acquire('b');
    await server.received('CreateSession', 1);
    controller.abort(new Error('enough'));
    await expect(impatient).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    expect((await patient).held).toBe(true);
    expect(server.seen('CreateSession')).toHaveLength(1);
  });

  it.each([
    [{}, {}, 10_000n],
    [{ ttlMs: 2_000 }, {}, 2_000n],
    [{ ttlMs: 2_000 }, { leaseBufferMs: 3_000 }, 5_000n],
    [{ ttlMs: 2_000 }, { sessionLeaseMs: 7_000, leaseBufferMs: 1 }, 7_000n],
  ])('[K-144] asks with %p and %p for a lease of %p ms', async (instance, driver, lease) => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { instance, driver });
    await klock.acquire('a');
    expect(server.seen('CreateSession')[0]?.request.leaseMs).toBe(lease);
  });

  it('[K-144] refuses a session lease below the ttl at construction', () => {
    expect(() =>
      bench.rig('klock://localhost:1', { instance: { ttlMs: 5_000 }, driver: { sessionLeaseMs: 4_999 } }),
    ).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', option: 'sessionLeaseMs', value: 4_999 }) as Error,
    );
  });

  it('uses the smallest lease of its ladder that is not below the ttl of the lock', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { instance: { ttlMs: 8_000 } });
    await klock.acquire('a', { ttlMs: 1_500 });
    await klock.acquire('b', { ttlMs: 2_000 });
    await klock.acquire('c', { ttlMs: 8_001 });
    expect(server.seen('CreateSession').map((call) => call.request.leaseMs)).toEqual([2_000n, 32_000n]);
  });

  it('[K-145] takes a session without an id for an error', async () => {
    const server = await bench.server();
    server.on('CreateSession', () => ({ sessionId: '', leaseMs: 5_000n }));
    const { klock } = bench.rig(server.url);
    await expect(klock.acquire('a')).rejects.toThrow('session without an id');
  });

  it('[K-146] replaces a session that was lost while idle, even for a lock that does not wait', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    await (await klock.acquire('a')).release();
    server.forget();
    expect((await klock.tryAcquire('a'))?.held).toBe(true);
    expect(server.seen('CreateSession')).toHaveLength(2);
  });

  it('[K-147] [K-180] refuses a session of another protocol version, and tells the server so', async () => {
    const server = await bench.server();
    server.on('CreateSession', (_, { usual }) => ({ ...usual(), protocolVersion: '2' }));
    const { klock } = bench.rig(server.url);
    await expect(klock.acquire('a')).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
    await until(() => server.seen('CloseSession').length === 1);
    expect(server.seen('Acquire')).toHaveLength(0);
  });

  it('[K-148] counts on the lease that was granted, not on the one it asked for', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.on('CreateSession', (_, { usual }) => ({ ...usual(), leaseMs: 3_000n }));
    server.on('Heartbeat', () => NEVER);
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 12_000 } });
    const lock = await klock.acquire('a');
    expect(lock.remainingMs).toBeLessThanOrEqual(2_700);
    await clock.advance(1_001);
    await until(() => server.seen('Heartbeat').length === 1);
    await clock.advance(1_699);
    expect(lock.held).toBe(false);
    expect(lost).toHaveLength(1);
  });

  it('refuses a lease that its own safety margin would use up', async () => {
    const server = await bench.server();
    server.on('CreateSession', (_, { usual }) => ({ ...usual(), leaseMs: 10n }));
    const { klock } = bench.rig(server.url);
    await expect(klock.acquire('a')).rejects.toThrow('margin of 10 ms uses up');
  });

  it('[K-170] ends up on the new server after a restart, retrying', async () => {
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url);
    const lock = await klock.acquire('a');
    server.forget('srv_00000000000000ff');
    const next = await klock.acquire('b', { waitMs: 3_000 });
    expect(next.held).toBe(true);
    expect(lock.held).toBe(false);
    expect(lost[0]).toMatchObject({
      reason: 'server-changed',
      code: 'SERVER_INSTANCE_MISMATCH',
      oldServer: 'srv_0000000000000001',
      newServer: 'srv_00000000000000ff',
    });
    // The new session is not asked for under the old name (WK-33).
    expect(server.seen('CreateSession').map((call) => call.request.expectedServer)).toEqual(['', '']);
    expect(server.seen('Acquire').at(-1)?.request.expectedServer).toBe('srv_00000000000000ff');
  });

  it('[K-182] reports servers that alternate behind one address as a configuration error, and grants nothing', async () => {
    const server = await bench.server();
    const ids = ['srv_a', 'srv_b'];
    let turn = 0;
    server.on('Acquire', () => {
      server.forget(ids[turn++ % 2]);
      return server.refuse('SERVER_INSTANCE_MISMATCH');
    });
    const { klock, warnings } = bench.rig(server.url);
    await expect(klock.acquire('a', { waitMs: 5_000 })).rejects.toMatchObject({
      code: 'BACKEND_MISCONFIGURED',
    });
    expect(warnings.filter((warning) => warning.code === 'SERVER_ALTERNATES')).toHaveLength(1);
  });

  it('[K-182] reports servers that alternate without refusing anything, and uses no grant of theirs', async () => {
    const server = await bench.server();
    server.on('Acquire', (_, { nth, usual }) => ({
      ...usual(),
      serverId: nth % 2 === 1 ? 'srv_b' : 'srv_c',
    }));
    const { klock } = bench.rig(server.url);
    await expect(klock.acquire('a', { waitMs: 5_000 })).rejects.toMatchObject({
      code: 'BACKEND_MISCONFIGURED',
      message: expect.stringContaining('several lock servers') as string,
    });
    await until(() => server.seen('Release').length === server.seen('Acquire').length);
  });

  it('[K-180] a wait whose session was ended by its watch says so', async () => {
    const server = await bench.server();
    server.onWatch = (watch) => watch.invalidate('SESSION_GONE');
    server.on('Acquire', () => NEVER);
    const { klock } = bench.rig(server.url);
    await expect(klock.acquire('a', { waitMs: 600 })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringContaining('the session ended while the lock was asked for') as string,
    });
  });

  it('closes a session on which nothing rested for a while, and opens another when needed', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url, { clock });
    const lock = await klock.acquire('a');
    await advanceUntil(clock, () => server.seen('Heartbeat').length >= 12, 500);
    expect(server.seen('CloseSession')).toHaveLength(0);
    await lock.release();
    await advanceUntil(clock, () => server.seen('CloseSession').length === 1, 500, 80);
    expect(lost).toHaveLength(0);
    expect((await klock.acquire('a')).held).toBe(true);
    expect(server.seen('CreateSession')).toHaveLength(2);
  });

  it('[K-171] beats once for the session however many locks it carries, at the configured rhythm', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { clock, instance: { ttlMs: 9_000, renewEveryMs: 1_000 } });
    await Promise.all(Array.from({ length: 20 }, (_, index) => klock.acquire(`k${index}`)));
    for (let beat = 1; beat <= 4; beat++) {
      await clock.advance(999);
      expect(server.seen('Heartbeat')).toHaveLength(beat - 1);
      await clock.advance(1);
      await until(() => server.seen('Heartbeat').length === beat);
      await real(10);
    }
  });

  it('[B-014] is replaced at once by a lock asked for right after the process was blocked beyond its lease', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { clock });
    await (await klock.acquire('a')).release();
    clock.block(20_000);
    expect((await klock.tryAcquire('a'))?.held).toBe(true);
    expect(server.seen('CreateSession')).toHaveLength(2);
    await until(() => server.seen('CloseSession')[0]?.request.sessionId === 'sess_1');
  });

  it('[B-027] tells the server the bound of every call', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { instance: { ttlMs: 3_000 } });
    const lock = await klock.acquire('a', { waitMs: 400 });
    await klock.extendToken('a', lock.token, 3_000);
    await lock.release();
    await klock.close();
    const bounds = server.calls.map(({ rpc, boundMs }) => [rpc, boundMs] as const);
    expect(bounds.map(([rpc]) => rpc)).toEqual([
      'CreateSession',
      'Acquire',
      'Heartbeat',
      'Release',
      'CloseSession',
    ]);
    for (const [, boundMs] of bounds) expect(boundMs).toBeLessThan(3_200);
    expect(Math.abs((bounds[1]?.[1] ?? 0) - 1_450)).toBeLessThan(250);
  });

  it('ready() reaches the server before the first lock, and says why it cannot', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    await klock.driver.ready(1_000);
    expect(server.calls.map((call) => call.rpc)).toEqual(['CreateSession']);
    expect(await klock.driver.health()).toMatchObject({ state: 'ok' });
    server.on('Heartbeat', () => new Status(status.UNAUTHENTICATED));
    await expect(klock.driver.ready(1_000)).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
    expect(await klock.driver.health()).toMatchObject({ state: 'misconfigured' });
    await server.stop();
    await expect(klock.driver.ready(300)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await klock.driver.health()).toMatchObject({ state: 'unreachable' });
  });
});
