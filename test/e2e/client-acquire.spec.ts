import { status } from '@grpc/grpc-js';
import { advanceUntil, Bench, real, until, type Rig } from '../support/client-rig.js';
import { FakeClock } from '../../lib/core/fake-clock.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { NEVER, Status, type ScriptedLockServer } from '../support/scripted-lock-server.js';

const bench = new Bench();
afterEach(() => bench.end());

/** A server on which somebody else holds `busy`. */
async function busyServer(): Promise<ScriptedLockServer> {
  const server = await bench.server();
  server.held.set('l1/busy/', { token: 'lk_other', session: 'sess_other', requestId: 'other' });
  return server;
}

/** A client whose connection to the server can be broken. */
async function throughProxy(
  server: ScriptedLockServer,
  options?: Parameters<Bench['rig']>[1],
): Promise<Rig & { proxy: TcpProxy }> {
  const proxy = await TcpProxy.start({ target: { port: server.port } });
  bench.after(() => proxy.stop());
  return { ...bench.rig(`klock://127.0.0.1:${proxy.port}`, options), proxy };
}

const acquires = (server: ScriptedLockServer) => server.seen('Acquire').map((call) => call.request);

describe('an acquire over the wire', () => {
  it('[K-149] asks with scope l1 or l2 and gives a handle with token and fence', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    const one = await klock.acquire('tenant');
    const two = await klock.acquire(['other', 'thing']);
    expect(acquires(server).map(({ scope, p1, p2 }) => [scope, p1, p2])).toEqual([
      ['l1', 'tenant', ''],
      ['l2', 'other', 'thing'],
    ]);
    expect(one.token).toMatch(/^lk_/);
    expect(two.fence).toBeGreaterThan(one.fence);
    expect(one.held && two.held).toBe(true);
  });

  it('[K-150] [K-160] fails with LOCK_TIMEOUT when the wait is over, and costs no other lock', async () => {
    const server = await busyServer();
    const { klock, lost } = bench.rig(server.url);
    const other = await klock.acquire('mine');
    const started = performance.now();
    await expect(klock.acquire('busy', { waitMs: 400 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      retryable: true,
    });
    expect(performance.now() - started).toBeGreaterThanOrEqual(395);
    expect(performance.now() - started).toBeLessThan(1_400);
    await real(50);
    expect(other.held).toBe(true);
    expect(lost).toHaveLength(0);
    expect(server.seen('CloseSession')).toHaveLength(0);
  });

  it('[K-151] waits for ever with waitMs Infinity, until its signal ends it', async () => {
    const server = await busyServer();
    const { klock } = bench.rig(server.url);
    const controller = new AbortController();
    const waiting = klock.acquire('busy', { waitMs: Infinity, signal: controller.signal });
    await server.received('Acquire', 3);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
  });

  it('[K-152] [K-153] bounds each attempt and its timeout_ms, at least 1, and [K-154] keeps one request id', async () => {
    const server = await bench.server();
    server.on('Acquire', async (request, { nth, usual }) => {
      if (nth > 3) return usual();
      await real(Number(request.timeoutMs));
      return server.refuse('LOCK_TIMEOUT');
    });
    const { klock } = bench.rig(server.url);
    await klock.acquire('a', { waitMs: 5_000, attemptMs: 80 });
    const seen = acquires(server);
    expect(seen).toHaveLength(4);
    for (const { timeoutMs } of seen) expect(timeoutMs).toBe(80n);
    expect(new Set(seen.map(({ requestId }) => requestId)).size).toBe(1);
    await klock.tryAcquire('b');
    expect(acquires(server).at(-1)?.timeoutMs).toBe(1n);
    await klock.acquire('c', { waitMs: 50, attemptMs: 80 });
    expect(Number(acquires(server).at(-1)?.timeoutMs)).toBeLessThanOrEqual(50);
  });

  it.each<[string, (server: ScriptedLockServer) => ReturnType<ScriptedLockServer['refuse']> | Status]>([
    ['LOCK_TIMEOUT', (server) => server.refuse('LOCK_TIMEOUT')],
    ['SESSION_GONE', (server) => server.refuse('SESSION_GONE')],
    ['SESSION_NOT_FOUND', (server) => server.refuse('SESSION_NOT_FOUND')],
    ['SERVER_DRAINING', (server) => server.refuse('SERVER_DRAINING')],
    ['SERVER_RECOVERING', (server) => server.refuse('SERVER_RECOVERING')],
    ['INTERNAL', (server) => server.refuse('INTERNAL')],
    ['Unavailable', () => new Status(status.UNAVAILABLE)],
    ['DeadlineExceeded', () => new Status(status.DEADLINE_EXCEEDED)],
    ['ResourceExhausted', () => new Status(status.RESOURCE_EXHAUSTED)],
    ['Internal of a proxy', () => new Status(status.INTERNAL)],
    ['Aborted of a proxy', () => new Status(status.ABORTED)],
  ])('[K-155] [K-157] asks again after %s', async (_, answer) => {
    const server = await bench.server();
    server.on('Acquire', (__, { nth, usual }) => (nth < 3 ? answer(server) : usual()));
    const { klock } = bench.rig(server.url);
    expect((await klock.acquire('a', { waitMs: 5_000 })).held).toBe(true);
    expect(server.seen('Acquire')).toHaveLength(3);
    expect(new Set(acquires(server).map(({ requestId }) => requestId)).size).toBe(1);
  });

  it.each<[string, (server: ScriptedLockServer) => ReturnType<ScriptedLockServer['refuse']> | Status]>([
    ['BAD_REQUEST', (server) => server.refuse('BAD_REQUEST')],
    ['Unauthenticated', () => new Status(status.UNAUTHENTICATED)],
    ['PermissionDenied', () => new Status(status.PERMISSION_DENIED)],
    ['InvalidArgument', () => new Status(status.INVALID_ARGUMENT)],
    ['NotFound', () => new Status(status.NOT_FOUND)],
    ['Unimplemented', () => new Status(status.UNIMPLEMENTED)],
  ])('[K-156] [K-162] ends at once after %s and leaves other locks untouched', async (_, answer) => {
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url);
    const other = await klock.acquire('mine');
    server.on('Acquire', () => answer(server));
    await expect(klock.acquire('a', { waitMs: 5_000 })).rejects.toMatchObject({
      code: 'BACKEND_MISCONFIGURED',
      retryable: false,
    });
    await real(50);
    expect(server.seen('Acquire')).toHaveLength(2);
    expect(server.seen('CloseSession')).toHaveLength(0);
    expect(other.held).toBe(true);
    expect(lost).toHaveLength(0);
  });

  it('[K-162] ends with LOCK_UNAVAILABLE under a rate limit that lasts, and leaves other locks untouched', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    const other = await klock.acquire('mine');
    server.on('Acquire', () => new Status(status.RESOURCE_EXHAUSTED));
    await expect(klock.acquire('a', { waitMs: 200 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await real(50);
    expect(other.held).toBe(true);
    expect(server.seen('CloseSession')).toHaveLength(0);
  });

  it('[K-162] refuses bad keys and options before any RPC', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    await expect(klock.acquire('')).rejects.toMatchObject({ code: 'INVALID_KEY' });
    await expect(klock.acquire('a', { waitMs: -1 })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      option: 'waitMs',
    });
    expect(server.calls).toHaveLength(0);
  });

  it('[K-161] leaves the session valid after IDEMPOTENCY_CONFLICT and asks with a new id', async () => {
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url);
    const other = await klock.acquire('mine');
    server.on('Acquire', (_, { nth, usual }) =>
      nth === 2 ? server.refuse('IDEMPOTENCY_CONFLICT') : usual(),
    );
    expect((await klock.acquire('a')).held).toBe(true);
    const [, first, second] = acquires(server);
    expect(second?.requestId).not.toBe(first?.requestId);
    expect(second?.sessionId).toBe(first?.sessionId);
    expect(other.held).toBe(true);
    expect(lost).toHaveLength(0);
  });

  it('[K-159] takes a grant without a token for an error, and finds out whether anything is held', async () => {
    const server = await bench.server();
    server.on('Acquire', (_, { nth, usual }) => (nth === 1 ? { ...usual(), token: '' } : usual()));
    const { klock } = bench.rig(server.url);
    await expect(klock.acquire('a')).rejects.toThrow('a grant without a token');
    await until(() => server.held.size === 0 && server.seen('Release').length === 1);
  });

  it('[K-166] releases a grant whose session ended while it was under way, and asks on a new one', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    await (await klock.acquire('warm')).release();
    server.on('Acquire', async (_, { nth, usual }) => {
      const granted = usual();
      if (nth !== 2) return granted;
      server.watches[0]?.invalidate('SESSION_GONE', 'lease_expired');
      await real(30);
      return granted;
    });
    const lock = await klock.acquire('a', { waitMs: 3_000 });
    const [, over, current] = acquires(server);
    expect(current?.sessionId).not.toBe(over?.sessionId);
    expect(lock.held).toBe(true);
    await lock.release();
  });

  it('[K-166] releases a grant that was answered after the lease of its session, and asks on a new one', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock } = bench.rig(server.url, { clock, instance: { ttlMs: 3_000 } });
    await (await klock.acquire('warm')).release();
    server.on('Acquire', (_, { nth, usual }) => {
      const granted = usual();
      // No timer has run when the answer is read: only the comparison of now tells (case B-014).
      if (nth === 2) clock.block(4_000);
      return granted;
    });
    const lock = await klock.acquire('a', { waitMs: 10_000 });
    const [, over, current] = acquires(server);
    expect(current?.sessionId).not.toBe(over?.sessionId);
    expect(lock.held).toBe(true);
    await until(() => server.seen('Release').some((call) => call.request.sessionId === over?.sessionId));
    await until(() => server.seen('CloseSession').length === 1);
  });

  it('[K-167] never binds a handle to a session that a server change ended, however they race', async () => {
    const seed = 20_261_129;
    let random = seed;
    const next = (): number => (random = (random * 48_271) % 2_147_483_647) / 2_147_483_647;
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url, { instance: { waitMs: 5_000 } });
    server.on('Acquire', async (_, { usual }) => {
      const answer = usual();
      await real(next() * 6);
      return answer;
    });
    for (let round = 0; round < 25; round++) {
      const waits = ['a', 'b', 'c'].map((name) => klock.acquire(`${name}${round}`));
      await real(next() * 6);
      server.forget(`srv_${round}`);
      const handles = await Promise.all(waits);
      await klock.acquire(`probe${round}`);
      for (const handle of handles) {
        const mine = lost.some((event) => event.token === handle.token);
        if (handle.held === mine)
          throw new Error(`seed ${seed}, round ${round}: held ${handle.held}, lost ${mine}`);
      }
    }
  }, 20_000);

  it('[K-168] releases, and does not use, a token of another session than it asked for', async () => {
    const server = await bench.server();
    server.on('Acquire', (_, { nth, usual }) =>
      nth === 1 ? { ...usual(), sessionId: 'sess_foreign', token: 'lk_foreign' } : usual(),
    );
    const { klock } = bench.rig(server.url);
    const lock = await klock.acquire('a');
    expect(lock.token).not.toBe('lk_foreign');
    await until(() => server.seen('Release').length === 1);
    expect(server.seen('Release')[0]?.request).toMatchObject({
      sessionId: 'sess_foreign',
      token: 'lk_foreign',
    });
  });

  it('[K-158] [K-161] a server that calls every id used up is asked at a bounded rate, until the wait or its signal ends', async () => {
    const server = await bench.server();
    server.on('Acquire', () => server.refuse('IDEMPOTENCY_CONFLICT'));
    const { klock } = bench.rig(server.url);
    await expect(klock.acquire('a', { waitMs: 1_000 })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      storeCode: 'IDEMPOTENCY_CONFLICT',
    });
    expect(server.seen('Acquire').length).toBeLessThan(40);
    const abort = new AbortController();
    const waiting = klock.acquire('a', { waitMs: Infinity, signal: abort.signal });
    setTimeout(() => abort.abort(), 150);
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    const last = klock.acquire('a', { waitMs: Infinity });
    last.catch(() => undefined);
    await until(() => server.seen('Acquire').length > 12);
    await klock.close();
    await expect(last).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it.each([
    ['on sessions nobody asked for [K-168]', { sessionId: 'sess_foreign' }],
    ['under another server id each time [K-166] [K-182]', { serverId: '' }],
  ])(
    '[K-150] [K-158] a server that grants %s for ever ends the wait in time, asked a few times',
    async (_, odd) => {
      const server = await bench.server();
      server.on('Acquire', (_, { nth, usual }) => ({
        ...usual(),
        token: `lk_${nth}`,
        ...odd,
        ...('serverId' in odd && { serverId: `srv_${nth}` }),
      }));
      const { klock } = bench.rig(server.url);
      const asked = klock.acquire('a', { waitMs: 1_000 });
      await expect(asked).rejects.toThrow(/^(the|several) lock servers? /);
      const attempts = server.seen('Acquire').length;
      expect(attempts).toBeGreaterThan(1);
      expect(attempts).toBeLessThan(60);
      await until(() => server.seen('Release').length >= attempts);
    },
  );

  it('[K-169] ends every wait with a handle or a typed error, whatever the server says when', async () => {
    const seed = 4_711;
    let random = seed;
    const next = (below: number): number =>
      Math.floor(((random = (random * 48_271) % 2_147_483_647) / 2_147_483_647) * below);
    const server = await bench.server();
    server.on('Acquire', async (_, { usual }) => {
      await real(next(8));
      const answers = [
        () => usual(),
        () => server.refuse('LOCK_TIMEOUT'),
        () => server.refuse('SERVER_DRAINING'),
        () => server.refuse('SESSION_GONE'),
        () => new Status(status.UNAVAILABLE),
        () => server.refuse('BAD_REQUEST'),
      ];
      return (answers[next(answers.length)] as () => ReturnType<typeof usual>)();
    });
    const { klock } = bench.rig(server.url);
    const ends = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) => klock.acquire(`k${index}`, { waitMs: next(12) })),
    );
    for (const end of ends) {
      if (end.status === 'fulfilled')
        expect({ seed, token: end.value.token }).toMatchObject({
          token: expect.stringMatching(/./) as string,
        });
      else
        expect({ seed, code: (end.reason as { code?: string }).code }).toMatchObject({
          code: expect.stringMatching(/^(LOCK|BACKEND)_/) as string,
        });
    }
  });
});

describe('a wait that ends in doubt', () => {
  it('[B-020] [K-160] gives back what was granted behind its back, and costs no other lock', async () => {
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url, { instance: { ttlMs: 60_000 } });
    const other = await klock.acquire('mine');
    server.on('Acquire', async (_, { nth, usual }) => {
      const granted = usual();
      if (nth === 2) await real(500);
      return granted;
    });
    const controller = new AbortController();
    const waiting = klock.acquire('a', { signal: controller.signal });
    await server.received('Acquire', 2);
    await real(50);
    const aborted = performance.now();
    const reason = new Error('x');
    controller.abort(reason);
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_ABORTED', cause: reason });
    expect(performance.now() - aborted).toBeLessThan(50);
    await until(() => !server.held.has('l1/a/'), 1_000);
    expect(acquires(server)[2]?.requestId).toBe(acquires(server)[1]?.requestId);
    expect(other.held).toBe(true);
    expect(lost).toHaveLength(0);
    expect(server.seen('CloseSession')).toHaveLength(0);
  });

  it('[K-160] is settled by one probe when the key is busy and the connection never broke', async () => {
    const server = await busyServer();
    const { klock, lost } = bench.rig(server.url);
    const other = await klock.acquire('mine');
    server.on('Acquire', (_, { nth, usual }) => (nth === 2 ? NEVER : usual()));
    const controller = new AbortController();
    const waiting = klock.acquire('busy', { signal: controller.signal });
    await server.received('Acquire', 2);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    await server.received('Acquire', 3);
    await real(60);
    expect(acquires(server)).toHaveLength(3);
    expect(acquires(server)[2]).toMatchObject({ timeoutMs: 1n, requestId: acquires(server)[1]?.requestId });
    expect(other.held).toBe(true);
    expect(lost).toHaveLength(0);
  });

  it('[K-160] spends its id when the connection broke, so that a late copy can never be granted', async () => {
    const server = await busyServer();
    const { klock, lost, proxy } = await throughProxy(server, { instance: { ttlMs: 20_000 } });
    const other = await klock.acquire('mine');
    server.on('Acquire', (_, { nth, usual }) => (nth === 2 ? NEVER : usual()));
    const controller = new AbortController();
    const waiting = klock.acquire('busy', { signal: controller.signal });
    await server.received('Acquire', 2);
    proxy.reset();
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    await until(() => server.seen('Release').length === 1);
    const [, asked, probe, tombstone] = acquires(server);
    expect(probe).toMatchObject({ p1: 'busy', timeoutMs: 1n, requestId: asked?.requestId });
    expect(tombstone).toMatchObject({ requestId: asked?.requestId });
    expect(tombstone?.p1).toMatch(/^klock-tombstone\/[0-9a-f]{32}$/);
    await real(50);
    expect([...server.held.keys()].sort()).toEqual(['l1/busy/', 'l1/mine/']);
    expect(other.held).toBe(true);
    expect(lost).toHaveLength(0);
    expect(server.seen('CloseSession')).toHaveLength(0);
  });

  it('[K-160] is settled although its caller gave up while there was no connection', async () => {
    const server = await busyServer();
    const { klock, lost, proxy } = await throughProxy(server, { instance: { ttlMs: 20_000 } });
    const other = await klock.acquire('mine');
    server.on('Acquire', (_, { nth, usual }) => (nth === 2 ? NEVER : usual()));
    const controller = new AbortController();
    const waiting = klock.acquire('busy', { signal: controller.signal });
    await server.received('Acquire', 2);
    await proxy.refuse();
    proxy.reset();
    await real(60);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    await proxy.accept();
    await until(() => acquires(server).some(({ p1 }) => p1.startsWith('klock-tombstone/')));
    await until(() => server.seen('Release').length === 1);
    expect(other.held).toBe(true);
    expect(lost).toHaveLength(0);
  });

  it('[K-150] still is LOCK_TIMEOUT when the store answered at the end, over a new connection', async () => {
    const server = await busyServer();
    const { klock, proxy } = await throughProxy(server);
    await klock.acquire('mine');
    server.on('Acquire', (_, { nth, usual }) => (nth === 2 ? NEVER : usual()));
    const waiting = klock.acquire('busy', { waitMs: 600 });
    await server.received('Acquire', 2);
    proxy.reset();
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
  });

  it('[K-163] [K-164] ends the session before its deadline when no probe is answered, with one CloseSession', async () => {
    const clock = new FakeClock();
    const server = await bench.server();
    const { klock, lost } = bench.rig(server.url, { clock, instance: { ttlMs: 6_000 } });
    const other = await klock.acquire('mine');
    const probe = await klock.acquire('probe');
    server.on('Acquire', () => NEVER);
    const waits = Array.from({ length: 8 }, (_, index) =>
      klock.acquire(`k${index}`, { waitMs: 200 }).catch((error: unknown) => error as { code: string }),
    );
    await until(() => server.seen('Acquire').length === 10);
    await clock.advance(1_250);
    for (const wait of waits)
      expect((await wait) as { code: string }).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(other.held).toBe(true);
    await advanceUntil(clock, () => lost.length === 2, 100);
    expect(lost[0]).toMatchObject({ reason: 'session-gone', code: 'LOCK_UNCERTAIN_RESULT' });
    expect(probe.held || other.held).toBe(false);
    await until(() => server.seen('CloseSession').length === 1);
    await clock.advance(500);
    await real(30);
    expect(server.seen('CloseSession')).toHaveLength(1);
  });

  it('[B-031] repeats an attempt whose reply was lost and gets the same grant', async () => {
    const server = await bench.server();
    server.on('Acquire', (_, { nth, usual }) => {
      const granted = usual();
      return nth === 1 ? NEVER : granted;
    });
    const { klock } = bench.rig(server.url);
    const lock = await klock.acquire('a', { attemptMs: 150, waitMs: 5_000 });
    expect(lock.fence).toBe(1n);
    expect(server.held.get('l1/a/')?.token).toBe(lock.token);
    expect(server.seen('Release')).toHaveLength(0);
  });

  it('[B-025] sends nothing for a signal that has aborted, and leaves no listener on a long-lived one', async () => {
    const server = await bench.server();
    const { klock } = bench.rig(server.url);
    const reason = new Error('r');
    await expect(klock.acquire('k', { signal: AbortSignal.abort(reason) })).rejects.toMatchObject({
      code: 'LOCK_ABORTED',
      cause: reason,
    });
    expect(server.calls).toHaveLength(0);
    const warnings: Error[] = [];
    const warned = (warning: Error): number => warnings.push(warning);
    process.on('warning', warned);
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
    for (let round = 0; round < 50; round++) await (await klock.acquire('k', { signal })).release();
    expect(listeners).toBe(0);
    await real(5);
    process.off('warning', warned);
    expect(warnings).toEqual([]);
  });
});
