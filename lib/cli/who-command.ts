import {
  BackendStateError,
  formatKey,
  type KeyInput,
  type KlockInstance,
  type ListedHolder,
  type LockReport,
} from '../core/index.js';
import type { Command, Terminal } from './command.js';
import { count, parseWords, type ValuesOf } from './flags.js';
import { holderJson, holderTable, nameOf, span } from './holder-table.js';
import { asOperator, keyOf, OPERATOR_FLAGS, urlOf } from './operator.js';

const FLAGS = {
  ...OPERATOR_FLAGS,
  limit: count(1_000, 100_000, 'holders listed at most, the longest held first'),
};

type Who = ValuesOf<typeof FLAGS>;

/** Waiters named below the table of one key. */
const NAMED_WAITERS = 10;

/** `klock who`: who holds what on a lock server, and who waits. */
export const whoCommand: Command = {
  about: 'tells who holds what on a lock server: everything, or what conflicts with one key',
  takes:
    'URL [FIRST [SECOND]]     parts of a key, as they are; with a namespace the first begins with NAMESPACE/',
  flags: FLAGS,
  notes: ['Exit codes: 0 the server has answered, 1 it could not be asked, 2 the command line is wrong.'],
  run: async (words, terminal) => {
    const { plain, values } = parseWords(FLAGS, words);
    const [, ...key] = plain;
    const operator = { ...values, url: urlOf(plain) };
    const wanted = key.length === 0 ? undefined : keyOf(key);
    return await asOperator(operator, terminal, async (klock) => {
      if (wanted === undefined) await tellAll(klock, values, terminal);
      else await tellOne(klock, wanted, values, terminal);
      return 0;
    });
  },
};

async function tellAll(klock: KlockInstance, { json, limit }: Who, terminal: Terminal): Promise<void> {
  const { holders, more } = await listAll(klock, limit);
  const nowMs = terminal.clock.wallMs();
  if (json) {
    const list = holders.map((holder) => holderJson(holder, nowMs));
    return terminal.print(JSON.stringify({ holders: list, more }, undefined, 2));
  }
  if (holders.length === 0) return terminal.print('Nobody holds anything.');
  for (const line of holderTable(holders, nowMs)) terminal.print(line);
  if (more) terminal.print(`... and more; --limit ${limit} is reached.`);
}

/** Page by page: a page is one look of the server, all of them together are not. */
async function listAll(
  { driver }: KlockInstance,
  limit: number,
): Promise<{ readonly holders: readonly ListedHolder[]; readonly more: boolean }> {
  if (driver.holders === undefined)
    throw new BackendStateError(`the ${driver.name} driver cannot list holders`);
  const holders: ListedHolder[] = [];
  let afterFence = 0n;
  for (;;) {
    const page = await driver.holders({ afterFence, limit: Math.min(100, limit - holders.length) });
    holders.push(...page.holders);
    const last = page.holders.at(-1);
    if (!page.more || last === undefined || holders.length >= limit) return { holders, more: page.more };
    afterFence = last.fence;
  }
}

async function tellOne(
  klock: KlockInstance,
  key: KeyInput,
  { json }: Who,
  terminal: Terminal,
): Promise<void> {
  const report = await klock.inspect(key);
  const nowMs = terminal.clock.wallMs();
  if (json) {
    const holders = report.holders.map((holder) => holderJson(holder, nowMs));
    return terminal.print(JSON.stringify({ ...report, holders }, undefined, 2));
  }
  for (const line of reportLines(report, nowMs)) terminal.print(line);
}

function reportLines({ key, holders, waiters, waiterCount }: LockReport, nowMs: number): string[] {
  const held = holders.map((holder) => ({ ...holder, waiters: waiterCount }));
  const named = waiters.slice(0, NAMED_WAITERS);
  const unnamed = waiterCount - named.length;
  return [
    ...(held.length === 0 ? [`Nobody holds ${formatKey(key)}.`] : holderTable(held, nowMs)),
    ...named.map(({ key: wanted, client, session, waitedMs }) => {
      const name = nameOf({
        key: wanted,
        fence: 0n,
        session,
        heldMs: 0,
        leaseLeftMs: 0,
        ...(client !== undefined && { client }),
      });
      return `waits for ${formatKey(wanted)}: ${name}, for ${span(waitedMs)}`;
    }),
    ...(unnamed > 0 ? [`... and ${unnamed} more wait.`] : []),
  ];
}
