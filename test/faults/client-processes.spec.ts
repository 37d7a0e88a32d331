import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { Bench, real, until } from '../support/client-rig.js';
import { ClientProcess, type ClientProcessOptions } from '../support/client-process.js';
import { LockServerProcess } from '../support/lock-server.js';
import { NEVER, Status } from '../support/scripted-lock-server.js';

const bench = new Bench();
afterEach(() => bench.end());

async function serverProcess(
  options?: Parameters<typeof LockServerProcess.start>[0],
): Promise<LockServerProcess> {
  const server = await LockServerProcess.start(options);
  bench.after(() => server.kill());
  return server;
}

async function clientProcess(url: string, options?: ClientProcessOptions): Promise<ClientProcess> {
  const client = await ClientProcess.start(url, options);
  bench.after(() => client.child.kill());
  return client;
}

const TTL_MS = 600;

describe('a client process', () => {
  it('[B-013] that was stopped beyond its lease knows in its first turn that it holds nothing any more', async () => {
    const server = await serverProcess();
    const a = await clientProcess(server.address, { instance: { ttlMs: TTL_MS } });
    const { klock: b } = bench.rig(server.address);
    const { fence } = await a.acquire('lock', 'k');
    a.child.pause();
    const next = await b.acquire('k', { waitMs: 5_000 });
    await real(900);
    a.child.resume();
    await until(() => a.wakes.length > 0);
    expect(a.wakes[0]?.['lock']).toEqual({ held: false, remainingMs: 0, aborted: true, reason: 'LOCK_LOST' });
    await real(TTL_MS);
    expect(a.lost).toHaveLength(1);
    expect(await a.view('lock')).toMatchObject({ held: false, aborted: true });
    expect(next.fence).toBeGreaterThan(BigInt(fence));
    expect(next.held).toBe(true);
    expect(a.uncaught).toEqual([]);
    expect(await a.release('lock')).toBe('lost');
    expect(next.held).toBe(true);
  }, 20_000);

  it('[B-001] that was stopped while its key was taken and freed again does not get it back by renewing', async () => {
    const server = await serverProcess();
    const a = await clientProcess(server.address, { instance: { ttlMs: TTL_MS } });
    const { klock: b } = bench.rig(server.address);
    await a.acquire('lock', 'k');
    a.child.pause();
    await (await b.acquire('k', { waitMs: 5_000 })).release();
    a.child.resume();
    await until(() => a.lost.length > 0);
    await real(TTL_MS);
    expect(a.lost).toHaveLength(1);
    expect(await a.view('lock')).toMatchObject({ held: false, remainingMs: 0 });
    expect((await server.stats()).locks).toBe(0);
    expect((await b.tryAcquire('k'))?.held).toBe(true);
  }, 20_000);

  it('[B-014] whose event loop was blocked beyond the lease knows it in the same turn', async () => {
    const server = await serverProcess();
    const a = await clientProcess(server.address, { instance: { ttlMs: TTL_MS } });
    const { klock: b } = bench.rig(server.address);
    await a.acquire('lock', 'k');
    const taken = b.acquire('k', { waitMs: 5_000 });
    const after = await a.block('lock', 3 * TTL_MS);
    expect(after).toMatchObject({ held: false, remainingMs: 0, aborted: true });
    expect(after.thrown).toEqual({ code: 'LOCK_LOST', reason: 'expired' });
    expect((await taken).held).toBe(true);
    await real(TTL_MS);
    expect(a.lost).toHaveLength(1);
    expect(a.lost[0]).toMatchObject({ reason: 'expired' });
    expect(a.uncaught).toEqual([]);
  }, 20_000);

  it('[B-014] whose section returned after its lock was lost gets LOCK_LOST with the result attached', async () => {
    const server = await serverProcess();
    const a = await clientProcess(server.address, { instance: { ttlMs: 300 } });
    expect(await a.child.call('section', 'k', {}, 900)).toMatchObject({
      code: 'LOCK_LOST',
      reason: 'expired',
      attached: 'done',
    });
    expect(a.uncaught).toEqual([]);
  }, 20_000);

  it.each<[string, () => Status | typeof NEVER | 'gone', string]>([
    ['is Unavailable', () => new Status(status.UNAVAILABLE), 'unreachable'],
    ['is never answered', () => NEVER, 'unreachable'],
    ['says that the session is gone', () => 'gone', 'session-gone'],
  ])(
    '[B-015] survives strict handling of rejections when every renewal %s, with listeners that throw',
    async (_, answer, reason) => {
      const server = await bench.server();
      server.on('Heartbeat', () => {
        const scripted = answer();
        return scripted === 'gone' ? server.refuse('SESSION_NOT_FOUND') : scripted;
      });
      const a = await clientProcess(server.url, {
        instance: { ttlMs: 500 },
        nodeArgs: ['--unhandled-rejections=strict'],
        throwingListener: true,
      });
      await a.acquire('lock', 'k');
      await until(() => a.lost.length > 0);
      await real(700);
      expect(a.lost).toHaveLength(1);
      expect(a.lost[0]).toMatchObject({ reason });
      expect(await a.release('lock')).toBe('lost');
      expect(a.uncaught).toEqual([]);
      await a.child.call('close');
      a.child.process.stdin.end();
      expect(await a.child.ended).toEqual({ code: 0, signal: null });
    },
    20_000,
  );

  it('[K-204] [B-003] that dies without closing loses its locks when the lease ends, to its namesake too', async () => {
    const server = await serverProcess();
    const options: ClientProcessOptions = { instance: { ttlMs: TTL_MS, clientName: 'worker-1' } };
    const first = await clientProcess(server.address, options);
    const { fence } = await first.acquire('lock', 'order:2');
    await first.child.kill('SIGKILL');
    const died = performance.now();
    const heir = await clientProcess(server.address, options);
    const grant = await heir.acquire('lock', 'order:2', { waitMs: 2 * TTL_MS + 2_000 });
    const waited = performance.now() - died;
    expect(waited).toBeLessThan(TTL_MS + 1_000);
    expect(BigInt(grant.fence)).toBeGreaterThan(BigInt(fence));
    const { klock } = bench.rig(server.address);
    expect(await klock.tryAcquire('order:2')).toBeUndefined();
  }, 20_000);

  it('loses by its own clock before a server that was killed and started again grants to anybody else', async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'klock-client-'));
    bench.after(() => rmSync(stateDir, { recursive: true, force: true }));
    const settings = { stateDir, maxLeaseMs: 1_200, defaultLeaseMs: 1_200 };
    const server = await serverProcess({ ...settings, firstStart: true });
    const { klock, lost } = bench.rig(server.address, { instance: { ttlMs: 1_200 } });
    const lock = await klock.acquire('k');
    let lostAt = Infinity;
    lock.signal.addEventListener('abort', () => (lostAt = performance.now()));
    await server.kill('SIGKILL');
    await serverProcess({ ...settings, address: server.address });
    const { klock: other } = bench.rig(server.address);
    const next = await other.acquire('k', { waitMs: 10_000 });
    const grantedAt = performance.now();
    expect(lostAt).toBeLessThanOrEqual(grantedAt);
    expect(lock.held).toBe(false);
    expect(lost).toHaveLength(1);
    expect(next.fence).toBeGreaterThan(lock.fence);
    expect((await klock.acquire('mine', { waitMs: 5_000 })).held).toBe(true);
  }, 30_000);
});
