import type { LockKey } from '../core/index.js';

/** A key as it travels. */
interface WireKey {
  readonly l1: string;
  /** '' for the L1 itself. */
  readonly l2: string;
}

/** Names as they travel: '' where there is none. */
interface WireNames {
  readonly client: string;
  readonly host?: string;
}

/** The key of somebody in a server's report. */
export function keyOf({ l1, l2 }: WireKey): LockKey {
  return l2 === '' ? [l1] : [l1, l2];
}

/** How whoever is in a report calls itself, and where it runs, as far as that was said. */
export function namesOf({ client, host = '' }: WireNames): {
  readonly client?: string;
  readonly host?: string;
} {
  return { ...(client === '' ? {} : { client }), ...(host === '' ? {} : { host }) };
}
