import { text, type Question, type Sending } from './operations.js';

/** Lines of a reply before those of the operations: TIME and woken ids. */
const HEAD = 2;

/** One operation as the script reads it (scripts/run.lua). */
export function packed(question: Question<unknown>, sending: Sending): string {
  const { name, tree, l2, who, meta } = question;
  const words = question.words(sending);
  return `${name} ${bytes(tree)} ${bytes(l2)} ${bytes(who)} ${bytes(meta)} ${words}\n${tree}${l2}${who}${meta}`;
}

/** What the script answered to one call. */
export interface UnpackedReply {
  readonly timeUs: string;
  /** Waiters of this client that can go now, joined by commas. */
  readonly woken: string;
  /** Words of each operation's result, of one that failed too. */
  readonly results: readonly (readonly unknown[])[];
}

/** Undefined for what the script never answers to so many operations. */
export function unpacked(reply: unknown, operations: number): UnpackedReply | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [first, ...lists] = reply as readonly unknown[];
  const lines = text(first).split('\n');
  if (lines.length !== operations + HEAD) return undefined;
  let next = 0;
  const results = lines.slice(HEAD).map((line) => (line === '' ? listed(lists[next++]) : line.split(' ')));
  return { timeUs: lines[0] as string, woken: lines[1] as string, results };
}

function listed(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
}

function bytes(part: string): number {
  return part === '' ? 0 : Buffer.byteLength(part, 'utf8');
}
