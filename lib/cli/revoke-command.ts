import { formatKey, parseKey, type RevokeReport } from '../core/index.js';
import type { Command, Terminal } from './command.js';
import { choice, fence, parseWords, type ValuesOf } from './flags.js';
import { holderJson, nameOf, span } from './holder-table.js';
import { asOperator, keyOf, OPERATOR_FLAGS, urlOf } from './operator.js';

const FLAGS = {
  ...OPERATOR_FLAGS,
  fence: fence('end only the grant of this fence, as klock who shows it'),
  below: choice(false, 'with a key of one part: also end everything held below it'),
};

type Revoke = ValuesOf<typeof FLAGS>;

/** Exit code where there was nothing to end. */
const NOTHING_HELD = 3;

/** `klock revoke`: ends a lock whoever holds it. */
export const revokeCommand: Command = {
  about: 'ends a lock, whoever holds it: the holder is told that it was revoked, the next waiter is granted',
  takes:
    'URL FIRST [SECOND]     parts of the key, as they are; with a namespace the first begins with NAMESPACE/',
  flags: FLAGS,
  notes: [
    'Give --fence: without it, whoever holds by the time this arrives loses the lock.',
    'Until the holder has heard of it, it goes on; only a resource that checks fences is safe from it.',
    'Exit codes: 0 ended, 1 not carried out or nobody knows, 2 the command line is wrong, 3 nothing was held.',
  ],
  run: async (words, terminal) => {
    const { plain, values } = parseWords(FLAGS, words);
    const url = urlOf(plain);
    const key = keyOf(plain.slice(1));
    const asked = { below: values.below, ...(values.fence === undefined ? {} : { fence: values.fence }) };
    return await asOperator({ ...values, url }, terminal, async (klock) => {
      const report = await klock.revoke(key, asked);
      tell(report, values, terminal);
      return report.endedCount > 0 ? 0 : NOTHING_HELD;
    });
  },
};

function tell(report: RevokeReport, { json, fence: wanted, below }: Revoke, terminal: Terminal): void {
  const { key, ended, endedCount } = report;
  if (json) {
    const nowMs = terminal.clock.wallMs();
    const holders = ended.map((holder) => holderJson(holder, nowMs));
    return terminal.print(JSON.stringify({ key, ended: holders, endedCount }, undefined, 2));
  }
  for (const holder of ended) {
    const held = `held for ${span(holder.heldMs)} under fence ${holder.fence} by ${nameOf(holder)}`;
    terminal.print(`revoked ${formatKey(holder.key)}, ${held}`);
  }
  if (endedCount > ended.length) terminal.print(`... and ${endedCount - ended.length} more.`);
  if (endedCount > 0) return;
  const under = wanted === undefined ? '' : ` under fence ${wanted}`;
  const where = below ? ' or below' : '';
  terminal.print(
    `Nothing was held of ${formatKey(parseKey(key))}${where}${under}; klock who shows who holds it.`,
  );
}
