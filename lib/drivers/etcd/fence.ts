import { BackendStateError, MAX_FENCE } from '../../core/index.js';

/** Low bits of a fence: the position in a span handed over inside a process (design D6, D13); 0 for the grant itself. */
const SPAN_BITS = 10n;

/** Fences one grant covers at most: those between its revision's and the next one's. */
export const MAX_SPAN = 1 << Number(SPAN_BITS);

/** Whether a grant's fences are those of this revision. */
export function covers(
  { grantRevision, modRevision }: { readonly grantRevision?: string; readonly modRevision: bigint },
  fence: bigint,
): boolean {
  return fence >> SPAN_BITS === (grantRevision === undefined ? modRevision : BigInt(grantRevision));
}

/** The fence of a grant: the revision of the transaction that wrote it. @throws BackendStateError where it would not fit */
export function fenceOf(revision: bigint): bigint {
  const fence = revision << SPAN_BITS;
  if (revision > 0n && fence <= MAX_FENCE - BigInt(MAX_SPAN)) return fence;
  throw new BackendStateError(`etcd's revision ${revision} gives no fence`);
}
