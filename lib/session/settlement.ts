import type { LinkId } from './call-outcome.js';
import type { Doubts } from './doubts.js';
import type { Verdict } from './verdict.js';

/** A server keeps the place of a request this long after its wait: until then its id stands for the request's own key. */
export const PLACE_KEPT_MS = 1_000;
const MARGIN_MS = 100;

/**
 * How a wait that ended in doubt is settled over the six RPCs (design D4).
 *
 * `probe` repeats the acquire with its own id, asking for no wait. A token means that it was granted: it is given back.
 * LOCK_TIMEOUT means that nothing is held, and settles the matter if every copy was sent on this very connection.
 * If some copy was sent on a connection that broke, it may still arrive: `tombstone` then spends the id on a key nobody
 * else can name. Once that is granted the id stands for it, and a late copy is refused for good.
 */
export type SettlementStep =
  | { readonly do: 'probe' }
  | { readonly do: 'tombstone'; readonly afterMs: number }
  /** Nothing is held under the id, and nothing ever will be. */
  | { readonly do: 'done' };

export class Settlement {
  /** Failures in a row, for the pause before the next call. */
  failures = 0;
  private step: SettlementStep = { do: 'probe' };

  constructor(private readonly doubts: Doubts) {}

  get next(): SettlementStep {
    return this.step;
  }

  /** The call of this step was granted: its token is known and is given back, which uses the id up. */
  granted(): void {
    this.doubts.clear();
    this.step = { do: 'done' };
  }

  /** The call of this step was answered otherwise, or not at all (`link` undefined: it was not sent). */
  ended(verdict: Verdict, link: LinkId | undefined): void {
    const tombstone = this.step.do === 'tombstone';
    if (verdict === 'conflict' && tombstone) {
      // The id is in use: the original is queued or granted, and a probe will say which.
      this.failures = 0;
      this.step = { do: 'probe' };
      return;
    }
    // An unanswered tombstone is no doubt of its own: nobody waits for its key.
    if (link !== undefined && !(tombstone && verdict === 'unresolved')) this.doubts.answered(verdict, link);
    if (!this.doubts.open) this.step = { do: 'done' };
    else if (verdict === 'busy') this.afterBusy(tombstone);
    else this.failures++;
  }

  private afterBusy(tombstone: boolean): void {
    if (tombstone) this.failures++;
    else this.step = { do: 'tombstone', afterMs: PLACE_KEPT_MS + MARGIN_MS };
  }
}
