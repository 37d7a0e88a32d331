import { MAX_FENCE } from './limits.js';
import type { LockKey } from './lock-key.js';
import type { HolderReport } from './lock-report.js';
import { checkBoolean, optionError, refuseUnknown } from './options.js';

/** Which grants of a key are ended. */
export interface RevokeOptions {
  /** Only the grant that has this fence: who looked a minute ago must not end the lock of the next holder. */
  readonly fence?: bigint;
  /** With a one-part key: also whatever is held below it. Default false: what is held of exactly this key. */
  readonly below?: boolean;
}

/** What `revoke` has ended. */
export interface RevokeReport {
  readonly key: LockKey;
  /** Who held, as `inspect` names them, 100 at most; empty: nothing was held that is meant. */
  readonly ended: readonly HolderReport[];
  /** All of them. */
  readonly endedCount: number;
}

/** @throws InvalidOptionError naming the option and its value. */
export function checkRevoke(key: LockKey, options: RevokeOptions): RevokeOptions {
  refuseUnknown('revoke', options, ['fence', 'below']);
  const { fence, below } = options;
  // A fence that was meant and is missing would end whoever holds now.
  if ('fence' in options && (typeof fence !== 'bigint' || fence < 1n || fence > MAX_FENCE))
    throw optionError('fence', `a bigint from 1 to ${MAX_FENCE}`, fence);
  if (below !== undefined && checkBoolean('below', below) && key.length === 2)
    throw optionError('below', 'left out with a key of two parts, below which there is nothing', below);
  return { ...(fence === undefined ? undefined : { fence }), below: below === true };
}
