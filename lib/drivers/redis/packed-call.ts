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
export class UnpackedReply {
  private next = 1;

  private constructor(
    private readonly reply: readonly unknown[],
    private readonly lines: readonly string[],
  ) {}

  /** Undefined for what the script never answers to so many operations. */
  static of(reply: unknown, operations: number): UnpackedReply | undefined {
    if (!Array.isArray(reply)) return undefined;
    const lines = text(reply[0]).split('\n');
    return lines.length === operations + HEAD ? new UnpackedReply(reply, lines) : undefined;
  }

  get timeUs(): string {
    return this.lines[0] as string;
  }

  /** Waiters of this client that can go now, joined by commas. */
  get woken(): string {
    return this.lines[1] as string;
  }

  /** The result of each operation in turn: its words, where they were a line; else the list, which may be of one that failed. */
  each(
    line: (words: readonly string[], at: number) => void,
    list: (list: readonly unknown[], at: number) => void,
  ): void {
    const { lines } = this;
    for (let at = 0; at + HEAD < lines.length; at++) {
      const words = lines[at + HEAD] as string;
      if (words === '') list(this.nextList(), at);
      else line(words.includes(' ') ? words.split(' ') : [words], at);
    }
  }

  private nextList(): readonly unknown[] {
    const list = this.reply[this.next++];
    return Array.isArray(list) ? (list as readonly unknown[]) : [];
  }
}

function bytes(part: string): number {
  return part === '' ? 0 : Buffer.byteLength(part, 'utf8');
}
