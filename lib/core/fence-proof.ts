import { currentFrame } from './flow.js';
import type { LockHandle } from './lock-handle.js';
import type { LockKey } from './lock-key.js';

/** What a resource is shown with a write: under which grant of which store it is made. */
export interface FenceProof {
  readonly fence: bigint;
  /** The key of the grant, with namespace and prefix: what a counted L2 under an L1 grant writes, it writes as L1 (design D6). */
  readonly key: LockKey;
  /** Fences of different stores are not comparable. */
  readonly store: string;
}

/** Under this symbol every handle of this package shows its {@link FenceProof}, whichever copy of the package made it. */
export const FENCE_PROOF: unique symbol = Symbol.for('klock.fence-proof.v1') as never;

/** The proof of a handle, held or not; undefined for an object that is no handle of this package. */
export function fenceProofOf(handle: unknown): FenceProof | undefined {
  if (typeof handle !== 'object' || handle === null) return undefined;
  return (handle as { readonly [FENCE_PROOF]?: FenceProof })[FENCE_PROOF];
}

/**
 * Handles the running flow holds in `store`, innermost first, one for each grant: inside `withLock` and decorated
 * methods. Read now: what is not held any more is absent.
 */
export function heldInFlow(store: string): readonly LockHandle[] {
  const held: LockHandle[] = [];
  const grants = new Set<unknown>();
  for (let frame = currentFrame(); frame !== undefined; frame = frame.parent) {
    if (frame.store !== store || grants.has(frame.hold.grant) || !frame.handle.held) continue;
    grants.add(frame.hold.grant);
    held.push(frame.handle);
  }
  return held;
}
