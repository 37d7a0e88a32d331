import type { Clock, Timer } from '../../core/index.js';
import { RELEASE_LANES, RELEASES_A_CALL, RELEASE_WAITS_MS, ROUND_MS } from './bounds.js';
import { StoreRefusal } from './call-failure.js';
import type { EtcdGrant } from './etcd-session.js';
import { METHODS } from './methods.js';
import type { StoreCalls } from './store-calls.js';
import type { Transactions } from './transactions.js';

/** A grant to be given back, as the store knows it. */
export type Returned = Pick<EtcdGrant, 'seat' | 'revision'>;

interface Asked {
  readonly grant: Returned;
  /** Told before each copy is handed over. */
  readonly sending: () => void;
  readonly resolve: (freed: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Releases of one client on their way to etcd. Few calls are under way at once; what comes meanwhile shares the next one,
 * so that a busy client gives many locks back in one round of Raft. An idle one waits for nobody. Acquires never share a
 * transaction: a revision belongs to one grant (design D6).
 */
export class ReleaseLanes {
  private waiting: Asked[] = [];
  private underWay = 0;
  private turn: Promise<void> | undefined = undefined;
  private late: Timer | undefined = undefined;

  constructor(
    private readonly clock: Clock,
    private readonly calls: Pick<StoreCalls, 'call'>,
    private readonly transactions: Transactions,
  ) {}

  /**
   * @returns whether this copy found the grant and ended it
   * @throws StoreRefusal, Unanswered
   */
  release(grant: Returned, sending: () => void): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ grant, sending, resolve, reject });
      // Behind whatever else this turn gives back.
      this.turn ??= Promise.resolve().then(() => this.next());
    });
  }

  private next(): void {
    this.turn = undefined;
    while (this.waiting.length > 0 && this.underWay < RELEASE_LANES) this.depart();
    if (this.waiting.length > 0) this.late ??= this.clock.after(RELEASE_WAITS_MS, () => this.overtake());
  }

  /** The calls under way are slow, a member may be away: nobody waits for them any longer. */
  private overtake(): void {
    this.late = undefined;
    while (this.waiting.length > 0) this.depart();
  }

  private depart(): void {
    const shared = this.waiting.splice(0, RELEASES_A_CALL);
    this.underWay++;
    void this.send(shared).finally(() => {
      this.underWay--;
      this.next();
    });
  }

  private async send(shared: readonly Asked[]): Promise<void> {
    try {
      const freed = await this.ask(shared);
      shared.forEach(({ resolve }, at) => resolve(freed[at] === true));
    } catch (error) {
      // What is wrong with one of them is not the others' fault; nothing of a refused transaction was carried out.
      if (error instanceof StoreRefusal && shared.length > 1) {
        await Promise.all(shared.map((each) => this.send([each])));
      } else {
        for (const { reject } of shared) reject(error);
      }
    }
  }

  private async ask(shared: readonly Asked[]): Promise<readonly boolean[]> {
    const { transactions } = this;
    const each = shared.map(({ grant }) => transactions.release(grant.seat, grant.revision, undefined));
    const [only] = each;
    const request = only !== undefined && each.length === 1 ? only : transactions.together(each);
    const { reply } = await this.calls.call(METHODS.txn, request, {
      budgetMs: ROUND_MS,
      sending: () => {
        for (const { sending } of shared) sending();
      },
    });
    if (each.length === 1) return [reply.succeeded];
    return reply.responses.map(({ response_txn }) => response_txn?.succeeded === true);
  }
}
