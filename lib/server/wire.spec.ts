import { Client, credentials } from '@grpc/grpc-js';
import { CreateSessionRequest, LockRequest, lockService } from '../rpc/index.js';
import { endRigs, rig, type Rig } from './server.spec-support.js';

describe('klock.v1 over the wire', () => {
  let at: Rig;

  beforeEach(async () => (at = await rig()));
  afterEach(endRigs);

  it('[K-025] [K-029] the six RPCs answer under their method paths, successes without an error part', async () => {
    const { client } = at;
    const session = await client.create();
    const { sessionId } = session;
    const watched = client.watch({ sessionId });
    expect((await watched.event()).type).toBe('WATCH_ESTABLISHED');
    const beat = await client.heartbeat(sessionId);
    const lock = await client.acquire({ sessionId, p2: 'p2' });
    const release = await client.release({ sessionId, token: lock.token });
    const closed = await client.closeSession(sessionId);
    for (const answer of [session, beat, lock, release, closed]) expect('error' in answer).toBe(false);
    expect([release.ok, closed.closed]).toEqual([true, true]);
  });

  it('[K-025] another service or method is UNIMPLEMENTED', async () => {
    const other = { ...lockService.CreateSession, path: '/klock.v1.LockService/Elsewhere' };
    await expect(at.client.unary(other, CreateSessionRequest.create()).answer).rejects.toMatchObject({
      code: 12,
    });
  });

  it('[K-028] [K-030] [K-031] a business error comes in the body, complete, with nothing beside it', async () => {
    const { client, server } = at;
    const answers = [
      await client.create({ protocolVersion: '2' }),
      await client.heartbeat('sess_unknown'),
      await client.acquire({ sessionId: 'sess_unknown' }),
      await client.release({ sessionId: 'sess_unknown', token: 't' }),
    ];
    for (const { error, ...rest } of answers) {
      expect(Object.values(rest).every((value) => value === '' || value === 0n || value === false)).toBe(
        true,
      );
      expect(error).toMatchObject({ serverId: server.serverId, protocolVersion: '1' });
      expect(error?.code).not.toBe('');
      expect(error?.message).not.toBe('');
      expect(error?.status).toBeGreaterThanOrEqual(400);
    }
  });

  it('[K-032] [K-056] closing an unknown or closed session says so, with server_id and protocol_version', async () => {
    const { client, server } = at;
    const closed = await client.session();
    await client.closeSession(closed);
    for (const sessionId of ['sess_unknown', '', closed]) {
      expect(await client.closeSession(sessionId)).toEqual({
        closed: false,
        serverId: server.serverId,
        protocolVersion: '1',
        error: expect.objectContaining({ status: 404, code: 'SESSION_NOT_FOUND' }) as unknown,
      });
    }
  });

  it.each(['', '2', '1 ', '01'])(
    '[K-033] protocol_version %j is a mismatch before anything else',
    async (protocolVersion) => {
      const { client } = at;
      const wrong = { protocolVersion, expectedServer: 'srv_other' };
      const answers = [
        await client.create({ ...wrong, leaseMs: -5n }),
        await client.heartbeat('', wrong),
        await client.acquire({ ...wrong, sessionId: '', p1: '', scope: 'l9' }),
        await client.release({ ...wrong, sessionId: '' }),
        await client.closeSession('', wrong),
      ];
      for (const { error } of answers)
        expect(error).toMatchObject({ status: 409, code: 'PROTOCOL_MISMATCH' });
    },
  );

  it('[K-034] [K-036] another expected_server is a mismatch that carries the current id, after the version', async () => {
    const { client, server } = at;
    const wrong = { expectedServer: 'srv_0123456789abcdef' };
    const answers = [
      await client.create(wrong),
      await client.heartbeat('', wrong),
      await client.acquire({ ...wrong, sessionId: '' }),
      await client.release({ ...wrong, sessionId: '' }),
      await client.closeSession('', wrong),
    ];
    for (const { error } of answers) {
      expect(error).toMatchObject({
        status: 409,
        code: 'SERVER_INSTANCE_MISMATCH',
        serverId: server.serverId,
      });
    }
  });

  it('[K-035] an empty expected_server, and the right one, are accepted', async () => {
    const { client, server } = at;
    expect((await client.create({ expectedServer: '' })).error).toBeUndefined();
    expect((await client.create({ expectedServer: server.serverId })).error).toBeUndefined();
  });

  it('[K-037] [B-083] every start has another server_id of srv_ and 16 hex digits, and it is in every answer', async () => {
    const second = await rig();
    const ids = [at.server.serverId, second.server.serverId];
    for (const id of ids) expect(id).toMatch(/^srv_[0-9a-f]{16}$/);
    expect(new Set(ids).size).toBe(2);
    const sessionId = await at.client.session();
    const foreign = await second.client.heartbeat(sessionId, { expectedServer: at.server.serverId });
    expect(foreign.error).toMatchObject({
      code: 'SERVER_INSTANCE_MISMATCH',
      serverId: second.server.serverId,
    });
    expect((await second.client.acquire({ sessionId })).error).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  it('[K-038] a token is lk_ and 32 lower-case hex digits, another one for each grant', async () => {
    const { client } = at;
    const sessionId = await client.session();
    const tokens = await Promise.all(
      ['a', 'b', 'c'].map(async (p1) => (await client.acquire({ sessionId, p1 })).token),
    );
    for (const token of tokens) expect(token).toMatch(/^lk_[0-9a-f]{32}$/);
    expect(new Set(tokens).size).toBe(3);
  });

  it('[K-039] a session id is sess_ and 128 bits that say nothing about its neighbour', async () => {
    const [one, two] = [await at.client.session(), await at.client.session()];
    for (const id of [one, two]) expect(id).toMatch(/^sess_[0-9a-f]{32}$/);
    expect(one.slice(0, 12)).not.toBe(two.slice(0, 12));
  });

  it('[K-040] expires_at is the wall clock plus the granted lease in RFC 3339, without trailing zeros', async () => {
    const { client, clock } = at;
    const first = await client.create({ leaseMs: 60_000n });
    expect(first.expiresAt).toBe('2027-01-15T08:01:00Z');
    await clock.advance(1_230);
    expect((await client.heartbeat(first.sessionId)).expiresAt).toBe('2027-01-15T08:01:01.23Z');
  });

  it('[B-035] any key, however long or odd, gets the intended code, in ASCII of at most 1 KiB', async () => {
    const { client } = at;
    const [holder, waiter] = [await client.session(), await client.session()];
    const odd = '\u043a\u043b\u044e\u0447-\u{1f600}\n';
    expect((await client.acquire({ sessionId: holder, p1: odd })).error).toBeUndefined();
    const answer = client.acquire({ sessionId: waiter, p1: odd, timeoutMs: 1n });
    const busy = await Promise.race([answer, at.clock.advance(50).then(() => answer)]);
    const long = await client.acquire({ sessionId: waiter, p1: 'k'.repeat(20_000) });
    const longer = await client.acquire({ sessionId: waiter, p1: 'a', p2: '\u{1f600}'.repeat(129) });
    expect([busy.error?.code, long.error?.code, longer.error?.code]).toEqual([
      'LOCK_TIMEOUT',
      'BAD_REQUEST',
      'BAD_REQUEST',
    ]);
    for (const { error } of [busy, long, longer]) {
      expect(error?.message).toMatch(/^[\x20-\x7e]{1,1024}$/);
    }
    expect((await client.acquire({ sessionId: waiter, p1: 'next' })).error).toBeUndefined();
  });

  it('[B-035] a message beyond any legal size ends its own call only', async () => {
    const { client } = at;
    const sessionId = await client.session();
    await expect(client.acquire({ sessionId, p1: 'k'.repeat(5 * 1024 * 1024) })).rejects.toMatchObject({
      code: 8,
    });
    expect((await client.acquire({ sessionId })).error).toBeUndefined();
  });

  it('bytes that are no message end their own call with INTERNAL and no text of ours', async () => {
    const raw = { ...lockService.Acquire, requestSerialize: () => Buffer.from('1205', 'hex') };
    await expect(at.client.unary(raw, LockRequest.create()).answer).rejects.toMatchObject({
      code: 13,
      details: 'Error deserializing request',
    });
  });

  it('[B-064] a defect inside a handler is INTERNAL/500 in the body, without its text', async () => {
    const { server, client, log } = at;
    const store = server.openLocalStore() as unknown as { host: { apply: () => never } };
    const { apply } = store.host;
    store.host.apply = () => {
      throw new TypeError('secret driver text');
    };
    const { error } = await client.create();
    store.host.apply = apply;
    expect(error).toMatchObject({ status: 500, code: 'INTERNAL', message: 'internal error' });
    expect(log.find('internal_error')).toMatchObject({
      level: 'error',
      cause: 'TypeError: secret driver text',
    });
  });

  it('a connection that sends no HTTP/2 is ended after a limit', async () => {
    const { createConnection } = await import('node:net');
    const socket = createConnection(at.server.port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    await at.client.create();
    await at.clock.advance(10_000);
    await ended;
  });

  it('one connection may have thousands of calls open, since waits must not hold up heartbeats', async () => {
    const { client } = at;
    const [holder, waiter] = [await client.session(), await client.session()];
    await client.acquire({ sessionId: holder });
    const calls = Array.from({ length: 1_000 }, () => client.acquiring({ sessionId: waiter, timeoutMs: 0n }));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await client.heartbeat(waiter)).error).toBeUndefined();
    expect(at.server.stats.waiters).toBe(1_000);
    for (const call of calls) call.cancel();
    await Promise.allSettled(calls.map((call) => call.answer));
  });

  it('[B-028] a client may ping as often as ours does, and more, without being told to calm down', async () => {
    const { connect } = await import('node:http2');
    const session = connect(`http://${at.server.address}`);
    await new Promise((resolve) => session.once('connect', resolve));
    let calmed = 0;
    session.on('goaway', () => (calmed += 1));
    for (let ping = 0; ping < 50; ping++) {
      await new Promise<void>((resolve, reject) =>
        session.ping((error) => (error ? reject(error) : resolve())),
      );
    }
    expect(calmed).toBe(0);
    session.destroy();
  });

  it('listens where it was told, and says so', () => {
    expect(at.server.address).toBe(`127.0.0.1:${at.server.port}`);
    new Client(at.server.address, credentials.createInsecure()).close();
  });
});
