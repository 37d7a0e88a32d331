import { GrantDigest } from './reconciliation.js';

/** SplitMix64's finalizer as it is written down, in bigints. */
function reference(fence: bigint): bigint {
  const u64 = (value: bigint): bigint => BigInt.asUintN(64, value);
  let z = u64(fence);
  z = u64((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = u64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

it('mixes fences as SplitMix64 does, on both sides of 2^32, 2^53 and up to 2^64', () => {
  let fence = 1n;
  for (let round = 0; round < 5_000; round++) {
    fence = BigInt.asUintN(64, fence * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n);
    const value = fence >> BigInt(round % 64);
    const digest = new GrantDigest();
    digest.add(value);
    expect(digest.sum).toBe(reference(value));
  }
});

it('what is added and removed in any order leaves nothing, and different grants differ', () => {
  const digest = new GrantDigest();
  const fences = Array.from({ length: 500 }, (_, index) => 1_790_000_000_000_000n + BigInt(index));
  for (const fence of fences) digest.add(fence);
  const sum = fences.reduce((total, fence) => BigInt.asUintN(64, total + reference(fence)), 0n);
  expect([digest.count, digest.sum]).toEqual([500, sum]);
  expect(digest.equals(500, sum)).toBe(true);
  expect(digest.equals(500, sum + 1n)).toBe(false);
  for (const fence of fences.reverse()) digest.remove(fence);
  expect([digest.count, digest.sum]).toEqual([0, 0n]);
});
