import {
  fenceProofOf,
  heldInFlow,
  optionError,
  type FenceProof,
  type Klock,
  type LockHandle,
} from '../core/index.js';
import { checkProof } from './fence-store.js';

/** Where a fence is taken from: a handle, or the proof a request was accepted with. */
export type FenceSource = LockHandle | FenceProof;

/**
 * The proof to write with, read now.
 * @throws LockLostError, LockNotHeldError for a handle that is not held any more; InvalidOptionError for what is neither.
 */
export function proofOf(source: FenceSource): FenceProof {
  const proof = fenceProofOf(source);
  if (proof === undefined) return checkProof(source as FenceProof);
  (source as LockHandle).assertHeld();
  return proof;
}

/**
 * The proofs of all locks the running flow holds through the store of this instance, innermost first; none outside of
 * `withLock` and decorated methods.
 */
export function proofsInFlow(klock: Klock): readonly FenceProof[] {
  const { store } = klock as Partial<{ store: unknown }>;
  if (typeof store !== 'string') throw optionError('klock', 'an instance made by klock', klock);
  return heldInFlow(store).map(proofOf);
}
