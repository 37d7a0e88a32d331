import { MAX_FENCE, isLockError } from '../../core/index.js';
import { MAX_SPAN, fenceOf } from './fence.js';

const codeOf = (revision: bigint): string | undefined => {
  try {
    fenceOf(revision);
    return undefined;
  } catch (error) {
    return isLockError(error) ? error.code : 'other';
  }
};

describe('a fence', () => {
  it('[B-004] [D-53] is the revision times 1,024, so that the whole span of a grant lies below the next revision', () => {
    expect(fenceOf(1n)).toBe(1_024n);
    expect(fenceOf(7n) + BigInt(MAX_SPAN) - 1n).toBeLessThan(fenceOf(8n));
  });

  it('is refused for no revision, and where its span would not fit into 63 bits', () => {
    const last = MAX_FENCE / 1_024n - 1n;
    expect([codeOf(0n), codeOf(last), codeOf(last + 2n)]).toEqual([
      'BACKEND_STATE',
      undefined,
      'BACKEND_STATE',
    ]);
  });
});
