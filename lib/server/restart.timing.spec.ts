import { mkdtempSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../core/fake-clock.js';
import { systemClock } from '../core/index.js';
import { LockServer, type ServerOptions } from './index.js';
import { RecordingLog, until, WireClient } from './server.spec-support.js';
import { OWNER_TIMING } from './state/owner-file.js';
import { readState } from './state/saved-state.js';

const ownerTiming = {
  freshMs: OWNER_TIMING.freshMs / 10,
  settleMs: OWNER_TIMING.settleMs / 10,
  touchEveryMs: OWNER_TIMING.touchEveryMs / 10,
  sureMs: OWNER_TIMING.sureMs / 10,
};

/** In one step, so that no look falls between: a file that is gone for a moment would be a lost one. */
function makeUnreadable(file: string): void {
  symlinkSync('.', `${file}.next`);
  renameSync(`${file}.next`, file);
}

/** The machine's clocks, with a wall clock that can be moved away from them. */
class SteppedClock {
  wallOffsetMs = 0;
  after = systemClock.after.bind(systemClock);
  monoMs = () => systemClock.monoMs();
  wallMs = () => systemClock.wallMs() + this.wallOffsetMs;
  now = () => ({ monoMs: this.monoMs(), wallMs: this.wallMs() });
}

describe('restarts', () => {
  let folder: string;
  let log: RecordingLog;
  const servers = new Set<LockServer>();
  const clients = new Set<WireClient>();

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'klock-restart-'));
    log = new RecordingLog();
  });
  afterEach(async () => {
    for (const client of clients) client.close();
    for (const server of servers) await server.close({ graceMs: 0 });
    clients.clear();
    servers.clear();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = async (options: ServerOptions = {}): Promise<readonly [LockServer, WireClient]> => {
    const server = new LockServer(
      { address: '127.0.0.1:0', log, maxLeaseMs: 400, defaultLeaseMs: 300, ...options },
      { ownerTiming },
    );
    servers.add(server);
    await server.start();
    const client = new WireClient(server.address);
    clients.add(client);
    return [server, client];
  };
  const stateDir = () => join(folder, 'state');
  const saved = () => readState(join(stateDir(), 'state.json'));

  it('[K-114] [WK-03] a stop that cuts off a session makes the next start wait out its lease; sessions may open', async () => {
    const [first, before] = await start({ stateDir: stateDir() });
    await before.create({ leaseMs: 400n });
    await first.close({ graceMs: 0 });
    expect(await saved()).toMatchObject({ clean: false, longestLeaseMs: 400 });
    const began = performance.now();
    const [second, client] = await start({ stateDir: stateDir() });
    expect(second.condition).toBe('quarantined');
    const { sessionId, error } = await client.create({ leaseMs: 400n });
    expect(error).toBeUndefined();
    const refused = await client.acquire({ sessionId });
    expect(refused.error).toMatchObject({ status: 503, code: 'SERVER_RECOVERING' });
    for (let answer = refused; answer.error !== undefined; answer = await client.acquire({ sessionId })) {
      expect(answer.error.code).toBe('SERVER_RECOVERING');
      await client.heartbeat(sessionId);
    }
    expect(performance.now() - began).toBeGreaterThanOrEqual(440);
    await until(() => log.find('quarantine_ended') !== undefined);
  });

  it('[K-115] [WK-03] after a stop that cut off nobody the next start grants at once', async () => {
    const [first, before] = await start({ stateDir: stateDir() });
    const sessionId = await before.session(300n);
    await before.acquire({ sessionId });
    const closing = first.close();
    await before.closeSession(sessionId);
    await closing;
    expect(await saved()).toMatchObject({ clean: true });
    const [second, client] = await start({ stateDir: stateDir() });
    expect(second.condition).toBe('ok');
    expect((await client.acquire({ sessionId: await client.session(300n) })).error).toBeUndefined();
  });

  it('[K-114] a stop during the quarantine leaves no clean mark', async () => {
    mkdirSync(stateDir());
    const [server] = await start({ stateDir: stateDir(), maxLeaseMs: 60_000 });
    await server.close();
    expect(await saved()).toMatchObject({ clean: false });
  });

  it('[K-086] [K-114] a server closed in its quarantine writes nothing when that would have ended', async () => {
    mkdirSync(stateDir());
    const [server] = await start({ stateDir: stateDir(), maxLeaseMs: 400 });
    await server.close();
    log.records.length = 0;
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(log.records).toEqual([]);
    expect(await saved()).toMatchObject({ restart: 1, clean: false });
  });

  it('[K-114] a key kept past its release leaves no clean mark', async () => {
    const [server] = await start({ stateDir: stateDir() });
    const store = server.openLocalStore();
    store.apply({ type: 'open-session', sessionId: 's', leaseMs: 300 });
    const ask = {
      type: 'acquire',
      sessionId: 's',
      requestId: 'r',
      key: ['k'],
      waitUntilMs: 0,
      callId: 1,
    } as const;
    const answer = store.apply(ask);
    const token = answer.type === 'granted' ? answer.grant.token : '';
    store.apply({ type: 'release', sessionId: 's', token, releaseId: 'r', keepMs: 60_000 });
    await server.close({ graceMs: 0 });
    expect(await saved()).toMatchObject({ clean: false });
  });

  it('[K-086] a later holder has a greater fence across restarts', async () => {
    const fences: bigint[] = [];
    for (let life = 0; life < 3; life++) {
      const [server, client] = await start({ stateDir: stateDir() });
      const sessionId = await client.session(300n);
      for (let grant = 0; grant < 2; grant++) {
        const { token, fence } = await client.acquire({ sessionId });
        fences.push(fence);
        await client.release({ sessionId, token });
      }
      await client.closeSession(sessionId);
      await server.close();
    }
    expect(fences.length).toBe(6);
    expect(fences.every((fence, index) => index === 0 || fence > fences[index - 1]!)).toBe(true);
    expect(fences.every((fence) => fence < 2n ** 53n)).toBe(true);
  });

  it('a lease longer than any before is durable before it is granted where there is no maximum', async () => {
    const [, client] = await start({ stateDir: stateDir(), maxLeaseMs: 0 });
    await client.create({ leaseMs: 5_000n });
    expect(await saved()).toMatchObject({ longestLeaseMs: 5_000 });
    mkdirSync(join(stateDir(), 'state.json.new'));
    expect((await client.create({ leaseMs: 6_000n })).error).toMatchObject({
      status: 503,
      code: 'STORAGE_UNAVAILABLE',
    });
    expect((await client.create({ leaseMs: 5_000n })).error).toBeUndefined();
  });

  it('on finding another owner the server grants nothing more and ends', async () => {
    const [server, client] = await start({ stateDir: stateDir(), maxLeaseMs: 30_000 });
    const [holder, waiter] = [await client.session(30_000n), await client.session(30_000n)];
    await client.acquire({ sessionId: holder });
    const waiting = client.acquire({ sessionId: waiter });
    await client.heartbeat(waiter);
    writeFileSync(join(stateDir(), 'owner'), 'somebody else');
    expect((await waiting).error).toMatchObject({ code: 'SERVER_DRAINING' });
    expect(await server.ended).toBe('state-lost');
    expect(log.find('state_lost')).toMatchObject({ level: 'fatal' });
    expect(await saved()).toMatchObject({ clean: false });
  });

  it('grants nothing while it could not look after its ownership, and goes on once it could', async () => {
    const [, client] = await start({ stateDir: stateDir(), maxLeaseMs: 30_000 });
    const sessionId = await client.session(30_000n);
    const owner = join(stateDir(), 'owner');
    const id = await (await import('node:fs/promises')).readFile(owner, 'utf8');
    makeUnreadable(owner);
    await until(() => log.find('ownership_unclear') !== undefined);
    await new Promise((resolve) => setTimeout(resolve, ownerTiming.sureMs));
    await client.heartbeat(sessionId);
    expect((await client.acquire({ sessionId, p1: 'a' })).error).toMatchObject({ code: 'SERVER_RECOVERING' });
    writeFileSync(`${owner}.next`, id);
    renameSync(`${owner}.next`, owner);
    await new Promise((resolve) => setTimeout(resolve, 3 * ownerTiming.touchEveryMs));
    await client.heartbeat(sessionId);
    expect((await client.acquire({ sessionId, p1: 'b' })).error).toBeUndefined();
  });

  it('a machine that slept past its ownership grants nothing before it has looked again', async () => {
    const clock = new SteppedClock();
    const [server] = await start({ stateDir: stateDir(), clock });
    const store = server.openLocalStore();
    store.apply({ type: 'open-session', sessionId: 's', leaseMs: 30_000 });
    const ask = {
      type: 'acquire',
      sessionId: 's',
      requestId: 'r',
      key: ['k'],
      waitUntilMs: 0,
      callId: 1,
    } as const;
    clock.wallOffsetMs = 10_000;
    expect(store.apply(ask)).toMatchObject({ type: 'refused', refusal: { why: 'recovering' } });
    clock.wallOffsetMs = 0;
    await new Promise((resolve) => setTimeout(resolve, 3 * ownerTiming.touchEveryMs));
    expect(store.apply({ ...ask, requestId: 'again' })).toMatchObject({ type: 'granted' });
  });

  it('a wall clock set back does not lengthen the ownership', async () => {
    const clock = new SteppedClock();
    const [server] = await start({ stateDir: stateDir(), clock });
    const store = server.openLocalStore();
    store.apply({ type: 'open-session', sessionId: 's', leaseMs: 30_000 });
    makeUnreadable(join(stateDir(), 'owner'));
    clock.wallOffsetMs = -60_000;
    await new Promise((resolve) => setTimeout(resolve, ownerTiming.sureMs + 20));
    const ask = {
      type: 'acquire',
      sessionId: 's',
      requestId: 'r',
      key: ['k'],
      waitUntilMs: 0,
      callId: 1,
    } as const;
    expect(store.apply(ask)).toMatchObject({ type: 'refused', refusal: { why: 'recovering' } });
  });

  it('a second server on the directory is refused while the first serves', async () => {
    await start({ stateDir: stateDir() });
    await expect(start({ stateDir: stateDir() })).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
  });

  it('a failed bind lets the directory go, as clean as it was', async () => {
    const [server] = await start();
    await expect(start({ stateDir: stateDir(), address: server.address })).rejects.toMatchObject({
      code: 'BACKEND_MISCONFIGURED',
    });
    expect((await start({ stateDir: stateDir() }))[0].condition).toBe('ok');
  });
});

describe('without a state directory', () => {
  it('outside production grants at once, and one warning says what a crash could do', async () => {
    const log = new RecordingLog();
    const server = new LockServer({ address: '127.0.0.1:0', log, production: false });
    await server.start();
    expect(server.condition).toBe('ok');
    expect(log.records.filter(({ level }) => level === 'warn').map(({ event }) => event)).toEqual([
      'no_state_directory',
    ]);
    await server.close();
  });

  it.each([
    [false, 'quarantined'],
    [true, 'ok'],
  ])('in production, with firstStart %s, it is %s at the start', async (firstStart, condition) => {
    const clock = new FakeClock();
    const options = { address: '127.0.0.1:0', production: true, firstStart, maxLeaseMs: 60_000, clock };
    const server = new LockServer(options);
    await server.start();
    expect(server.condition).toBe(condition);
    await clock.advance(66_000);
    expect(server.condition).toBe('ok');
    await server.close({ graceMs: 0 });
  });
});
