import { isLockError, MAX_FENCE } from '../core/index.js';
import { FenceSequence } from './fence-sequence.js';

const sequence = (lastFence: bigint, reservedFence: bigint, fenceBlock = 10n): FenceSequence =>
  new FenceSequence({ lastFence, reservedFence, fenceBlock });

describe('FenceSequence', () => {
  it('[K-085] [B-004] begins at 1 and rises by at least one with each fence', () => {
    const fences = sequence(0n, 100n);
    expect([fences.take(), fences.take(), fences.take()]).toEqual([1n, 2n, 3n]);
  });

  it('[B-012] counts exactly beyond 2^53', () => {
    const fences = sequence(9_007_199_254_740_993n, MAX_FENCE);
    expect(fences.take()).toBe(9_007_199_254_740_994n);
  });

  it('[K-086] gives out nothing that is not reserved', () => {
    const fences = sequence(5n, 6n);
    expect([fences.take(), fences.take(), fences.dry]).toEqual([6n, undefined, true]);
    fences.reserve(7n);
    expect([fences.take(), fences.take()]).toEqual([7n, undefined]);
  });

  it('asks for a block at half a block, once, and again when that one is half used', () => {
    const fences = sequence(0n, 10n);
    const asked: (bigint | undefined)[] = [];
    for (let i = 0; i < 7; i++) {
      fences.take();
      asked.push(fences.ask());
    }
    expect(asked).toEqual([undefined, undefined, undefined, undefined, 20n, undefined, undefined]);
    fences.reserve(20n);
    for (let i = 0; i < 7; i++) fences.take();
    expect(fences.ask()).toBeUndefined();
    fences.take();
    expect(fences.ask()).toBe(30n);
  });

  it('asks before the first fence when nothing is reserved, from the larger of the two marks', () => {
    expect(sequence(0n, 0n).ask()).toBe(10n);
    expect(sequence(50n, 20n).ask()).toBe(60n);
  });

  it('is not set back by a smaller reservation', () => {
    const fences = sequence(0n, 10n);
    fences.reserve(3n);
    expect(fences.reservedFence).toBe(10n);
  });

  it('[B-012] ends at the largest fence instead of wrapping, and asks for nothing beyond', () => {
    const fences = sequence(MAX_FENCE - 1n, MAX_FENCE - 1n);
    expect(fences.ask()).toBe(MAX_FENCE);
    fences.reserve(MAX_FENCE + 100n);
    expect([fences.take(), fences.take(), fences.exhausted, fences.ask()]).toEqual([
      MAX_FENCE,
      undefined,
      true,
      undefined,
    ]);
  });

  it.each([
    ['lastFence', { lastFence: -1n }],
    ['lastFence', { lastFence: MAX_FENCE + 1n }],
    ['reservedFence', { reservedFence: 5 as unknown as bigint }],
    ['fenceBlock', { fenceBlock: 0n }],
  ])('refuses a wrong %s by name', (option, wrong) => {
    const make = () => new FenceSequence({ lastFence: 0n, reservedFence: 0n, fenceBlock: 1n, ...wrong });
    expect(make).toThrow(new RegExp(`^${option} must be`));
    try {
      make();
    } catch (error) {
      expect(isLockError(error, 'INVALID_OPTION')).toBe(true);
    }
  });
});
