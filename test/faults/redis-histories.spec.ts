import { isLockError, keysConflict, type LockHandle, type LockKey } from '../../lib/core/index.js';
import { RedisBed, pause } from '../support/redis-bed.js';
import { scaleNote, scaled } from '../support/scale.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** Many clients, two levels, a bad network: nobody holds beside a conflicting holder, and fences follow the order of grants. */

const TTL = 400;
let bed: RedisBed;
let proxy: TcpProxy;
beforeAll(async () => {
  bed = await RedisBed.start();
  proxy = await TcpProxy.start({ target: { port: bed.server.port } });
}, 30_000);
afterAll(async () => {
  await bed.closeClients();
  await proxy.stop();
  await bed.stop();
});

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

/** Grants as they were read, checked against all others as they come. */
class Ledger {
  grants = 0;
  readonly problems: string[] = [];
  private readonly holding = new Set<{ key: LockKey; lock: LockHandle }>();
  private readonly fences: { key: LockKey; fence: bigint }[] = [];

  granted(key: LockKey, lock: LockHandle): { key: LockKey; lock: LockHandle } {
    this.grants++;
    for (const other of this.holding) {
      if (keysConflict(other.key, key) && other.lock.held && lock.held)
        this.problems.push(`${key.join('/')} granted while ${other.key.join('/')} is held`);
    }
    for (const before of this.fences) {
      if (keysConflict(before.key, key) && before.fence >= lock.fence)
        this.problems.push(`fence of ${key.join('/')} did not rise`);
    }
    this.fences.push({ key, fence: lock.fence });
    const entry = { key, lock };
    this.holding.add(entry);
    return entry;
  }

  over(entry: { key: LockKey; lock: LockHandle }): void {
    this.holding.delete(entry);
  }
}

it.each([true, false])(
  `[I1] [I2] [I3] [I7] twelve clients under resets, silences, flushes of scripts and cut subscriptions, hand-over %s${scaleNote(10)}`,
  async (handover) => {
    const seed = Date.now() % 1_000_000;
    console.log(`seed ${seed}`);
    const random = generator(seed);
    const clients = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        bed.open({ ttlMs: TTL, handover, port: at % 2 === 0 ? bed.server.port : proxy.port }),
      ),
    );
    const ledger = new Ledger();
    const endMs = performance.now() + scaled(30_000, 10);
    const codes = new Set<string>();
    const tree = `h${handover}`;
    const work = async (at: number): Promise<void> => {
      while (performance.now() < endMs) {
        const l2 = random(4);
        const key: LockKey = l2 === 0 ? [tree] : [tree, `x${l2}`];
        try {
          const lock = await clients[at % clients.length]!.acquire(key, { waitMs: 200 + random(2_000) });
          const entry = ledger.granted(key, lock);
          if (random(2) === 0) await pause(random(10));
          ledger.over(entry);
          void lock.release();
        } catch (error) {
          codes.add(isLockError(error) ? error.code : String(error));
        }
      }
    };
    const trouble = async (): Promise<void> => {
      while (performance.now() < endMs - 700) {
        await pause(60 + random(120));
        switch (random(4)) {
          case 0:
            proxy.reset();
            break;
          case 1:
            proxy.silence(random(2) === 0 ? 'down' : 'both', { lost: random(2) === 0 });
            await pause(random(300));
            proxy.heal();
            break;
          case 2:
            await bed.admin.script('FLUSH');
            break;
          default:
            await bed.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        }
      }
    };
    await Promise.all([trouble(), ...Array.from({ length: 24 }, (_, at) => work(at))]);
    expect(ledger.problems).toEqual([]);
    expect(ledger.grants).toBeGreaterThan(100);
    expect(
      [...codes].filter((code) => !['LOCK_TIMEOUT', 'LOCK_UNAVAILABLE', 'LOCK_LOST'].includes(code)),
    ).toEqual([]);
    // Once the trouble is over everything is free again within a lease and a check.
    await Promise.all(
      clients
        .slice(0, 6)
        .map((klock) => klock.acquire([tree], { waitMs: 10_000 }).then((lock) => lock.release())),
    );
    await bed.closeClients();
    await pause(TTL);
    const left = (await bed.admin.keys(`lock:{${tree}}*`)).filter((name) => !/:(fence|gone)$/.test(name));
    expect(left).toEqual([]);
  },
  90_000,
);
