import type { FenceProof, Klock } from '../core/index.js';
import { FENCE_HEADER, formatFenceHeader } from './fence-header.js';
import { MAX_FENCE_ENTRIES } from './limits.js';
import { proofOf, proofsInFlow, type FenceSource } from './proof-of.js';

/** `{}`, or an object with the one header. */
export type FenceHeaders = Readonly<Record<string, string>>;

/** Anything headers are set on by name: `Headers`, gRPC `Metadata`, `AxiosHeaders`, a Node request through `setHeader`. */
export interface FenceCarrier {
  set(name: string, value: string): unknown;
}

/**
 * Headers for a call to a resource that checks fences: `fetch(url, { headers: { ...fenceHeaders(klock) } })`.
 * From an instance: all locks the running flow holds there, the 16 innermost, or none; the receiver refuses a write without.
 * From a handle or proof: that one.
 * @throws LockLostError, LockNotHeldError for a handle that is not held any more.
 */
export function fenceHeaders(from: Klock | FenceSource): FenceHeaders {
  const proofs = proofsFrom(from);
  return proofs.length === 0 ? {} : { [FENCE_HEADER]: formatFenceHeader(proofs) };
}

/**
 * The same onto headers or gRPC metadata that exist already; returns them. An earlier value is replaced.
 * Without a lock nothing is set.
 */
export function attachFence<C extends FenceCarrier>(carrier: C, from: Klock | FenceSource): C {
  const { [FENCE_HEADER]: value } = fenceHeaders(from);
  if (value !== undefined) carrier.set(FENCE_HEADER, value);
  return carrier;
}

function proofsFrom(from: Klock | FenceSource): readonly FenceProof[] {
  if (!isKlock(from)) return [proofOf(from)];
  return proofsInFlow(from).slice(0, MAX_FENCE_ENTRIES);
}

function isKlock(from: Klock | FenceSource): from is Klock {
  return typeof (from as Partial<Klock> | null | undefined)?.withLock === 'function';
}
