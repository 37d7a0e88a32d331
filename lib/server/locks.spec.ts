import { endRigs, rig, until, type Rig, type WireClient } from './server.spec-support.js';

describe('locks over the wire', () => {
  let at: Rig;
  let client: WireClient;
  let one: string;
  let two: string;

  beforeEach(async () => {
    at = await rig();
    ({ client } = at);
    [one, two] = [await client.session(), await client.session()];
  });
  afterEach(endRigs);

  it('[K-062] an l2 lock comes with token, fence and an echo of what was asked', async () => {
    const lock = await client.acquire({ sessionId: one, p1: 'tenant', p2: 'res' });
    expect(lock).toEqual({
      token: expect.stringMatching(/^lk_/) as unknown,
      fence: expect.any(BigInt) as unknown,
      scope: 'l2',
      p1: 'tenant',
      p2: 'res',
      sessionId: one,
      serverId: at.server.serverId,
      protocolVersion: '1',
    });
  });

  it('[K-063] [K-073] for l1 a p2 plays no part but is echoed, on a repeat too', async () => {
    const lock = await client.acquire({ sessionId: one, scope: 'l1', p2: 'echo', requestId: 'r' });
    expect(lock.p2).toBe('echo');
    const again = await client.acquire({ sessionId: one, scope: 'l1', p2: 'other', requestId: 'r' });
    expect(again).toEqual({ ...lock, p2: 'other' });
    const below = client.acquiring({ sessionId: two, p2: 'x' });
    await client.heartbeat(two);
    expect(at.server.stats.waiters).toBe(1);
    below.cancel();
    await expect(below.answer).rejects.toMatchObject({ code: 1 });
  });

  it('[K-064] empty session_id, request_id and p1 are refused in this order, before draining and sessions', async () => {
    void at.server.drain({ limitMs: 60_000 });
    const fields = { sessionId: '', requestId: '', p1: '' };
    const named: (string | undefined)[] = [];
    for (const fix of [{}, { sessionId: 'unknown' }, { sessionId: 'unknown', requestId: 'r' }]) {
      const { error } = await client.acquire({ ...fields, ...fix });
      expect(error).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
      named.push(error?.message.split(' ')[0]);
    }
    expect(named).toEqual(['session_id', 'request_id', 'p1']);
  });

  it('[K-065] l2 without p2 and an unknown scope are refused before anything is looked up', async () => {
    for (const fields of [{ scope: 'l2' }, { scope: 'l3', p2: 'x' }, { scope: '' }, { scope: 'L1' }]) {
      const { error } = await client.acquire({ sessionId: 'unknown', ...fields });
      expect(error).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
    }
  });

  it.each([
    ['session_id', { sessionId: 'x'.repeat(129) }],
    ['request_id', { requestId: 'x'.repeat(129) }],
    ['p1', { p1: 'x'.repeat(513) }],
    ['p1', { p1: '\u00e9'.repeat(257) }],
    ['p2', { p2: 'x'.repeat(513) }],
  ])('[K-128] %s over its length is refused by name', async (field, fields) => {
    const { error } = await client.acquire({ sessionId: one, ...fields });
    expect(error).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
    expect(error?.message).toMatch(new RegExp(`^${field} `));
  });

  it('[K-128] fields at their length are taken', async () => {
    const full = { p1: '\u00e9'.repeat(256), p2: 'x'.repeat(512), requestId: 'r'.repeat(128) };
    expect((await client.acquire({ sessionId: one, ...full })).error).toBeUndefined();
  });

  it('[K-066] timeout_ms bounds the wait', async () => {
    await client.acquire({ sessionId: one });
    const waiting = client.acquire({ sessionId: two, timeoutMs: 500n });
    await client.heartbeat(two);
    await at.clock.advance(499);
    expect(at.server.stats.waiters).toBe(1);
    await at.clock.advance(1);
    expect((await waiting).error).toMatchObject({ status: 409, code: 'LOCK_TIMEOUT' });
  });

  it.each([0n, -1n, -(2n ** 63n)])(
    '[K-067] with timeout_ms %s the wait ends by a grant only',
    async (timeoutMs) => {
      const { token } = await client.acquire({ sessionId: one });
      const waiting = client.acquire({ sessionId: two, timeoutMs });
      await client.heartbeat(two);
      for (let minute = 0; minute < 10; minute++) {
        await at.clock.advance(50_000);
        await client.heartbeat(one);
        await client.heartbeat(two);
      }
      await client.release({ sessionId: one, token });
      expect((await waiting).token).not.toBe('');
    },
  );

  it.each([2n ** 40n, 2n ** 63n - 1n])(
    '[K-070] timeout_ms %s waits, and does not wrap around',
    async (timeoutMs) => {
      const { token } = await client.acquire({ sessionId: one });
      const waiting = client.acquire({ sessionId: two, timeoutMs });
      await client.heartbeat(two);
      await at.clock.advance(30_000);
      expect(at.server.stats.waiters).toBe(1);
      await client.release({ sessionId: one, token });
      expect((await waiting).error).toBeUndefined();
    },
  );

  it('[K-068] cancelling a call takes its waiter away at once', async () => {
    const { token } = await client.acquire({ sessionId: one, p1: 'a', p2: 'x' });
    const writer = client.acquiring({ sessionId: two, p1: 'a' });
    await client.heartbeat(two);
    const reader = client.acquire({ sessionId: two, p1: 'a', p2: 'y' });
    await client.heartbeat(two);
    expect(at.server.stats.waiters).toBe(2);
    writer.cancel();
    expect((await reader).error).toBeUndefined();
    await client.release({ sessionId: one, token });
    expect(at.server.stats).toMatchObject({ waiters: 0, locks: 1 });
  });

  it('[K-069] a gRPC deadline shorter than timeout_ms ends the wait', async () => {
    await client.acquire({ sessionId: one });
    const waiting = client.acquire({ sessionId: two, timeoutMs: 10_000n }, { deadline: Date.now() + 100 });
    await expect(waiting).rejects.toMatchObject({ code: 4 });
    await until(() => at.server.stats.waiters === 0);
  });

  it('[K-071] [K-074] a repeat of a request gets the same token and fence while the lock is held', async () => {
    const lock = await client.acquire({ sessionId: one, requestId: 'r', timeoutMs: 1n });
    expect(await client.acquire({ sessionId: one, requestId: 'r', timeoutMs: 777n })).toEqual(lock);
    expect(at.server.stats.locks).toBe(1);
  });

  it('[K-072] [K-076] a request id stands for one key of one session', async () => {
    await client.acquire({ sessionId: one, requestId: 'r', p1: 'a' });
    for (const fields of [{ p1: 'b' }, { p1: 'a', p2: 'c' }]) {
      const { error } = await client.acquire({ sessionId: one, requestId: 'r', ...fields });
      expect(error).toMatchObject({ status: 409, code: 'IDEMPOTENCY_CONFLICT' });
    }
    expect((await client.acquire({ sessionId: two, requestId: 'r', p1: 'b' })).error).toBeUndefined();
  });

  it('[K-075] a request that failed can be asked again under its id', async () => {
    const { token } = await client.acquire({ sessionId: one });
    const failing = client.acquire({ sessionId: two, requestId: 'r', timeoutMs: 10n });
    await client.heartbeat(two);
    await at.clock.advance(10);
    expect((await failing).error).toMatchObject({ code: 'LOCK_TIMEOUT' });
    await client.release({ sessionId: one, token });
    expect((await client.acquire({ sessionId: two, requestId: 'r' })).error).toBeUndefined();
  });

  it('[K-075] the id of a request that failed a moment ago may ask for another key, and the first key again', async () => {
    const { token } = await client.acquire({ sessionId: one });
    const ask = async (p1?: string) => {
      const asked = client.acquire({ sessionId: two, requestId: 'r', timeoutMs: 10n, ...(p1 && { p1 }) });
      await client.heartbeat(two);
      await at.clock.advance(10);
      return await asked;
    };
    expect((await ask()).error).toMatchObject({ code: 'LOCK_TIMEOUT' });
    const other = await ask('another');
    expect(other.error).toBeUndefined();
    expect((await ask()).error).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    expect(at.server.stats).toMatchObject({ locks: 2, waiters: 0, detached: 0 });
    await client.release({ sessionId: one, token });
  });

  it('[K-066] [K-075] an attempt that follows within a second keeps its place before whoever came later', async () => {
    const { token } = await client.acquire({ sessionId: one });
    const first = client.acquire({ sessionId: two, requestId: 'early', timeoutMs: 100n });
    await client.heartbeat(two);
    const late = client.acquire({ sessionId: one, requestId: 'late' });
    await client.heartbeat(one);
    await at.clock.advance(100);
    expect((await first).error).toMatchObject({ code: 'LOCK_TIMEOUT' });
    await at.clock.advance(900);
    const again = client.acquire({ sessionId: two, requestId: 'early' });
    await client.heartbeat(two);
    await client.release({ sessionId: one, token });
    const won = await again;
    expect(won.error).toBeUndefined();
    await client.release({ sessionId: two, token: won.token });
    expect((await late).fence > won.fence).toBe(true);
  });

  it('[K-077] [K-079] finished requests are forgotten by number and age as configured', async () => {
    const small = await rig({ idempotencyEntries: 2, idempotencyTtlMs: 1_000 });
    const sessionId = await small.client.session();
    const once = async (requestId: string) => {
      const { token } = await small.client.acquire({ sessionId, requestId });
      await small.client.release({ sessionId, token });
    };
    for (const id of ['a', 'b', 'c']) await once(id);
    expect((await small.client.acquire({ sessionId, requestId: 'c' })).error?.code).toBe(
      'IDEMPOTENCY_CONFLICT',
    );
    await once('a');
    await small.clock.advance(1_001);
    await once('c');
  });

  it('[K-082] two calls of one request get one lock and the same answer', async () => {
    const { token } = await client.acquire({ sessionId: one });
    const calls = [1, 2].map(() => client.acquire({ sessionId: two, requestId: 'r' }));
    await client.heartbeat(two);
    expect(at.server.stats.waiters).toBe(1);
    await client.release({ sessionId: one, token });
    const [a, b] = await Promise.all(calls);
    expect(a).toEqual(b);
    expect(at.server.stats.locks).toBe(1);
  });

  it('[K-083] of two calls with one id and different keys the later one is a conflict at once', async () => {
    await client.acquire({ sessionId: one });
    const first = client.acquiring({ sessionId: two, requestId: 'r' });
    await client.heartbeat(two);
    const { error } = await client.acquire({ sessionId: two, requestId: 'r', p1: 'other' });
    expect(error).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    first.cancel();
  });

  it('[K-084] a late repeat after the release is a conflict, never a dead token', async () => {
    const { token } = await client.acquire({ sessionId: one, requestId: 'r' });
    await client.release({ sessionId: one, token });
    const { error } = await client.acquire({ sessionId: one, requestId: 'r' });
    expect(error).toMatchObject({ status: 409, code: 'IDEMPOTENCY_CONFLICT' });
  });

  it('[K-085] fences rise from grant to grant over all keys', async () => {
    const fences: bigint[] = [];
    for (const p1 of ['a', 'b', 'c', 'd']) fences.push((await client.acquire({ sessionId: one, p1 })).fence);
    expect(fences).toEqual([...fences].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(fences).size).toBe(4);
  });

  it('[K-088] twelve contenders on one key all get it in turn', async () => {
    const sessions = await Promise.all(Array.from({ length: 12 }, () => client.session()));
    let inside = 0;
    const turns = sessions.map(async (sessionId) => {
      const { token, fence } = await client.acquire({ sessionId, p1: 'hot' });
      expect(++inside).toBe(1);
      await client.heartbeat(sessionId);
      inside -= 1;
      await client.release({ sessionId, token });
      return fence;
    });
    expect(new Set(await Promise.all(turns)).size).toBe(12);
  });

  it('[K-090] a release frees the lock and answers ok with server_id and protocol_version', async () => {
    const { token } = await client.acquire({ sessionId: one });
    const waiting = client.acquire({ sessionId: two });
    await client.heartbeat(two);
    expect(await client.release({ sessionId: one, token })).toEqual({
      ok: true,
      serverId: at.server.serverId,
      protocolVersion: '1',
    });
    expect((await waiting).token).not.toBe(token);
  });

  it('[K-091] a repeated release is ok again', async () => {
    const { token } = await client.acquire({ sessionId: one });
    const release = { sessionId: one, token, requestId: 'rel' };
    expect((await client.release(release)).ok).toBe(true);
    expect((await client.release(release)).ok).toBe(true);
  });

  it('[K-092] a used release id with another token is a conflict and frees nothing', async () => {
    const [a, b] = [
      await client.acquire({ sessionId: one, p1: 'a' }),
      await client.acquire({ sessionId: one, p1: 'b' }),
    ];
    await client.release({ sessionId: one, token: a.token, requestId: 'rel' });
    const { error } = await client.release({ sessionId: one, token: b.token, requestId: 'rel' });
    expect(error).toMatchObject({ status: 409, code: 'IDEMPOTENCY_CONFLICT' });
    expect(at.server.stats.locks).toBe(1);
  });

  it('[K-093] a token this session does not hold is LOCK_NOT_FOUND', async () => {
    const { token } = await client.acquire({ sessionId: one });
    const foreign = await client.release({ sessionId: two, token });
    await client.release({ sessionId: one, token });
    const answers = [
      foreign,
      await client.release({ sessionId: one, token: 'lk_unknown' }),
      await client.release({ sessionId: one, token: '' }),
      await client.release({ sessionId: one, token }),
    ];
    for (const { error } of answers) expect(error).toMatchObject({ status: 404, code: 'LOCK_NOT_FOUND' });
  });

  it('[K-094] a release without session_id or request_id is refused by name', async () => {
    const noSession = await client.release({ sessionId: '', requestId: '' });
    const noRequest = await client.release({ sessionId: one, requestId: '' });
    expect([noSession.error?.code, noRequest.error?.code]).toEqual(['BAD_REQUEST', 'BAD_REQUEST']);
    expect(noSession.error?.message).toMatch(/^session_id /);
    expect(noRequest.error?.message).toMatch(/^request_id /);
  });

  it("[K-095] a lock is freed once when its release and its session's end meet", async () => {
    const { token } = await client.acquire({ sessionId: one });
    const next = client.acquire({ sessionId: two });
    await client.heartbeat(two);
    await Promise.all([
      client.release({ sessionId: one, token }),
      client.release({ sessionId: one, token }),
      client.closeSession(one),
    ]);
    expect((await next).error).toBeUndefined();
    expect(at.server.stats.locks).toBe(1);
  });

  it('[K-128] locks of a session, waiters of a key and waiters in all are bounded with a retriable code', async () => {
    const small = await rig({ maxLocksPerSession: 2, maxWaitersPerKey: 1, maxWaiters: 2 });
    const s = await Promise.all(Array.from({ length: 5 }, () => small.client.session()));
    const overloaded = { status: 503, code: 'SERVER_OVERLOADED' };
    await small.client.acquire({ sessionId: s[0]!, p1: 'a' });
    await small.client.acquire({ sessionId: s[0]!, p1: 'b' });
    expect((await small.client.acquire({ sessionId: s[0]!, p1: 'c' })).error).toMatchObject(overloaded);
    await small.client.acquire({ sessionId: s[1]!, p1: 'c' });
    const waits = ['a', 'b'].map((p1) => small.client.acquiring({ sessionId: s[2]!, p1 }));
    await small.client.heartbeat(s[2]!);
    expect((await small.client.acquire({ sessionId: s[3]!, p1: 'a' })).error).toMatchObject(overloaded);
    expect((await small.client.acquire({ sessionId: s[3]!, p1: 'c' })).error).toMatchObject(overloaded);
    for (const wait of waits) wait.cancel();
  });
});

describe('answers that reach nobody', () => {
  afterEach(endRigs);

  it('[K-089] [B-031] a retry of the same request gets the lock that was granted to a call since cancelled', async () => {
    const at = await rig();
    const { client } = at;
    const [one, two] = [await client.session(), await client.session()];
    const { token } = await client.acquire({ sessionId: one });
    const lost = client.acquiring({ sessionId: two, requestId: 'r' });
    await client.heartbeat(two);
    lost.cancel();
    await expect(lost.answer).rejects.toMatchObject({ code: 1 });
    const retry = client.acquire({ sessionId: two, requestId: 'r' });
    await client.heartbeat(two);
    await client.release({ sessionId: one, token });
    expect((await retry).error).toBeUndefined();
  });

  it('[K-068] [K-089] a wait whose call was cancelled is never granted, and forgotten after a second', async () => {
    const at = await rig();
    const { client, server, clock } = at;
    const [one, two] = [await client.session(), await client.session()];
    const { token } = await client.acquire({ sessionId: one });
    const lost = client.acquiring({ sessionId: two });
    await client.heartbeat(two);
    lost.cancel();
    await until(() => server.stats.waiters === 0);
    expect(server.stats.detached).toBe(1);
    await client.release({ sessionId: one, token });
    expect(server.stats.locks).toBe(0);
    await clock.advance(1_000);
    expect(server.stats.detached).toBe(0);
  });
});
