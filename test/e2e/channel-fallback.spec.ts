import { jest } from '@jest/globals';
import { createKlock, type KlockInstance } from '../../lib/core/index.js';
import { ChannelOpener } from '../../lib/client/channel-opener.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { LockServer, type ServerLog } from '../../lib/server/index.js';
import { real, until } from '../support/client-rig.js';
import { freePort } from '../support/free-ports.js';
import { ScriptedLockServer } from '../support/scripted-lock-server.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const end of ends.splice(0).reverse()) await end();
});

/** One address, at which one server after the other answers. */
class Address {
  /** Names of the six calls the present server has answered. */
  readonly unary: string[] = [];
  private stop: (() => Promise<unknown>) | undefined;

  constructor(readonly port: number) {
    ends.push(() => this.leave());
  }

  async leave(): Promise<void> {
    await this.stop?.();
    this.stop = undefined;
  }

  async channels(): Promise<LockServer> {
    await this.leave();
    this.unary.length = 0;
    const log: ServerLog = {
      enabled: () => true,
      write: (_, event, facts) => {
        if (event === 'grpc_unary_call') this.unary.push(String(facts?.['method']).split('/').at(-1) ?? '');
      },
    };
    const server = new LockServer({ address: `127.0.0.1:${this.port}`, rateLimit: false, log });
    await server.start();
    this.stop = () => server.close({ graceMs: 0 });
    return server;
  }

  async sixCalls(serverId: string): Promise<ScriptedLockServer> {
    await this.leave();
    const server = await ScriptedLockServer.start({ port: this.port, serverId });
    this.stop = () => server.stop();
    return server;
  }
}

function client(port: number): { klock: KlockInstance; lost: string[] } {
  const klock = createKlock({
    ttlMs: 3_000,
    renewEveryMs: 200,
    driver: klockDriver({ url: `klock://127.0.0.1:${port}` }),
  });
  const lost: string[] = [];
  klock.on('lock.lost', ({ reason }) => lost.push(reason));
  ends.push(() => klock.close({ graceMs: 1 }));
  return { klock, lost };
}

/** Takes and gives back until it works: while a server is replaced an acquire may meet nobody. */
async function works(klock: KlockInstance, key: string): Promise<void> {
  const endMs = performance.now() + 15_000;
  for (;;) {
    try {
      await (await klock.acquire(key, { waitMs: 5_000 })).release();
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await real(20);
    }
  }
}

it('[K-141] [K-167] a client lives through servers with and without channels at one address: locks work with each, and each is asked once whether it knows channels', async () => {
  const address = new Address(await freePort());
  const asked = jest.spyOn(ChannelOpener.prototype, 'open');
  await address.channels();
  const { klock, lost } = client(address.port);
  const onFirst = await klock.acquire('held');
  expect([address.unary, asked.mock.calls.length]).toEqual([[], 1]);

  const old = await address.sixCalls('srv_old');
  await works(klock, 'k');
  await until(() => !onFirst.held && lost.length === 1);
  const attempts = asked.mock.calls.length;
  const onOld = await klock.acquire('held');
  for (const key of ['a', 'b', 'c']) await works(klock, key);
  expect(asked.mock.calls).toHaveLength(attempts);
  expect(old.seen('Acquire').length).toBeGreaterThanOrEqual(4);

  // Another process of the same kind: it may be a newer one, so it is asked, once.
  const older = await address.sixCalls('srv_older');
  await until(() => !onOld.held && lost.length === 2);
  await works(klock, 'k');
  const again = asked.mock.calls.length;
  const onOlder = await klock.acquire('held');
  for (const key of ['a', 'b', 'c']) await works(klock, key);
  expect(again - attempts).toBeLessThanOrEqual(1);
  expect(asked.mock.calls).toHaveLength(again);
  expect(older.seen('Acquire').length).toBeGreaterThanOrEqual(4);

  const server = await address.channels();
  await until(() => !onOlder.held && lost.length === 3);
  await works(klock, 'k');
  // From the next session on, at the latest, the channel is spoken.
  await works(klock, 'k');
  address.unary.length = 0;
  const onLast = await klock.acquire('held');
  for (const key of ['a', 'b', 'c']) await works(klock, key);
  await real(500);
  // A session of the six, opened before it was known who answers, may still be renewed, and given up as idle.
  const ofOldSession = ['Heartbeat', 'CloseSession'];
  expect(address.unary.filter((name) => !ofOldSession.includes(name))).toEqual([]);
  expect([onLast.held, server.stats.locks]).toEqual([true, 1]);
  expect(lost).toHaveLength(3);
}, 60_000);

it('[I1] what was held on the server before is never believed beside a lock of the one after it', async () => {
  const address = new Address(await freePort());
  await address.channels();
  const [{ klock: first }, { klock: second }] = [client(address.port), client(address.port)];
  for (const phase of ['six', 'channel', 'six'] as const) {
    await works(first, 'warm');
    const held = await first.acquire('k', { waitMs: 5_000 });
    if (phase === 'six') await address.sixCalls(`srv_${Math.random()}`);
    else await address.channels();
    // A first start without state: the operator says that exclusion is by the lease alone, so the new one is asked after it.
    await until(() => !held.held, 10_000);
    await works(second, 'k');
    expect(held.held).toBe(false);
  }
}, 60_000);
