import { formatKey, keysConflict, type LockHandle, type LockKey } from '../../core/index.js';
import type { Grant } from '../../engine/index.js';
import type { HistoryRecorder } from '../history/index.js';
import type { Report } from './finding.js';
import type { SimNode } from './sim-node.js';

/** What one client holds by its own account. */
export class Belief {
  endedAtMs = Infinity;
  /** The store has ended its grant; whoever held it may not have heard of that yet. */
  revoked = false;
  readonly key: LockKey;

  /** @param lock the handle that it is believed by; another of the same grant may take its place. */
  constructor(
    readonly node: SimNode,
    public lock: LockHandle,
    readonly calledAtMs: number,
    readonly grantedAtMs: number,
  ) {
    this.key = lock.key;
  }

  get name(): string {
    return `${this.node.name}'s ${formatKey(this.key)} (fence ${this.lock.fence})`;
  }
}

/** Who believes to hold what. What a client would say of itself if it looked now decides, not what it was last told. */
export class BeliefLedger {
  private readonly open = new Map<string, Set<Belief>>();
  private readonly revoked: Grant[] = [];

  constructor(
    private readonly nowMs: () => number,
    private readonly history: HistoryRecorder,
    private readonly report: Report,
  ) {}

  /** A client was handed a lock (I1). */
  begin(belief: Belief): void {
    // Passed on inside its process before that had heard.
    if (this.revoked.some((grant) => isOf(belief, grant))) {
      belief.revoked = true;
      return;
    }
    for (const other of [...this.of(belief.key[0])]) {
      if (!keysConflict(other.key, belief.key) || !this.stands(other)) continue;
      this.report('I1', `${other.name} was still believed in when ${belief.name} began`);
    }
    this.of(belief.key[0]).add(belief);
  }

  /** The client knows that it holds no longer: the first of release, loss and a look of ours. */
  end(belief: Belief): void {
    if (!this.of(belief.key[0]).delete(belief)) return;
    belief.endedAtMs = this.nowMs();
    const { key, node, lock, calledAtMs, grantedAtMs, endedAtMs } = belief;
    this.history.grant({ key, client: node.name, fence: lock.fence, calledAtMs, grantedAtMs, endedAtMs });
  }

  /**
   * An operator ended this grant in the store. Until its holder hears, it and the next one may both believe: the one thing
   * the rule of one believer has to be broken for, so from here on only the fence is looked at.
   */
  revoke(grant: Grant): void {
    this.revoked.push(grant);
    for (const belief of [...this.of(grant.key[0])]) {
      if (!isOf(belief, grant)) continue;
      belief.revoked = true;
      this.end(belief);
    }
  }

  /** A dead process believes nothing. */
  endAllOf(node: SimNode): void {
    for (const belief of this.all()) if (belief.node === node) this.end(belief);
  }

  /** Everybody who believes now to hold one of these fences. */
  holdersOf(key: LockKey, fence: bigint, span: number): Belief[] {
    return [...this.of(key[0])].filter((belief) => isOf(belief, { fence, span }) && this.stands(belief));
  }

  all(): Belief[] {
    return [...this.open.values()].flatMap((beliefs) => [...beliefs]);
  }

  private stands(belief: Belief): boolean {
    if (belief.lock.held) return true;
    this.end(belief);
    return false;
  }

  private of(l1: string): Set<Belief> {
    const known = this.open.get(l1);
    if (known !== undefined) return known;
    const made = new Set<Belief>();
    this.open.set(l1, made);
    return made;
  }
}

function isOf({ lock }: Belief, { fence, span }: Pick<Grant, 'fence' | 'span'>): boolean {
  return lock.fence >= fence && lock.fence < fence + BigInt(span);
}
