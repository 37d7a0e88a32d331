import type { LockKey } from '../../core/index.js';
import { SeededRandom } from './seeded-random.js';

/** What a task does beyond taking, holding and giving back. */
export interface TaskExtras {
  /** Taken as a section: `withLock`, or with `atLeastMs` what `@Locked` is made of. */
  readonly section?: true;
  /** Sections only: the key stays taken for this long after the grant. */
  readonly atLeastMs?: number;
  readonly renew?: false;
  readonly localTtlMs?: number;
  readonly maxHoldMs?: number;
  /** Extended in the middle of the hold; with a number that becomes the lease. */
  readonly extend?: true | number;
  /** Taken again while held, counted: the same key or, under an L1, one below it. */
  readonly again?: LockKey;
  /** The one taken again is given back after the one it was taken under. */
  readonly againLast?: true;
  /** An operator ends it in the middle of the hold; it is held on to until its client has heard of that. */
  readonly revoke?: true;
  /** Not drawn. A key of the other tree, asked for while this one is held: two who do that crosswise wait for each other. */
  readonly also?: LockKey;
}

type Drawn = { readonly key: LockKey; readonly ttlMs: number; readonly atMs: number };

/** Draws them, each kind for some runs only. A stream of its own: what else a seed stands for stays as it is. */
export function extrasFor(seed: number): (task: Drawn) => TaskExtras {
  const random = new SeededRandom(seed + 0xe47a5);
  if (random.chance(0.25)) return () => ({});
  const rate = (): number => (random.chance(0.6) ? random.between(0, 0.4) : 0);
  const rates = {
    section: rate(),
    atLeast: rate(),
    noRenew: rate(),
    local: rate(),
    maxHold: rate(),
    extend: rate(),
    again: rate(),
  };
  const leases = (ttlMs: number, low: number, high: number): number =>
    Math.ceil(random.between(low, high) * ttlMs);
  return ({ key, ttlMs }) => {
    const atLeast = random.chance(rates.atLeast);
    const extend = random.chance(0.5) ? true : leases(ttlMs, 0.5, 1.5);
    const below: LockKey = key.length === 1 && random.chance(0.6) ? [key[0], random.pick(['a', 'b'])] : key;
    return {
      ...((atLeast || random.chance(rates.section)) && { section: true }),
      ...(atLeast && { atLeastMs: leases(ttlMs, 0.1, 1.2) }),
      ...(random.chance(rates.noRenew) && { renew: false }),
      // A lease less its margin is the most that may be asked for.
      ...(random.chance(rates.local) && { localTtlMs: leases(ttlMs, 0.1, 0.8) }),
      ...(random.chance(rates.maxHold) && { maxHoldMs: leases(ttlMs, 0.05, 0.8) }),
      ...(random.chance(rates.extend) && { extend }),
      ...(random.chance(rates.again) && { again: below, ...(random.chance(0.3) && { againLast: true }) }),
    };
  };
}

/** Whether a task's lock is ended by an operator, in some runs. A stream of its own, as above. */
export function revokedIn(seed: number): () => TaskExtras {
  const random = new SeededRandom(seed + 0x4e70c);
  const rate = random.chance(0.35) ? random.between(0, 0.3) : 0;
  return () => (random.chance(rate) ? { revoke: true } : {});
}

/** One client asks for one key, and now and then for the whole of it, many times at once: what is passed on inside it. */
export interface Burst {
  readonly client: number;
  readonly atMs: number;
  readonly key: LockKey;
  readonly holdMs: number;
}

/** Bursts of some runs. */
export function burstsFor(seed: number, clients: number, untilMs: number): Burst[] {
  const random = new SeededRandom(seed + 0xb0457);
  if (random.chance(0.5)) return [];
  const bursts: Burst[] = [];
  for (let left = random.whole(1, 6); left > 0; left--) {
    const [client, atMs] = [random.whole(0, clients - 1), random.between(0, untilMs)];
    const [l1, l2] = [random.pick(['t1', 't2']), random.pick(['a', 'b'])];
    for (let size = random.whole(3, 10); size > 0; size--) {
      const key: LockKey = random.chance(0.1) ? [l1] : [l1, l2];
      bursts.push({ client, atMs: atMs + random.between(0, 5), key, holdMs: random.between(0, 3) });
    }
  }
  return bursts;
}
