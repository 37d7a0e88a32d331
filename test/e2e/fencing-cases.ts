import { isLockError, type LockKey, type StaleFenceError } from 'klock/core';
import type { FenceProof, FenceStore, FenceStoreOptions } from 'klock/fencing';
import { chosenSeed } from '../support/seed.js';

export const STORE = 'klock:lock-1:8080';

export function proof(fence: bigint, l1: string, l2?: string, store = STORE): FenceProof {
  return { fence, key: l2 === undefined ? [l1] : [l1, l2], store };
}

/** `accepted`, or the code it was refused with. */
export async function verdict(store: FenceStore, write: FenceProof): Promise<string> {
  try {
    await store.accept(write);
    return 'accepted';
  } catch (error) {
    return isLockError(error) ? error.code : String(error);
  }
}

/** The rule itself, from all writes accepted so far: no conflicting one has a larger fence. */
export class Oracle {
  private readonly accepted: FenceProof[] = [];

  allows({ fence, key }: FenceProof): boolean {
    return this.accepted.every((write) => !conflict(write.key, key) || write.fence <= fence);
  }

  note(write: FenceProof): void {
    this.accepted.push(write);
  }
}

/** The same L1, unless both are L2 and different. */
function conflict(a: LockKey, b: LockKey): boolean {
  return a[0] === b[0] && (a.length === 1 || b.length === 1 || a[1] === b[1]);
}

/** A small generator of its own, so that a seed means the same everywhere. */
export function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export const seed = chosenSeed(1_000_000);

/** Writes under few keys with fences that often fall back, around 2^53 where numbers begin to round. */
export function randomWrite(
  next: (below: number) => number,
  trees: number,
  leaves: number,
  base = 2n ** 53n,
): FenceProof {
  const l1 = `t${next(trees)}`;
  const key: LockKey = next(4) === 0 ? [l1] : [l1, `r${next(leaves)}`];
  return { fence: base + BigInt(next(40)), key, store: STORE };
}

/** What every fence store owes. `make` gives a store over marks of its own unless it names a space used before. */
export function fenceStoreCases(make: (space: string, options?: FenceStoreOptions) => FenceStore): void {
  let count = 0;
  const space = (): string => `s${count++}`;

  it('[I4] refuses a fence below one that was seen for the same key, and accepts an equal one: it is the same grant', async () => {
    const store = make(space());
    expect(await verdict(store, proof(10n, 'order', 'a'))).toBe('accepted');
    expect(await verdict(store, proof(9n, 'order', 'a'))).toBe('STALE_FENCE');
    expect(await verdict(store, proof(10n, 'order', 'a'))).toBe('accepted');
    expect(await verdict(store, proof(11n, 'order', 'a'))).toBe('accepted');
    expect(await verdict(store, proof(10n, 'order', 'a'))).toBe('STALE_FENCE');
  });

  it('[I4] refuses an L2 write below a newer L1 write, and an L1 write below any newer L2 write', async () => {
    const store = make(space());
    await store.accept(proof(10n, 'tenant'));
    expect(await verdict(store, proof(9n, 'tenant', 'a'))).toBe('STALE_FENCE');
    await store.accept(proof(20n, 'tenant', 'a'));
    await store.accept(proof(12n, 'tenant', 'b'));
    expect(await verdict(store, proof(15n, 'tenant'))).toBe('STALE_FENCE');
    expect(await verdict(store, proof(20n, 'tenant'))).toBe('accepted');
  });

  it('lets writes under different L2 pass in any order: their grants exist side by side', async () => {
    const store = make(space());
    await store.accept(proof(20n, 'tenant', 'a'));
    expect(await verdict(store, proof(10n, 'tenant', 'b'))).toBe('accepted');
    expect(await verdict(store, proof(11n, 'other'))).toBe('accepted');
  });

  it('a refused write raises no mark', async () => {
    const store = make(space());
    await store.accept(proof(10n, 'tenant', 'a'));
    await store.accept(proof(30n, 'tenant', 'b'));
    expect(await verdict(store, proof(20n, 'tenant'))).toBe('STALE_FENCE');
    expect(await verdict(store, proof(11n, 'tenant', 'c'))).toBe('accepted');
    expect(await verdict(store, proof(5n, 'tenant', 'a'))).toBe('STALE_FENCE');
    expect(await verdict(store, proof(12n, 'tenant', 'a'))).toBe('accepted');
  });

  it('[B-012] [K-027] compares exactly above 2^53, up to 2^63 - 1, and across numbers of digits', async () => {
    const store = make(space());
    const large = 2n ** 53n + 1n;
    await store.accept(proof(999n, 'k'));
    expect(await verdict(store, proof(1_000n, 'k'))).toBe('accepted');
    await store.accept(proof(large, 'k'));
    expect(await verdict(store, proof(large - 1n, 'k'))).toBe('STALE_FENCE');
    await store.accept(proof(2n ** 63n - 1n, 'k'));
    expect(await verdict(store, proof(2n ** 63n - 2n, 'k'))).toBe('STALE_FENCE');
    expect(await verdict(store, proof(2n ** 63n, 'k'))).toBe('INVALID_OPTION');
    expect(await verdict(store, { ...proof(1n, 'k'), fence: 5 as never })).toBe('INVALID_OPTION');
  });

  it('the error carries the fence, the key and the mark that refused', async () => {
    const store = make(space());
    await store.accept(proof(10n, 'k', 'a'));
    const error = await store.accept(proof(9n, 'k', 'a')).catch((refused: StaleFenceError) => refused);
    expect(error).toMatchObject({
      code: 'STALE_FENCE',
      fence: 9n,
      seen: 10n,
      key: ['k', 'a'],
      retryable: false,
    });
  });

  it('refuses the fence of another lock store: numbers of two stores mean nothing to each other', async () => {
    const store = make(space());
    await store.accept(proof(10n, 'k'));
    const error = await store
      .accept(proof(99n, 'k', undefined, 'redis:b'))
      .catch((refused: Error) => refused);
    expect(error).toMatchObject({ code: 'STALE_FENCE', fence: 99n });
    expect((error as Error).message).toContain('redis:b');
    expect(await verdict(store, proof(10n, 'k'))).toBe('accepted');
  });

  it('with names given takes exactly these stores, as one', async () => {
    const store = make(space(), { stores: ['klock:a', 'klock:b'] });
    expect(await verdict(store, proof(1n, 'k', undefined, 'klock:c'))).toBe('STALE_FENCE');
    expect(await verdict(store, proof(5n, 'k', undefined, 'klock:b'))).toBe('accepted');
    expect(await verdict(store, proof(6n, 'k', undefined, 'klock:a'))).toBe('accepted');
    expect(await verdict(store, proof(5n, 'k', undefined, 'klock:b'))).toBe('STALE_FENCE');
  });

  it('keeps keys apart that look alike: separators, escapes, case, other alphabets, one level and two', async () => {
    const store = make(space());
    const keys: LockKey[] = [
      ['a/b'],
      ['a', 'b'],
      ['a%2Fb'],
      ['A', 'b'],
      ['a', 'b '],
      ['ä', 'b'],
      ['a\u0308', 'b'],
      ['{a}', 'b'],
      ['a\0', 'b'],
      [`${'x'.repeat(500)}1`, '\u{1f512}'.repeat(100)],
      [`${'x'.repeat(500)}2`, '\u{1f512}'.repeat(100)],
    ];
    let fence = 100n;
    // Falling fences: each is stale if its key is mistaken for an earlier one's.
    for (const key of keys) await store.accept({ fence: (fence -= 1n), key, store: STORE });
    for (const key of keys)
      expect(await verdict(store, { fence: 1n, key, store: STORE })).toBe('STALE_FENCE');
  });

  it(`[I4] agrees with the list of all accepted writes on random ones (seed ${seed})`, async () => {
    const next = random(seed);
    const oracle = new Oracle();
    const store = make(space());
    for (let step = 0; step < 300; step++) {
      // Slowly rising, or all would soon be refused.
      const write = randomWrite(next, 2, 3, 2n ** 53n + BigInt(step >> 1));
      const allowed = oracle.allows(write);
      expect([step, await verdict(store, write)]).toEqual([step, allowed ? 'accepted' : 'STALE_FENCE']);
      if (allowed) oracle.note(write);
    }
  });
}
