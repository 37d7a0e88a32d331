import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WireClient } from '../../lib/server/server.spec-support.js';
import { LockServerProcess } from '../support/lock-server.js';

const LEASE_MS = 2_000;

describe('a lock server whose process ends', () => {
  let folder: string;
  const processes = new Set<LockServerProcess>();
  const clients = new Set<WireClient>();

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'klock-faults-'))));
  afterEach(async () => {
    for (const client of clients) client.close();
    for (const one of processes) await one.kill();
    processes.clear();
    clients.clear();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = async (): Promise<readonly [LockServerProcess, WireClient]> => {
    const one = await LockServerProcess.start({
      stateDir: join(folder, 'state'),
      maxLeaseMs: LEASE_MS,
      defaultLeaseMs: LEASE_MS,
      drainMs: 3_000,
    });
    processes.add(one);
    const client = new WireClient(one.address);
    clients.add(client);
    return [one, client];
  };
  const saved = () =>
    JSON.parse(readFileSync(join(folder, 'state/state.json'), 'utf8')) as { clean: boolean };

  it('[K-086] [K-114] [WK-03] killed inside a lease and started again, grants nothing until that lease is over, then a greater fence', async () => {
    const [first, before] = await start();
    const holder = await before.session(BigInt(LEASE_MS));
    const lock = await before.acquire({ sessionId: holder });
    const renewedAt = performance.now();
    await before.heartbeat(holder);
    await first.kill();
    const [second, client] = await start();
    expect(second.facts.serverId).not.toBe(first.facts.serverId);
    expect((await client.heartbeat(holder)).error).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    const sessionId = await client.session(BigInt(LEASE_MS));
    let recovering = 0;
    let answer = await client.acquire({ sessionId });
    for (; answer.error !== undefined; answer = await client.acquire({ sessionId })) {
      expect(answer.error).toMatchObject({ status: 503, code: 'SERVER_RECOVERING' });
      recovering += 1;
      await client.heartbeat(sessionId);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(recovering).toBeGreaterThan(0);
    expect(performance.now() - renewedAt).toBeGreaterThanOrEqual(LEASE_MS);
    expect(answer.fence > lock.fence).toBe(true);
  }, 40_000);

  it('[K-113] [K-115] SIGTERM drains: clients are told, the lock stays theirs until they let go, then the next start grants at once', async () => {
    const [first, before] = await start();
    const holder = await before.session(BigInt(LEASE_MS));
    const lock = await before.acquire({ sessionId: holder });
    const watched = before.watch({ sessionId: holder });
    await watched.event();
    const ended = first.kill('SIGTERM');
    expect((await watched.event(1)).message).toContain('server_restarting');
    expect((await before.release({ sessionId: holder, token: lock.token })).ok).toBe(true);
    expect((await before.closeSession(holder)).closed).toBe(true);
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(saved()).toMatchObject({ clean: true });
    expect(existsSync(join(folder, 'state/owner'))).toBe(false);
    const [, client] = await start();
    const next = await client.acquire({ sessionId: await client.session() });
    expect(next.error).toBeUndefined();
    expect(next.fence > lock.fence).toBe(true);
  }, 20_000);

  it('[K-113] SIGINT with a client that neither closes nor renews ends when its lease is over, still clean', async () => {
    const [first, before] = await start();
    await before.session(BigInt(LEASE_MS));
    const began = performance.now();
    expect(await first.kill('SIGINT')).toEqual({ code: 0, signal: null });
    const took = performance.now() - began;
    expect(took).toBeGreaterThan(LEASE_MS / 2);
    expect(took).toBeLessThan(LEASE_MS + 2_000);
    expect(saved()).toMatchObject({ clean: true });
  }, 20_000);

  it('[K-113] a watch that never names its session and a waiter do not hold up the stop', async () => {
    const [first, before] = await start();
    const [holder, waiter] = [await before.session(300n), await before.session(300n)];
    await before.acquire({ sessionId: holder });
    before.watch();
    const waiting = before.acquire({ sessionId: waiter });
    await before.heartbeat(waiter);
    const began = performance.now();
    const ended = first.kill('SIGTERM');
    expect((await waiting).error).toMatchObject({ code: 'SERVER_DRAINING' });
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(performance.now() - began).toBeLessThan(5_000);
  }, 20_000);

  it('[K-113] a second signal ends the process at once', async () => {
    const [first, before] = await start();
    await before.session(BigInt(LEASE_MS));
    const ended = first.kill('SIGTERM');
    await first.child.event('log', (record) => (record as { event: string }).event === 'server_draining');
    const began = performance.now();
    expect(await first.kill('SIGTERM')).toEqual({ code: 1, signal: null });
    expect(performance.now() - began).toBeLessThan(1_000);
    await ended;
    expect(saved()).toMatchObject({ clean: false });
  }, 20_000);

  it('a second process on the directory of a living one is refused; after SIGSTOP of the owner too, while it is fresh', async () => {
    const [first] = await start();
    await expect(start()).rejects.toThrow(/in use by another server/);
    first.child.pause();
    await expect(start()).rejects.toThrow(/in use by another server/);
    first.child.resume();
    expect((await first.stats()).sessions).toBe(0);
  }, 30_000);
});
