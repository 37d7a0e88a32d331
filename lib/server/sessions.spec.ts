import { endRigs, rig, type Rig } from './server.spec-support.js';

describe('sessions over the wire', () => {
  let at: Rig;

  beforeEach(async () => (at = await rig({ defaultLeaseMs: 8_000, maxLeaseMs: 60_000 })));
  afterEach(endRigs);

  it('[K-042] a positive lease_ms is granted and reported', async () => {
    expect((await at.client.create({ leaseMs: 1_234n })).leaseMs).toBe(1_234n);
  });

  it.each([0n, -1n, -(2n ** 63n)])('[K-043] [B-005] lease_ms %s gets the default', async (leaseMs) => {
    expect((await at.client.create({ leaseMs })).leaseMs).toBe(8_000n);
  });

  it.each([60_001n, 2n ** 40n, 2n ** 63n - 1n])(
    '[K-044] [K-070] [B-005] lease_ms %s is lowered to the maximum, and the granted value reported',
    async (leaseMs) => {
      expect(await at.client.create({ leaseMs })).toMatchObject({ leaseMs: 60_000n });
    },
  );

  it('[K-044] a lease below the minimum is raised to it', async () => {
    const raised = await rig({ minLeaseMs: 500 });
    expect((await raised.client.create({ leaseMs: 2n })).leaseMs).toBe(500n);
  });

  it('[K-045] without a default lease a session has to ask for one', async () => {
    const none = await rig({ defaultLeaseMs: 0 });
    expect((await none.client.create({ leaseMs: 0n })).error).toMatchObject({
      status: 400,
      code: 'BAD_REQUEST',
    });
    expect((await none.client.create({ leaseMs: 5n })).leaseMs).toBe(5n);
  });

  it('[K-045] a bad lease is reported even while draining', async () => {
    const none = await rig({ defaultLeaseMs: -1 });
    await none.client.session();
    void none.server.drain({ limitMs: 60_000 });
    expect((await none.client.create()).error).toMatchObject({ code: 'BAD_REQUEST' });
  });

  it('[K-046] [K-070] a maximum of 0 is none; what no timer holds becomes the longest lease there is', async () => {
    const open = await rig({ maxLeaseMs: 0 });
    expect((await open.client.create({ leaseMs: 3_600_000n })).leaseMs).toBe(3_600_000n);
    expect((await open.client.create({ leaseMs: 2n ** 63n - 1n })).leaseMs).toBe(2_147_483_647n);
  });

  it('[K-047] [K-048] heartbeats move the end, and no old timer ends the session', async () => {
    const { client, clock, server } = at;
    const { sessionId } = await client.create({ leaseMs: 1_000n });
    for (let beat = 0; beat < 5; beat++) {
      await clock.advance(900);
      const answer = await client.heartbeat(sessionId);
      expect(answer).toMatchObject({ sessionId, leaseMs: 1_000n, serverId: server.serverId });
      expect(Date.parse(answer.expiresAt)).toBe(clock.wallMs() + 1_000);
    }
    await clock.advance(999);
    expect((await client.heartbeat(sessionId)).error).toBeUndefined();
  });

  it("[K-049] [K-052] [K-057] a lease that runs out frees the session's locks, no other's", async () => {
    const { client, clock } = at;
    const [short, long, next] = [
      await client.session(1_000n),
      await client.session(),
      await client.session(),
    ];
    await client.acquire({ sessionId: short, p1: 'a' });
    await client.acquire({ sessionId: long, p1: 'b' });
    const a = client.acquire({ sessionId: next, p1: 'a', timeoutMs: 5_000n });
    const b = client.acquire({ sessionId: next, p1: 'b', timeoutMs: 5_000n });
    await client.heartbeat(next);
    await clock.advance(1_000);
    expect((await a).token).not.toBe('');
    for (const { error } of [
      await client.heartbeat(short),
      await client.acquire({ sessionId: short }),
      await client.release({ sessionId: short, token: 't' }),
    ]) {
      expect(error).toMatchObject({ status: 410, code: 'SESSION_GONE' });
      expect(error?.message).toContain('lease_expired');
    }
    await clock.advance(4_000);
    expect((await b).error).toMatchObject({ code: 'LOCK_TIMEOUT' });
  });

  it('[K-050] a lease of 2 ms runs out too', async () => {
    const { client, clock, server } = at;
    const sessionId = await client.session(2n);
    await clock.advance(2);
    expect((await client.heartbeat(sessionId)).error).toMatchObject({ code: 'SESSION_GONE' });
    expect(server.stats.sessions).toBe(0);
  });

  it('[K-051] past its end a session is gone for every operation although no timer has run', async () => {
    const { client, clock } = at;
    const sessions = [
      await client.session(1_000n),
      await client.session(1_000n),
      await client.session(1_000n),
    ];
    clock.block(1_000);
    const [one, two, three] = sessions as [string, string, string];
    expect((await client.heartbeat(one)).error).toMatchObject({ code: 'SESSION_GONE' });
    expect((await client.acquire({ sessionId: two })).error).toMatchObject({ code: 'SESSION_GONE' });
    expect((await client.release({ sessionId: three, token: 't' })).error).toMatchObject({
      code: 'SESSION_GONE',
    });
  });

  it('[K-053] a session nobody knows is SESSION_NOT_FOUND, an empty id included', async () => {
    for (const sessionId of ['', 'sess_never']) {
      expect((await at.client.heartbeat(sessionId)).error).toMatchObject({
        status: 404,
        code: 'SESSION_NOT_FOUND',
      });
    }
    expect((await at.client.acquire({ sessionId: 'sess_never' })).error).toMatchObject({
      code: 'SESSION_NOT_FOUND',
    });
  });

  it('[K-054] an ended session is forgotten after ten minutes', async () => {
    const { client, clock } = at;
    const sessionId = await client.session();
    await client.closeSession(sessionId);
    await clock.advance(599_999);
    expect((await client.heartbeat(sessionId)).error).toMatchObject({ code: 'SESSION_GONE' });
    await clock.advance(1);
    expect((await client.heartbeat(sessionId)).error).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  it('[K-055] [K-058] closing a session frees its locks and ends its waits', async () => {
    const { client } = at;
    const [closing, other] = [await client.session(), await client.session()];
    await client.acquire({ sessionId: closing, p1: 'held' });
    await client.acquire({ sessionId: other, p1: 'busy' });
    const waiting = client.acquire({ sessionId: closing, p1: 'busy' });
    const freed = client.acquire({ sessionId: other, p1: 'held' });
    await client.heartbeat(closing);
    expect((await client.closeSession(closing)).closed).toBe(true);
    expect((await freed).error).toBeUndefined();
    const { error } = await waiting;
    expect(error).toMatchObject({ status: 410, code: 'SESSION_GONE' });
    expect(error?.message).toContain('client_close');
  });

  it('[K-060] a session that ends as its wait is granted leaves no lock behind, in either order', async () => {
    const { client, server } = at;
    for (const closeFirst of [true, false]) {
      const [holder, waiter] = [await client.session(), await client.session()];
      const { token } = await client.acquire({ sessionId: holder });
      const waiting = client.acquire({ sessionId: waiter });
      await client.heartbeat(waiter);
      const steps = [() => client.closeSession(waiter), () => client.release({ sessionId: holder, token })];
      if (!closeFirst) steps.reverse();
      await Promise.all(steps.map((step) => step()));
      expect((await waiting).error?.code).toBe(closeFirst ? 'SESSION_GONE' : undefined);
      expect(server.stats.locks).toBe(0);
    }
  });

  it('[K-059] a wait outlives the lease it began under while heartbeats arrive, and is granted', async () => {
    const { client, clock } = at;
    const [holder, waiter] = [await client.session(), await client.session(1_000n)];
    const { token } = await client.acquire({ sessionId: holder });
    const waiting = client.acquire({ sessionId: waiter, timeoutMs: 30_000n });
    for (let beat = 0; beat < 3; beat++) {
      await client.heartbeat(waiter);
      await clock.advance(700);
    }
    await client.heartbeat(waiter);
    await client.release({ sessionId: holder, token });
    expect((await waiting).token).not.toBe('');
  });

  it('[K-061] Acquire and Release do not extend the lease', async () => {
    const { client, clock } = at;
    const sessionId = await client.session(1_000n);
    await clock.advance(900);
    const { token } = await client.acquire({ sessionId });
    await client.release({ sessionId, token });
    await clock.advance(100);
    expect((await client.heartbeat(sessionId)).error).toMatchObject({ code: 'SESSION_GONE' });
  });

  it('[K-128] sessions over the bound are refused with a retriable code', async () => {
    const small = await rig({ maxSessions: 2 });
    const first = await small.client.session();
    await small.client.session();
    expect((await small.client.create()).error).toMatchObject({ status: 503, code: 'SERVER_OVERLOADED' });
    await small.client.closeSession(first);
    expect((await small.client.create()).error).toBeUndefined();
  });

  it('[K-128] a session id over its length is refused by name', async () => {
    const tooLong = 'x'.repeat(129);
    for (const { error } of [await at.client.heartbeat(tooLong), await at.client.closeSession(tooLong)]) {
      expect(error).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
      expect(error?.message).toContain('session_id');
    }
    expect((await at.client.heartbeat('x'.repeat(128))).error).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });
});
