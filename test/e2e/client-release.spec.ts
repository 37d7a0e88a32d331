import { status } from '@grpc/grpc-js';
import { LATER } from '../../lib/core/index.js';
import { FakeClock } from '../../lib/core/fake-clock.js';
import { advanceUntil, Bench, real, until } from '../support/client-rig.js';
import { NEVER, Status, type ScriptedLockServer } from '../support/scripted-lock-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const bench = new Bench();
afterEach(() => bench.end());

const releaseIds = (server: ScriptedLockServer): Set<string> =>
  new Set(server.seen('Release').map((call) => call.request.requestId));

describe('a release over the wire', () => {
  it('[K-190] [B-018] frees the lock; further releases succeed without an RPC', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    const lock = await klock.acquire('a');
    const done: string[] = [];
    klock.on('lock.released', (event) => done.push(event.outcome));
    expect(await lock.release()).toBe('released');
    expect(await lock.release()).toBe('already-released');
    expect(await lock.done).toMatchObject({ end: 'released' });
    expect(done).toEqual(['released']);
    expect(server.seen('Release')).toHaveLength(1);
    expect(server.held.size).toBe(0);
  });

  it('[K-195] is one RPC for concurrent releases of one handle', async () => {
    const server = await bench.server();
    server.on('Release', async (_, { usual }) => {
      await real(20);
      return usual();
    });
    const { klock } = bench.rig(server.url);
    const lock = await klock.acquire('a');
    const outcomes = await Promise.all([lock.release(), lock.release(), lock.release()]);
    expect(outcomes).toContain('released');
    expect(server.seen('Release')).toHaveLength(1);
  });

  it('[K-195] is one RPC too when the driver is asked twice for one grant', async () => {
    const server = await bench.server();
    const { driver } = bench.rig(server.url).klock;
    const request = {
      requestId: 'r1',
      key: ['a'] as const,
      ttlMs: 1_000,
      waitMs: 1_000,
      attemptMs: 1_000,
      renew: true,
    };
    const grant = await driver.acquire(request);
    if (grant === LATER || !grant.granted) throw new Error('busy');
    expect(await Promise.all([driver.release(grant), driver.release(grant)])).toEqual([
      'released',
      'released',
    ]);
    expect(await driver.release(grant)).toBe('released');
    expect(server.seen('Release')).toHaveLength(1);
  });

  it.each<[string, (server: ScriptedLockServer) => unknown]>([
    ['Unavailable', () => new Status(status.UNAVAILABLE)],
    ['a rate limit', () => new Status(status.RESOURCE_EXHAUSTED)],
    ['INTERNAL', (server) => server.refuse('INTERNAL')],
    ['Internal of a proxy', () => new Status(status.INTERNAL)],
  ])(
    '[K-191] [K-192] is repeated with the same id, after growing pauses, after %s until it succeeds',
    async (_, answer) => {
      const server = await bench.server();
      server.on('Release', (__, { nth, usual }) => (nth < 4 ? (answer(server) as Status) : usual()));
      const { klock } = bench.rig(server.url);
      const lock = await klock.acquire('a');
      expect(await lock.release({ timeoutMs: 5_000 })).toBe('released');
      expect(server.seen('Release')).toHaveLength(4);
      expect(releaseIds(server).size).toBe(1);
    },
  );

  it('[K-193] [B-018] succeeds although the reply of the first attempt was lost', async () => {
    const server = await bench.server();
    const proxy = await TcpProxy.start({ target: { port: server.port } });
    bench.after(() => proxy.stop());
    server.on('Release', async (_, { nth, usual }) => {
      const answer = usual();
      if (nth > 1) return answer;
      proxy.reset();
      await real(5);
      return NEVER;
    });
    const { klock, lost } = bench.rig(`klock://127.0.0.1:${proxy.port}`);
    const lock = await klock.acquire('a');
    expect(await lock.release({ timeoutMs: 5_000 })).toBe('released');
    expect(releaseIds(server).size).toBe(1);
    expect(lost).toHaveLength(0);
    expect((await klock.acquire('a')).held).toBe(true);
  });

  it('[B-018] succeeds although the request was lost before the server and the connection was away for a while', async () => {
    const server = await bench.server();
    const proxy = await TcpProxy.start({ target: { port: server.port } });
    bench.after(() => proxy.stop());
    const { klock } = bench.rig(`klock://127.0.0.1:${proxy.port}`);
    const lock = await klock.acquire('a');
    await proxy.refuse();
    proxy.reset();
    const releasing = lock.release({ timeoutMs: 5_000 });
    await real(300);
    await proxy.accept();
    expect(await releasing).toBe('released');
    expect((await klock.acquire('a')).held).toBe(true);
  });

  it('[K-192] [B-018] is unknown within its own time when the server stays away, and the session is let go with the lease', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url, {
      clock,
      instance: { ttlMs: 2_000, releaseTimeoutMs: 700 },
    });
    const failed: unknown[] = [];
    klock.on('release.failed', (event) => failed.push(event));
    const lock = await klock.acquire('a');
    server.on('Release', () => NEVER);
    const releasing = lock.release();
    expect(lock.held).toBe(false);
    await until(() => server.seen('Release').length === 1);
    await clock.advance(700);
    expect(await releasing).toBe('unknown');
    expect(failed).toHaveLength(1);
    server.on('Heartbeat', () => NEVER);
    await advanceUntil(clock, () => server.seen('CloseSession').length === 1, 100);
    expect(lost).toHaveLength(0);
  });

  it('[B-018] keeps asking in the background while the session lives, so that no lock stays behind', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { clock, instance: { ttlMs: 2_000, releaseTimeoutMs: 100 } });
    const other = await klock.acquire('other');
    const lock = await klock.acquire('a');
    server.on('Release', (_, { nth, usual }) => (nth < 6 ? new Status(status.PERMISSION_DENIED) : usual()));
    const releasing = lock.release();
    await clock.advance(100);
    expect(await releasing).toBe('unknown');
    await advanceUntil(clock, () => !server.held.has('l1/a/'), 100);
    expect(releaseIds(server).size).toBe(1);
    expect(other.held).toBe(true);
  });

  it('[K-194] [B-018] reports a lock whose session is gone as lost, without an RPC', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    const lock = await klock.acquire('a');
    await until(() => server.watches.length === 1);
    server.watches[0]?.invalidate('SESSION_GONE', 'lease_expired');
    await lock.done;
    expect(await lock.release()).toBe('lost');
    expect(server.seen('Release')).toHaveLength(0);
  });

  it.each(['LOCK_NOT_FOUND', 'SESSION_GONE', 'SESSION_NOT_FOUND', 'SERVER_INSTANCE_MISMATCH'] as const)(
    '[K-194] reports %s about its own token as lost, not as an error',
    async (code) => {
      const server = await bench.server();
      server.on('Release', () => server.refuse(code));
      const { klock } = bench.rig(server.url);
      const lock = await klock.acquire('a');
      expect(await lock.release()).toBe('lost');
      expect(server.seen('Release')).toHaveLength(1);
      expect(lock.held).toBe(false);
    },
  );

  it('[K-187] sends the release of a lock that ended by its own validity, and calls it lost', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { clock, instance: { ttlMs: 3_000 } });
    const lock = await klock.acquire('a', { renew: false });
    await advanceUntil(clock, () => !lock.held, 100);
    expect(await lock.release()).toBe('lost');
    await until(() => server.seen('Release').length === 1);
    expect(server.held.size).toBe(0);
  });

  it('[B-002] [B-003] by a late holder frees nothing of its successor', async () => {
    const server = await bench.server();
    const a = bench.rig(server.url, { instance: { ttlMs: 300, renew: false } });
    const b = bench.rig(server.url);
    const late = await a.klock.acquire('k');
    await until(() => !late.held);
    await until(() => server.held.size === 0);
    const successor = await b.klock.acquire('k');
    expect(await late.release()).toBe('lost');
    expect(successor.held).toBe(true);
    expect(server.held.get('l1/k/')?.token).toBe(successor.token);
    expect(successor.fence).toBeGreaterThan(late.fence);
    expect(
      await b.klock
        .tryAcquire(['k', 'x'], { reentry: 'refuse' })
        .catch((error: { code: string }) => error.code),
    ).toBeDefined();
  });

  it('[B-025] is made although the section’s signal aborted meanwhile', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    const controller = new AbortController();
    const failure = new Error('e');
    const section = klock.withLock('k', { signal: controller.signal }, () => {
      controller.abort();
      throw failure;
    });
    await expect(section).rejects.toBe(failure);
    await until(() => server.held.size === 0);
    expect(server.seen('Release')).toHaveLength(1);
  });
});

describe('a token call', () => {
  it('[K-093] releases by token in the client that acquired, and refuses tokens of others', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    const other = bench.rig(server.url);
    const lock = await klock.acquire('a');
    const { token } = lock;
    await expect(other.klock.releaseToken('a', token)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    await expect(klock.releaseToken('a', 'lk_wrong')).rejects.toMatchObject({ code: 'INVALID_TOKEN' });
    await expect(klock.releaseToken('b', token)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    expect(lock.held).toBe(true);
    await klock.releaseToken('a', token);
    expect(lock.held).toBe(false);
    expect(server.held.size).toBe(0);
    await expect(klock.releaseToken('a', token)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
  });

  it('[K-093] extends by token with a heartbeat, up to the lease', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { instance: { ttlMs: 5_000 } });
    const { token } = await klock.acquire('a');
    await klock.extendToken('a', token, 5_000);
    expect(server.seen('Heartbeat')).toHaveLength(1);
    await expect(klock.extendToken('a', token, 5_001)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      option: 'ttlMs',
    });
    server.on('Heartbeat', () => new Status(status.UNAVAILABLE));
    await expect(klock.extendToken('a', token, 5_000)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    server.on('Heartbeat', () => server.refuse('SESSION_GONE'));
    await expect(klock.extendToken('a', token, 5_000)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    await expect(klock.extendToken('a', 'lk_wrong', 5_000)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
  });

  it('says what is missing when the store is asked who holds a key', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    await expect(klock.inspect('a')).rejects.toThrow('no such question');
    await expect(klock.isLocked('a')).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
  });
});
