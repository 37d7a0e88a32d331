import {
  maskId,
  type HolderReport,
  type LockKey,
  type LockReport,
  type WaiterReport,
} from '../../core/index.js';
import { treeName } from './key-names.js';
import { inspectQuestion } from './operations.js';
import type { RedisSession } from './redis-session.js';
import { askUntilAnswered } from './token-calls.js';

/** Holders and waiters listed at most, each. */
const MAX_REPORTED = 100;

/** Who holds a key or something that conflicts with it, and who waits. @throws LockUnavailableError, BackendStateError */
export async function inspectKey(
  session: RedisSession,
  key: LockKey,
  limit = MAX_REPORTED,
): Promise<LockReport> {
  const tree = treeName(session.options.prefix, key[0]);
  const facts = { key, operation: 'inspect' } as const;
  const question = inspectQuestion(tree, key[1] ?? '', limit, facts);
  const { value } = await askUntilAnswered(session, question, key, 'inspect');
  return {
    key,
    locked: value.holders.length > 0,
    holders: value.holders.map((row) => holder(key[0], row)),
    waiters: value.waiters.map((row) => waiter(key[0], row)),
    waiterCount: value.waiterCount,
  };
}

function holder(l1: string, row: readonly string[]): HolderReport {
  const [l2 = '', id = '', fence = '0', client = '', meta = '', heldMs = '0', leftMs = '0'] = row;
  const metadata = parseMetadata(meta);
  return {
    key: keyOf(l1, l2),
    fence: /^\d+$/.test(fence) ? BigInt(fence) : 0n,
    session: maskId(id),
    ...(client === '' ? undefined : { client }),
    ...(metadata === undefined ? undefined : { metadata }),
    heldMs: Number(heldMs),
    leaseLeftMs: Number(leftMs),
  };
}

function waiter(l1: string, row: readonly string[]): WaiterReport {
  const [l2 = '', id = '', client = '', waitedMs = '0'] = row;
  return {
    key: keyOf(l1, l2),
    session: maskId(id),
    ...(client === '' ? undefined : { client }),
    waitedMs: Number(waitedMs),
  };
}

function keyOf(l1: string, l2: string): LockKey {
  return l2 === '' ? [l1] : [l1, l2];
}

/** What stands in Redis may have been changed by anyone: what is no object of strings is left out. */
function parseMetadata(meta: string): Readonly<Record<string, string>> | undefined {
  if (meta === '') return undefined;
  try {
    const parsed: unknown = JSON.parse(meta);
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    const entries = Object.entries(parsed).filter((entry) => typeof entry[1] === 'string');
    return Object.fromEntries(entries);
  } catch {
    return undefined;
  }
}
