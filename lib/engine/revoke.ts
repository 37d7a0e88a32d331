import type { LockKey } from '../core/index.js';
import type { Grant, Revoke, RevokeAnswer } from './commands.js';
import { MAX_REPORTED } from './engine-options.js';
import type { EngineState } from './engine-state.js';
import { holder } from './inspect.js';
import type { Request } from './request.js';
import type { Placed } from './table-entry.js';

/**
 * Ends grants whoever holds them. All of them are announced before the first key is free, as for the end of a session:
 * an old holder is told before the next one holds. What is freed is granted when the table opens again.
 */
export function revoke(state: EngineState, { key, fence, below = false, by }: Revoke): RevokeAnswer {
  const meant = entriesOf(state, key, below).filter(
    ({ grant }) => fence === undefined || (grant !== undefined && covers(grant, fence)),
  );
  const ended = meant.slice(0, MAX_REPORTED).map((request) => holder(state.nowMs, request));
  if (meant.length > 0) state.table.close();
  for (const { kept, grant } of meant) {
    // Who has given a key back that is still kept holds nothing.
    if (!kept && grant !== undefined) state.tell({ type: 'grant-revoked', grant, by });
  }
  for (const request of meant) {
    if (request.kept) state.endKept(request);
    else state.endGrant(request);
  }
  return { type: 'revoked', ended, endedCount: meant.length };
}

/** Entries that hold exactly this key and, if asked, those below it. */
function entriesOf(state: EngineState, key: LockKey, below: boolean): Request[] {
  const tree = state.table.tree(key[0]);
  if (tree === undefined) return [];
  if (key.length === 2) return present([tree.child(key[1])?.holder]);
  const under = below ? [...tree.children()].map((child) => child.holder) : [];
  return present([tree.writer, ...under]);
}

function present(entries: readonly (Placed | undefined)[]): Request[] {
  return entries.filter((entry) => entry !== undefined) as Request[];
}

/** A grant that may be passed on has several fences, and whoever holds it has one of them. */
function covers({ fence: base, span }: Grant, fence: bigint): boolean {
  return fence >= base && fence < base + BigInt(span);
}
