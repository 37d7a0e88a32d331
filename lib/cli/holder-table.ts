import { formatKey, quote, type HolderReport, type ListedHolder } from '../core/index.js';

const HEAD = ['KEY', 'HOLDER', 'HOST', 'SINCE', 'FOR', 'FENCE', 'WAITING'];

/** Holders as lines of a table; of what nobody has said there is a dash. */
export function holderTable(holders: readonly ListedHolder[], nowMs: number): string[] {
  const rows = holders.map((holder) => [
    formatKey(holder.key),
    plainText(holder.client),
    plainText(holder.host),
    since(holder, nowMs),
    span(holder.heldMs),
    String(holder.fence),
    String(holder.waiters),
  ]);
  const widths = HEAD.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)));
  return [HEAD, ...rows].map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** As JSON takes it: fences are texts, since JSON numbers are too small for them. */
export function holderJson<H extends HolderReport>(holder: H, nowMs: number): object {
  return { ...holder, fence: String(holder.fence), since: since(holder, nowMs) };
}

/** Who and where, in a sentence. */
export function nameOf({ client, host, session }: HolderReport): string {
  const name = client === undefined ? `session ${plainText(session)}` : plainText(client);
  return host === undefined ? name : `${name} on ${plainText(host)}`;
}

/** Labels come from anybody: nothing of them may move a terminal's cursor. */
function plainText(text: string | undefined): string {
  if (text === undefined) return '-';
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) ? text : quote(text);
}

/** By this machine's clock. */
function since({ heldMs }: HolderReport, nowMs: number): string {
  return new Date(nowMs - heldMs).toISOString().replace(/\.\d+/, '');
}

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** The two largest units of a span: `2h 5m`. */
export function span(ms: number): string {
  const from = UNITS.findIndex(([, unitMs]) => ms >= unitMs);
  if (from === -1) return `${Math.round(ms)}ms`;
  let leftMs = ms;
  return UNITS.slice(from, from + 2)
    .map(([name, unitMs]) => {
      const count = Math.floor(leftMs / unitMs);
      leftMs -= count * unitMs;
      return `${count}${name}`;
    })
    .join(' ');
}
