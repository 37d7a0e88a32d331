/** Pauses between attempts: full jitter, so that clients that failed together do not come back together (WK-33). */
export interface BackoffRule {
  /** Bound of the first pause. */
  readonly firstMs: number;
  /** No pause is longer. */
  readonly longestMs: number;
}

/** Between two attempts of an acquire, a release or a settlement. */
export const RETRY_BACKOFF: BackoffRule = { firstMs: 100, longestMs: 1_000 };

/** Bound of the pause after `failures` failures in a row (1 for the first). */
export function backoffBound(rule: BackoffRule, failures: number): number {
  return Math.min(rule.longestMs, rule.firstMs * 2 ** Math.min(Math.max(0, failures - 1), 30));
}

/** A pause anywhere from 0 to the bound; `fraction` is a random number in [0, 1). */
export function backoffMs(rule: BackoffRule, failures: number, fraction: number): number {
  return Math.ceil(backoffBound(rule, failures) * fraction);
}
