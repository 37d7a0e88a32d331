import { fenceProofOf, type FenceProof } from '../core/index.js';
import { FENCE_HEADER, MAX_FENCE_HEADER_LENGTH, formatFenceHeader } from '../fencing/index.js';
import type { GrantedLock } from './lock-slot.js';

export { FENCE_HEADER };

/** Room for the commas between entries. */
const SEPARATOR_LENGTH = 2;

/**
 * The locks of a request as `Klock-Fence` of its response, with the keys of their grants. What does not fit is left out from
 * the end: a response must not fail over it.
 */
export function fenceHeader(granted: readonly GrantedLock[]): string {
  let room = MAX_FENCE_HEADER_LENGTH;
  const entries = granted.map((lock) => formatFenceHeader([proofOfGrant(lock)]));
  return entries.filter((entry) => (room -= entry.length + SEPARATOR_LENGTH) >= 0).join(', ');
}

function proofOfGrant({ lock, store }: GrantedLock): FenceProof {
  return fenceProofOf(lock) ?? { fence: lock.fence, key: lock.key, store };
}
