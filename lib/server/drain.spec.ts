import type { LocalCall } from '../engine/index.js';
import { endRigs, rig, until, untilDone, type Rig } from './server.spec-support.js';

describe('drain', () => {
  let at: Rig;

  beforeEach(async () => (at = await rig()));
  afterEach(endRigs);

  it('[K-108] [K-109] [K-112] opens no session, grants no lock, and refuses whoever waits', async () => {
    const { client, server } = at;
    const [one, two] = [await client.session(), await client.session()];
    const { token } = await client.acquire({ sessionId: one });
    const waiting = client.acquire({ sessionId: two });
    await client.heartbeat(two);
    void server.drain({ limitMs: 60_000 });
    const draining = { status: 503, code: 'SERVER_DRAINING' };
    expect((await waiting).error).toMatchObject(draining);
    expect((await client.create()).error).toMatchObject(draining);
    expect((await client.acquire({ sessionId: two })).error).toMatchObject(draining);
    expect((await client.release({ sessionId: one, token })).ok).toBe(true);
    expect((await client.acquire({ sessionId: two, p1: 'free' })).error).toMatchObject(draining);
    expect(server.stats.locks).toBe(0);
    expect(server.condition).toBe('draining');
  });

  it('[K-109] holders are told before anything else can happen to their locks', async () => {
    const { client, server } = at;
    const sessionId = await client.session();
    await client.acquire({ sessionId });
    const watched = client.watch({ sessionId });
    await watched.event();
    void server.drain({ limitMs: 60_000 });
    expect((await watched.event(1)).message).toContain('server_restarting');
    expect(server.stats.locks).toBe(1);
    const { error } = await client.heartbeat(sessionId);
    expect(error).toMatchObject({ status: 410, code: 'SESSION_GONE' });
    expect(error?.message).toContain('server_restarting');
  });

  it('ends as soon as every client has closed its session, with nobody cut off', async () => {
    const { client, server } = at;
    const sessions = [await client.session(), await client.session()];
    const drained = server.drain();
    for (const sessionId of sessions) await client.closeSession(sessionId);
    expect(await drained).toBe(0);
  });

  it('waits for leases to run out, which are not renewed any more', async () => {
    const { client, server, clock } = at;
    const sessionId = await client.session(2_000n);
    const drained = server.drain();
    await clock.advance(1_900);
    await client.heartbeat(sessionId);
    expect(server.stats.sessions).toBe(1);
    await clock.advance(100);
    expect(await drained).toBe(0);
  });

  it('[K-110] what is left at the limit is ended with server_restarting and counted', async () => {
    const { client, server, clock } = at;
    const [short, long] = [await client.session(500n), await client.session()];
    const drained = server.drain({ limitMs: 3_000 });
    await clock.advance(3_000);
    expect(await drained).toBe(1);
    const words = [short, long].map(async (sessionId) => (await client.heartbeat(sessionId)).error?.message);
    expect(await Promise.all(words)).toEqual([
      'the session has ended: lease_expired',
      'the session has ended: server_restarting',
    ]);
    expect(server.counters.session_invalidations).toBe(2);
  });

  it('[K-111] twice is once; a nearer limit hurries it', async () => {
    const { client, server, clock } = at;
    await client.session();
    const first = server.drain({ limitMs: 60_000 });
    const second = server.drain({ limitMs: 1_000 });
    const third = server.drain({ limitMs: 30_000 });
    await clock.advance(1_000);
    expect(await Promise.all([first, second, third])).toEqual([1, 1, 1]);
    expect(server.counters.session_invalidations).toBe(1);
  });

  it('[K-113] close drains, lets answers out, stops, and is bounded and repeatable', async () => {
    const { client, server, clock } = at;
    const sessionId = await client.session();
    const silent = client.watch();
    await client.heartbeat(sessionId);
    const closing = [server.close(), server.close(), server.close({ graceMs: 4_000 })];
    expect((await client.heartbeat(sessionId)).error).toMatchObject({ code: 'SESSION_GONE' });
    const before = clock.monoMs();
    await untilDone(Promise.all(closing), clock);
    expect(clock.monoMs() - before).toBeLessThanOrEqual(5_500);
    expect(await server.ended).toBe('closed');
    await silent.ended;
    await expect(client.heartbeat(sessionId)).rejects.toMatchObject({ code: 14 });
  });

  it('close before the start is harmless; a start after it is refused', async () => {
    const { LockServer } = await import('./index.js');
    const server = new LockServer({ address: '127.0.0.1:0' });
    await server.close();
    await expect(server.start()).rejects.toMatchObject({ code: 'BACKEND_STATE' });
    expect(await server.ended).toBe('closed');
  });

  it('[K-113] a closed server is not started again, and says so', async () => {
    const { server } = at;
    await server.close({ graceMs: 0 });
    await expect(server.start()).rejects.toThrow('the server was closed: make another one to start again');
  });

  it('[K-113] a drain refuses a limit that is none; a close with one is a close all the same', async () => {
    const { server } = at;
    for (const limitMs of [NaN, -1, '5', null]) {
      const asked = server.drain({ limitMs } as object);
      await expect(asked).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'limitMs' });
    }
    expect(server.condition).toBe('ok');
    await server.close({ graceMs: NaN });
    expect(await server.ended).toBe('closed');
  });

  it('a port in use fails the start with its address, and close is harmless', async () => {
    const { LockServer } = await import('./index.js');
    const second = new LockServer({ address: at.server.address });
    await expect(second.start()).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
    await second.close();
  });

  it('a session of this process is told, and counts as nobody cut off', async () => {
    const { server, clock } = at;
    const store = server.openLocalStore();
    store.apply({ type: 'open-session', sessionId: 'own', leaseMs: 60_000 });
    const told: string[] = [];
    store.onSessionEnd('own', (reason) => told.push(reason));
    expect(store.condition).toBe('ok');
    const drained = server.drain({ limitMs: 1_000 });
    await clock.advance(1_000);
    expect([await drained, told, store.condition]).toEqual([0, ['server_restarting'], 'draining']);
  });

  it('locks of this process and of clients exclude each other', async () => {
    const { server, client } = at;
    const store = server.openLocalStore();
    store.apply({ type: 'open-session', sessionId: 'own', leaseMs: 60_000 });
    const ask = {
      type: 'acquire',
      sessionId: 'own',
      requestId: 'r',
      key: ['p1'],
      waitUntilMs: Infinity,
    } as const;
    const sessionId = await client.session();
    const remote = await client.acquire({ sessionId });
    const fences: bigint[] = [];
    const callId: LocalCall = {
      place: undefined,
      answered: (answer) => answer.type === 'granted' && fences.push(answer.grant.fence),
    };
    expect(store.apply({ ...ask, callId })).toEqual({ type: 'queued' });
    await client.release({ sessionId, token: remote.token });
    await until(() => fences.length === 1);
    expect(fences[0]! > remote.fence).toBe(true);
    expect(store.inspect(['p1'])).toMatchObject({ locked: true });
  });
});
