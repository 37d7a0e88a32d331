import type { LockKey } from '../../core/index.js';

/** A range of keys in etcd: from `key`, up to but without `end`. */
export interface KeyRange {
  readonly key: Buffer;
  readonly end: Buffer;
}

/** What stands at an entry's key. */
export interface EntryPlace {
  readonly key: LockKey;
  readonly requestId: string;
}

/**
 * Names of klock's keys in etcd. Every part is escaped so that it holds no `/`, and every range ends in one: the range
 * of a lock holds the entries of that lock and no other's, whatever its name (case B-053).
 *
 *   <prefix>/q/<l1>/1/<request id>        an entry of the L1
 *   <prefix>/q/<l1>/2/<l2>/<request id>   an entry of an L2 below it
 *   <prefix>/g/<request id>               a guard: no entry of this request may be made any more
 */
export class KeySpace {
  private readonly queue: string;
  private readonly guards: string;

  constructor(prefix: string) {
    const root = encodeURIComponent(prefix);
    this.queue = `${root}/q/`;
    this.guards = `${root}/g/`;
  }

  /** Everything of this prefix. */
  get all(): KeyRange {
    return range(this.queue);
  }

  /** Entries of exactly this key. */
  own(key: LockKey): KeyRange {
    return range(this.branch(key));
  }

  /** Entries that conflict with this key, its own among them: the whole tree for an L1; the L1's and its own for an L2. */
  conflicting(key: LockKey): readonly KeyRange[] {
    const tree = this.tree(key);
    return key.length === 1 ? [range(tree)] : [range(`${tree}1/`), range(this.branch(key))];
  }

  entry(key: LockKey, requestId: string): Buffer {
    return Buffer.from(this.branch(key) + requestId, 'utf8');
  }

  guard(requestId: string): Buffer {
    return Buffer.from(this.guards + requestId, 'utf8');
  }

  /** What an entry's key says; undefined for a key that is not klock's. */
  parse(name: Buffer): EntryPlace | undefined {
    const text = name.toString('utf8');
    if (!text.startsWith(this.queue)) return undefined;
    const parts = text.slice(this.queue.length).split('/');
    const level = parts[1];
    if (!(parts.length === 3 && level === '1') && !(parts.length === 4 && level === '2')) return undefined;
    const names = level === '1' ? [parts[0]] : [parts[0], parts[2]];
    const key = names.map((part) => decode(part as string));
    const requestId = parts.at(-1) as string;
    if (key.includes(undefined) || requestId === '') return undefined;
    return { key: key as unknown as LockKey, requestId };
  }

  private tree([l1]: LockKey): string {
    return `${this.queue}${encodeURIComponent(l1)}/`;
  }

  private branch(key: LockKey): string {
    return key.length === 1 ? `${this.tree(key)}1/` : `${this.tree(key)}2/${encodeURIComponent(key[1])}/`;
  }
}

/** The keys that begin with `start`, which ends in '/': up to the one where that is the next character, '0'. */
function range(start: string): KeyRange {
  return { key: Buffer.from(start, 'utf8'), end: Buffer.from(`${start.slice(0, -1)}0`, 'utf8') };
}

/** The text that was escaped, or undefined where klock would have escaped it otherwise. */
function decode(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part);
    return text !== '' && encodeURIComponent(text) === part ? text : undefined;
  } catch {
    return undefined;
  }
}
