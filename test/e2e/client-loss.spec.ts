import { status } from '@grpc/grpc-js';
import { FakeClock } from '../../lib/core/fake-clock.js';
import { advanceUntil, Bench, real, until } from '../support/client-rig.js';
import { NEVER, Status } from '../support/scripted-lock-server.js';

const bench = new Bench();
afterEach(() => bench.end());

const OTHER = 'srv_00000000000000ff';

describe('a heartbeat', () => {
  it('[K-171] has a timeout of its own', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.on('Heartbeat', () => NEVER);
    const { klock } = bench.rig(server.url, {
      clock,
      instance: { ttlMs: 9_000, renewEveryMs: 2_000, renewTimeoutMs: 400 },
    });
    let jeopardy = 0;
    klock.on('lease.jeopardy', () => jeopardy++);
    await klock.acquire('a');
    await clock.advance(2_000);
    await until(() => server.seen('Heartbeat').length === 1);
    await clock.advance(399);
    expect(jeopardy).toBe(0);
    await clock.advance(1);
    expect(jeopardy).toBe(1);
  });

  it.each<[string, () => Status | typeof NEVER]>([
    ['no answer', () => NEVER],
    ['Unavailable', () => new Status(status.UNAVAILABLE)],
    ['a rate limit', () => new Status(status.RESOURCE_EXHAUSTED)],
    ['Unauthenticated', () => new Status(status.UNAUTHENTICATED)],
  ])('[K-172] [K-174] that failed once with %s changes nothing; the next success renews', async (_, fail) => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.on('Heartbeat', (__, { nth, usual }) => (nth === 1 ? fail() : usual()));
    const { klock, lost } = bench.rig(server.url, {
      clock,
      instance: { ttlMs: 9_000, renewTimeoutMs: 300 },
    });
    const lock = await klock.acquire('a');
    await clock.advance(3_000);
    await until(() => server.seen('Heartbeat').length === 1);
    await real(20);
    await clock.advance(300);
    expect(lock.held).toBe(true);
    await advanceUntil(clock, () => server.seen('Heartbeat').length >= 2, 100);
    await real(20);
    await clock.advance(0);
    expect(lock.remainingMs).toBeGreaterThan(7_500);
    await advanceUntil(clock, () => server.seen('Heartbeat').length >= 6, 500);
    expect(lock.held).toBe(true);
    expect(lost).toHaveLength(0);
  });

  it('[K-173] [K-188] [B-015] that keeps failing ends the session at its deadline, not after a count, and tells the server', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.on('Heartbeat', () => new Status(status.UNAVAILABLE));
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 9_000 } });
    const lock = await klock.acquire('a');
    const started = clock.monoMs();
    await advanceUntil(clock, () => lost.length === 1, 50);
    expect(lost[0]).toMatchObject({ reason: 'unreachable', code: 'HEARTBEAT_CONSECUTIVE_FAILURE' });
    // Margin: a tenth of the lease. The server could free it at 9,000 ms.
    expect(clock.monoMs() - started).toBeGreaterThanOrEqual(8_050);
    expect(clock.monoMs() - started).toBeLessThanOrEqual(8_150);
    expect(server.seen('Heartbeat').length).toBeGreaterThan(2);
    expect(lock.held).toBe(false);
    await until(() => server.seen('CloseSession').length === 1);
    expect(await lock.release()).toBe('lost');
  });

  it.each(['SESSION_GONE', 'SESSION_NOT_FOUND'] as const)(
    '[K-175] [B-015] answered with %s ends the session at once',
    async (code) => {
      const clock = new FakeClock();
      const server = await bench.server();
      server.on('Heartbeat', () => server.refuse(code));
      const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 9_000 } });
      const lock = await klock.acquire('a');
      const { signal } = lock;
      await clock.advance(3_000);
      await until(() => lost.length === 1);
      expect(lost[0]).toMatchObject({ reason: 'session-gone', code });
      expect(signal.aborted).toBe(true);
      expect(server.seen('Heartbeat')).toHaveLength(1);
    },
  );

  it('[K-182] [B-019] answered after its session was replaced does not touch the next one', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    let answerLate: () => void = () => undefined;
    server.on('Heartbeat', async (_, { nth, usual }) => {
      if (nth > 1) return usual();
      await new Promise<void>((resolve) => (answerLate = resolve));
      return { ...server.refuse('SERVER_INSTANCE_MISMATCH', '', OTHER) };
    });
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 9_000 } });
    const first = await klock.acquire('a');
    await clock.advance(3_000);
    await until(() => server.seen('Heartbeat').length === 1);
    server.watches[0]?.invalidate('SESSION_GONE', 'lease_expired');
    await until(() => lost.length === 1);
    const second = await klock.acquire('b');
    answerLate();
    await real(30);
    expect(first.held).toBe(false);
    expect(second.held).toBe(true);
    expect(lost).toHaveLength(1);
  });

  it('[B-019] under way when a lock is released neither fails nor revives anything', async () => {
    const seed = 99;
    let random = seed;
    const server = await bench.server();
    server.on('Heartbeat', async (_, { usual }) => {
      const answer = usual();
      random = (random * 48_271) % 2_147_483_647;
      await real(random % 8);
      return answer;
    });
    // Many renewals, each with time enough on a busy machine.
    const instance = { ttlMs: 5_000, renewEveryMs: 10, renewTimeoutMs: 2_000 };
    const { klock, lost } = bench.rig(server.url, { instance });
    const keep = await klock.acquire('keep');
    for (let round = 0; round < 60; round++) {
      const lock = await klock.acquire('k');
      if (round % 3 > 0) await real(round % 7);
      expect({ seed, round, outcome: await lock.release(), lost }).toMatchObject({
        outcome: 'released',
        lost: [],
      });
      expect(server.held.has('l1/k/')).toBe(false);
    }
    expect({ seed, lost }).toEqual({ seed, lost: [] });
    expect(keep.held).toBe(true);
  });
});

describe('the watch', () => {
  it.each([
    ['SESSION_GONE', 'lease_expired', 0],
    ['SESSION_NOT_FOUND', '', 0],
    ['SERVER_DRAINING', '', 1],
    ['SESSION_GONE', 'server_restarting', 1],
  ] as const)('[K-176] ends the handles at once with %s (%s)', async (code, message, closes) => {
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url);
    const locks = await Promise.all([klock.acquire('a'), klock.acquire('b')]);
    await until(() => server.watches.length === 1);
    server.watches[0]?.invalidate(code, message);
    await until(() => lost.length === 2);
    for (const event of lost) expect(event).toMatchObject({ reason: 'session-gone', code });
    for (const lock of locks) {
      expect(lock.held).toBe(false);
      expect(await lock.done).toMatchObject({ end: 'lost', reason: 'session-gone', code });
    }
    await real(40);
    // A draining server waits for its clients to let go (WK-09); one that ended the session need not be told.
    expect(server.seen('CloseSession')).toHaveLength(closes);
  });

  it('is opened with one message, and its sending side stays open', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    await klock.acquire('a');
    await until(() => server.watches.length === 1);
    await real(50);
    expect(server.watches[0]).toMatchObject({ sessionId: 'sess_1', halfClosed: false });
    await klock.close();
    await until(() => server.watches[0]?.cancelled === true);
  });

  it('[K-179] [K-178] that is interrupted comes back without anybody noticing', async () => {
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url);
    const lock = await klock.acquire('a');
    await until(() => server.watches.length === 1);
    server.watches[0]?.end();
    await until(() => server.watches.length === 2);
    server.watches[1]?.fail(status.UNAVAILABLE);
    await until(() => server.watches.length === 3);
    const [first, second, third] = server.watches.map((watch) => watch.openedAt) as [number, number, number];
    expect(second - first).toBeGreaterThanOrEqual(50);
    expect(third - second).toBeGreaterThanOrEqual(100);
    expect(lock.held).toBe(true);
    expect(lost).toHaveLength(0);
  });

  it('[K-177] that cannot be kept costs nothing while heartbeats succeed: they come faster instead', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.onWatch = (watch) => watch.fail(status.INTERNAL);
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 6_000 } });
    const lock = await klock.acquire('a');
    await advanceUntil(clock, () => clock.monoMs() >= 21_000, 100);
    expect(lock.held).toBe(true);
    expect(lost).toHaveLength(0);
    // One a second for want of a watch, besides the keeper's every other second.
    expect(server.seen('Heartbeat').length).toBeGreaterThan(20);
    expect(server.watches.length).toBeGreaterThan(10);
  });

  it('[K-177] notices an end that no watch tells, earlier than the keeper would', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.onWatch = (watch) => watch.fail(status.INTERNAL);
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 6_000 } });
    await klock.acquire('a');
    await real(30);
    server.forget();
    await advanceUntil(clock, () => lost.length === 1, 100, 15);
    expect(lost[0]).toMatchObject({ reason: 'session-gone', code: 'SESSION_NOT_FOUND' });
  });

  it('[K-177] [K-184] in strict mode ends the session after 5 s without one, and tells the server', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.onWatch = (watch) => watch.fail(status.INTERNAL);
    const { klock, lost } = bench.rig(server.url, { clock, driver: { watch: 'strict' } });
    await klock.acquire('a');
    const started = clock.monoMs();
    await advanceUntil(clock, () => lost.length === 1, 100);
    expect(lost[0]).toMatchObject({ reason: 'session-gone', code: 'WATCH_STREAM_DISCONNECTED' });
    expect(clock.monoMs() - started).toBeGreaterThanOrEqual(5_000);
    expect(clock.monoMs() - started).toBeLessThan(7_500);
    await until(() => server.seen('CloseSession').length === 1);
  });

  it('that the server does not offer is done without, and said once', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.onWatch = (watch) => watch.fail(status.UNIMPLEMENTED);
    const { klock, warnings, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 6_000 } });
    await klock.acquire('a');
    await klock.acquire('b', { ttlMs: 20_000 });
    await until(() => warnings.length === 1);
    await advanceUntil(clock, () => clock.monoMs() >= 11_000, 100);
    expect(warnings.map((warning) => warning.code)).toEqual(['WATCH_UNSUPPORTED']);
    expect(server.watches).toHaveLength(2);
    expect(lost).toHaveLength(0);
  });
});

describe('the loss of a handle', () => {
  it('[K-180] comes to all handles of the client with PROTOCOL_MISMATCH, and their sessions are closed', async () => {
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url);
    await klock.acquire('a');
    await klock.acquire('b', { ttlMs: 40_000 });
    server.on('Acquire', () => server.refuse('PROTOCOL_MISMATCH'));
    await expect(klock.acquire('c')).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
    expect(lost).toHaveLength(2);
    for (const event of lost)
      expect(event).toMatchObject({ reason: 'protocol-mismatch', code: 'PROTOCOL_MISMATCH' });
    await until(() => server.seen('CloseSession').length === 2);
  });

  it('[K-180] comes with a foreign protocol version in the reply to a heartbeat', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.on('Heartbeat', (_, { usual }) => ({ ...usual(), protocolVersion: '2' }));
    const { klock, lost } = bench.rig(server.url, { clock });
    await klock.acquire('a');
    await clock.advance(3_500);
    await until(() => lost.length === 1);
    expect(lost[0]).toMatchObject({ reason: 'protocol-mismatch', code: 'PROTOCOL_MISMATCH' });
    await until(() => server.seen('CloseSession').length === 1);
  });

  it.each(['event', 'reply'] as const)(
    '[K-180] comes with a foreign protocol version in a watch %s too',
    async (where) => {
      const server = await bench.server();
      const { klock, lost } = bench.rig(server.url);
      await klock.acquire('a');
      await until(() => server.watches.length === 1);
      if (where === 'event') {
        server.watches[0]?.tell('PROTOCOL_MISMATCH', 'PROTOCOL_MISMATCH');
      } else {
        server.protocolVersion = '9';
        server.watches[0]?.end();
      }
      await until(() => lost.length === 1);
      expect(lost[0]).toMatchObject({ reason: 'protocol-mismatch' });
      await until(() => server.seen('CloseSession').length === 1);
    },
  );

  it.each([
    ['an acquire', 'Acquire'],
    ['a heartbeat', 'Heartbeat'],
    ['a release', 'Release'],
  ] as const)(
    '[K-181] comes with another server id in the reply to %s, old and new named',
    async (_, rpc) => {
      const clock = new FakeClock();
      const server = await bench.server();
      const { klock, lost } = bench.rig(server.url, { clock });
      const lock = await klock.acquire('mine');
      const other = await klock.acquire('other');
      server.on(rpc, (__, { usual }) => ({ ...usual(), serverId: OTHER }));
      if (rpc === 'Acquire') void klock.tryAcquire('x').catch(() => undefined);
      if (rpc === 'Heartbeat') await clock.advance(3_500);
      if (rpc === 'Release') void other.release();
      await until(() => lost.length >= 1);
      expect(lost[0]).toMatchObject({
        reason: 'server-changed',
        code: 'SERVER_INSTANCE_MISMATCH',
        oldServer: 'srv_0000000000000001',
        newServer: OTHER,
        token: lost[0]?.key[0] === 'mine' ? lock.token : other.token,
      });
      expect(lock.held).toBe(false);
    },
  );

  it('[K-181] comes with another server id when the watch is established', async () => {
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url);
    await klock.acquire('a');
    await until(() => server.watches.length === 1);
    server.serverId = OTHER;
    server.watches[0]?.end();
    await until(() => lost.length === 1);
    expect(lost[0]).toMatchObject({ reason: 'server-changed', newServer: OTHER });
  });

  it('[K-183] happens once, and the first cause wins', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.on('Heartbeat', () => server.refuse('SESSION_NOT_FOUND'));
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 9_000 } });
    const lock = await klock.acquire('a');
    let aborts = 0;
    lock.signal.addEventListener('abort', () => aborts++);
    await until(() => server.watches.length === 1);
    server.watches[0]?.invalidate('SESSION_GONE', 'lease_expired');
    await until(() => lost.length === 1);
    await clock.advance(12_000);
    await klock.close({ graceMs: 1 });
    await real(20);
    expect(lost).toHaveLength(1);
    expect(lost[0]).toMatchObject({ code: 'SESSION_GONE' });
    expect(aborts).toBe(1);
    expect(await lock.release()).toBe('lost');
  });

  it('[K-184] [K-196] is CLIENT_CLOSE when the client closes', async () => {
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url);
    const lock = await klock.acquire('a');
    await klock.close({ graceMs: 1 });
    expect(lost.map(({ reason, code }) => [reason, code])).toEqual([['closed', 'CLIENT_CLOSE']]);
    expect(await lock.done).toMatchObject({ end: 'lost', code: 'CLIENT_CLOSE' });
  });

  it('[K-185] [K-187] is LOCAL_TTL_EXPIRED for a fixed local validity, and the server lock is given back', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 9_000 } });
    const fixed = await klock.acquire('a', { localTtlMs: 4_000 });
    const renewed = await klock.acquire('b');
    await advanceUntil(clock, () => lost.length === 1, 100);
    expect(lost[0]).toMatchObject({ reason: 'expired', code: 'LOCAL_TTL_EXPIRED', key: ['a'] });
    expect(server.seen('Heartbeat').length).toBeGreaterThan(0);
    expect(fixed.held).toBe(false);
    expect(renewed.held).toBe(true);
    await until(() => !server.held.has('l1/a/'));
    expect(server.held.has('l1/b/')).toBe(true);
  });

  it('[K-186] does not come while heartbeats succeed', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { clock, instance: { ttlMs: 3_000 } });
    const lock = await klock.acquire('a');
    await advanceUntil(clock, () => server.seen('Heartbeat').length >= 12, 200);
    expect(lock.held).toBe(true);
    expect(lock.remainingMs).toBeGreaterThan(1_500);
  });

  it('[K-188] [K-189] [B-017] is by the send time of the request that was answered, however late the answer', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.on('CreateSession', async (_, { usual }) => {
      const answer = usual();
      await clock.advance(700);
      return answer;
    });
    server.on('Heartbeat', () => NEVER);
    const { klock } = bench.rig(server.url, { clock, instance: { ttlMs: 1_000 } });
    const lock = await klock.acquire('k2');
    expect(lock.remainingMs).toBeLessThanOrEqual(200);
    clock.block(200);
    expect(lock.held).toBe(false);
    expect(lock.remainingMs).toBe(0);
    expect(() => lock.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }) as Error);
  });

  it('[B-017] a session whose opening was answered after its lease is closed, never used', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.on('CreateSession', async (_, { nth, usual }) => {
      const answer = usual();
      if (nth === 1) await clock.advance(950);
      return answer;
    });
    const { klock } = bench.rig(server.url, { clock, instance: { ttlMs: 1_000 } });
    const waiting = klock.acquire('k3', { waitMs: 5_000 });
    await advanceUntil(clock, () => server.seen('Acquire').length === 1, 20);
    expect((await waiting).held).toBe(true);
    expect(server.seen('Acquire')[0]?.request.sessionId).toBe('sess_2');
    await until(() => server.seen('CloseSession')[0]?.request.sessionId === 'sess_1');
  });

  it('[B-017] a long wait does not eat up the validity of what it ends with', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    server.on('Acquire', async (_, { usual }) => {
      for (let step = 0; step < 30; step++) {
        await clock.advance(100);
        await real(2);
      }
      return usual();
    });
    const { klock } = bench.rig(server.url, { clock, instance: { ttlMs: 1_000 } });
    const lock = await klock.acquire('k');
    expect(lock.remainingMs).toBeGreaterThanOrEqual(500);
    expect(lock.held).toBe(true);
  });

  it('[B-014] shows in the same turn after the process was blocked, and one renewal at most follows', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 1_000 } });
    const lock = await klock.acquire('k');
    const { signal } = lock;
    clock.block(3_000);
    expect(lock.held).toBe(false);
    expect(signal.aborted).toBe(true);
    expect(lost).toHaveLength(1);
    await clock.advance(50);
    await real(30);
    expect(server.seen('Heartbeat').length).toBeLessThanOrEqual(1);
    expect(lost).toHaveLength(1);
    expect((await klock.acquire('k')).held).toBe(true);
  });

  it('[B-001] is not undone by a renewal that finds the key free again', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 1_000 } });
    const lock = await klock.acquire('k');
    clock.block(1_500);
    server.forget();
    await clock.advance(100);
    await until(() => lost.length === 1);
    await real(30);
    expect(lost[0]).toMatchObject({ reason: 'expired' });
    expect(lock.held).toBe(false);
    expect(server.held.size).toBe(0);
  });
});
