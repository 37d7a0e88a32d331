import { createKlock, type KlockInstance } from 'klock/core';
import { klockDriver } from 'klock/client';
import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';
import { LockServerProcess } from '../support/lock-server.js';

const LEASE_MS = 2_000;

describe('the lock of a process that ends badly, which asked for 3 h of a server whose longest lease is 2 s', () => {
  let server: LockServerProcess;
  let klock: KlockInstance;
  const holders = new Map<string, Child>();

  beforeAll(async () => {
    server = await LockServerProcess.start({ maxLeaseMs: LEASE_MS, defaultLeaseMs: LEASE_MS });
    klock = createKlock({ driver: klockDriver({ url: `klock://${server.address}` }), waitMs: 20_000 });
    const start = async (key: string): Promise<void> => {
      const hooks = key === 'paused' ? 'hooks' : 'plain';
      const args = [`klock://${server.address}`, hooks, key];
      const holder = await startCompiled('test/e2e/nest-crash.child.ts', { args });
      holders.set(key, holder);
      await holder.event('holds');
    };
    await Promise.all(['SIGKILL', 'SIGTERM', 'crash', 'exit', 'paused', 'close'].map(start));
    // Longer than the lease: what is held now is held only because it is renewed.
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS + 300));
  }, 90_000);
  afterAll(async () => {
    await Promise.all([...holders.values()].map((holder) => holder.kill()));
    await klock.close();
    await server.kill();
  });

  /** How long after its holder's end somebody else holds the key. */
  const untilFree = async (key: string, end: (holder: Child) => unknown): Promise<number> => {
    expect(await klock.isLocked(key)).toBe(true);
    const waiting = klock.acquire(key);
    const from = performance.now();
    void end(holders.get(key)!);
    const lock = await waiting;
    const tookMs = performance.now() - from;
    await lock.release();
    return tookMs;
  };
  const ask = (holder: Child, what: string): void => void holder.call(what).catch(() => undefined);

  it.each<[string, string, (holder: Child) => unknown]>([
    ['killed (kill -9)', 'SIGKILL', (holder) => holder.kill('SIGKILL')],
    ['told to stop, without shutdown hooks,', 'SIGTERM', (holder) => holder.kill('SIGTERM')],
    ['that crashed', 'crash', (holder) => ask(holder, 'crash')],
    ['left by process.exit(0) without close', 'exit', (holder) => ask(holder, 'exit')],
  ])('[B-081] %s is free within lease + 1 s, however long the job was to be', async (_, key, end) => {
    expect(await untilFree(key, end)).toBeLessThan(LEASE_MS + 1_000);
  });

  it('[B-081] stopped behind a parent that does not forward SIGTERM and is killed with it is free within lease + 1 s', async () => {
    // What a container does after its grace: nobody told the process, then everything in it is killed.
    const stop = (holder: Child): unknown => {
      holder.pause();
      return holder.kill('SIGKILL');
    };
    expect(await untilFree('paused', stop)).toBeLessThan(LEASE_MS + 1_000);
  });

  it('[B-081] closed in good order is free in less than a second', async () => {
    expect(await untilFree('close', (holder) => ask(holder, 'close'))).toBeLessThan(1_000);
  });
});
