import type { LockKey } from '../../core/index.js';

/** One grant as its client saw it. All instants on one clock, in milliseconds. */
export interface GrantRecord {
  readonly key: LockKey;
  readonly client: string;
  readonly fence: bigint;
  /** When acquire was called. */
  readonly calledAtMs: number;
  /** When the client began to believe that it holds. */
  readonly grantedAtMs: number;
  /** When it stopped: the first of release call, loss notice and local deadline. Infinity if it never did. */
  readonly endedAtMs: number;
}

/** One write that a resource accepted. */
export interface WriteRecord {
  /** The key of the grant it was made under. */
  readonly key: LockKey;
  readonly fence: bigint;
  readonly atMs: number;
}

/** What a run looked like from outside. */
export interface History {
  readonly grants: readonly GrantRecord[];
  readonly writes?: readonly WriteRecord[];
}

/** One breach of an invariant of the design, with what breached it. */
export interface Violation {
  readonly invariant: 'I1' | 'I3' | 'I4' | 'I5';
  readonly message: string;
}

/** Collects a history while it happens. */
export class HistoryRecorder implements History {
  readonly grants: GrantRecord[] = [];
  readonly writes: WriteRecord[] = [];

  grant(record: GrantRecord): void {
    this.grants.push(record);
  }

  write(record: WriteRecord): void {
    this.writes.push(record);
  }
}
