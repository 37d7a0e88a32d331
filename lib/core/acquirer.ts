import { abortedError, onAbort } from './abort.js';
import type { Acquisition } from './acquisition.js';
import type { Instant } from './clock.js';
import { CountedHandle } from './counted-handle.js';
import { LockLostError, LockTimeoutError, LockUnavailableError, isLockError } from './errors.js';
import { Hold } from './hold.js';
import type { Instance } from './instance.js';
import type { Lease } from './lease.js';
import type { DriverBusy, DriverGrant } from './lock-driver.js';
import { formatKey, type LockKey } from './lock-key.js';
import { pause } from './pause.js';

/** Longest pause before a request that met two used-up ids in a row is made again. */
const CONFLICT_PAUSE_MS = 100;

type Reply = DriverGrant | DriverBusy;
/** Undefined: busy, where that is an answer (`tryAcquire`). */
type Acquired = CountedHandle | undefined;

/** Takes an acquire from its request to its handle, and tells events and figures how it went. */
export class Acquirer {
  /** Whether the driver itself ends waits when the instance closes. */
  private readonly driverEndsWaits: boolean;

  constructor(private readonly instance: Instance) {
    this.driverEndsWaits = instance.driver.abortWaits !== undefined;
  }

  /** Answers in the same turn where the driver does: the in-process path costs no turn of the event loop. */
  acquire(ask: Acquisition): Acquired | Promise<Acquired> {
    const { figures } = this.instance;
    const { signal, label } = ask.terms;
    ask.figures = figures?.acquiring(ask.key, ask.call, label);
    if (this.driverEndsWaits) ask.signal = signal;
    else if (signal === undefined) ask.signal = this.instance.closingSignal;
    else return this.askUntilEither(ask, signal, this.instance.closingSignal);
    return this.ask(ask);
  }

  /** Two signals can end this wait: the caller's and the instance's own. */
  private async askUntilEither(ask: Acquisition, one: AbortSignal, other: AbortSignal): Promise<Acquired> {
    const either = new AbortController();
    const listening = [one, other].map((signal) => onAbort(signal, (reason) => either.abort(reason)));
    ask.signal = either.signal;
    try {
      return await this.ask(ask);
    } finally {
      for (const listener of listening) listener[Symbol.dispose]();
    }
  }

  private ask(ask: Acquisition): Acquired | Promise<Acquired> {
    const { instance } = this;
    try {
      this.refuseIfOver(ask);
      const reply = instance.driver.acquire(ask);
      if ('then' in reply || isConflict(reply)) return this.wait(ask, reply);
      return this.answered(ask, reply);
    } catch (error) {
      this.failed(ask, error);
      throw error;
    }
  }

  private async wait(ask: Acquisition, first: Reply | Promise<Reply>): Promise<Acquired> {
    const { clock, driver } = this.instance;
    try {
      for (let asked = first, conflicts = 1; ; conflicts++) {
        const reply = await asked;
        if (!isConflict(reply)) return this.answered(ask, reply);
        // One is chance; a store that goes on so must not be asked as fast as it can answer.
        if (conflicts > 1) {
          this.refuseIfOver(ask);
          await this.pauseBetween(ask);
        }
        const now = clock.now();
        // The grant of this id ended before its answer arrived: asked again under a new id while the wait lasts.
        const leftMs = ask.waitMs - (now.monoMs - ask.askedAt.monoMs);
        if (leftMs <= 0) throw conflicted(ask.key);
        this.refuseIfOver(ask);
        asked = driver.acquire(ask.again(Math.ceil(leftMs), now));
      }
    } catch (error) {
      const told = this.asClosed(ask, error);
      this.failed(ask, told);
      throw told;
    }
  }

  /** Ends early when the caller or the instance gives up, which the next look then tells. */
  private pauseBetween({ terms }: Acquisition): Promise<void> {
    const { clock, random, closingSignal } = this.instance;
    return pause(clock, CONFLICT_PAUSE_MS * (0.5 + random.fraction() / 2), (wake) => {
      const listening = [terms.signal, closingSignal].map((signal) => onAbort(signal, wake));
      return () => {
        for (const listener of listening) listener[Symbol.dispose]();
      };
    });
  }

  /** A wait that was aborted since the instance closes. */
  private asClosed(ask: Acquisition, error: unknown): unknown {
    const closed = isLockError(error, 'LOCK_ABORTED') && this.instance.isClosing;
    return closed ? this.instance.closedError(ask.key) : error;
  }

  private answered(ask: Acquisition, reply: Reply): Acquired {
    if (!reply.granted) return this.busy(ask, reply);
    const hold = this.adopt(ask, reply, reply.decidedAt ?? this.instance.clock.now());
    ask.figures?.granted(hold);
    ask.owner?.add(hold);
    return new CountedHandle(this.instance, hold, ask.askedKey);
  }

  private busy(ask: Acquisition, reply: DriverBusy): undefined {
    if (ask.call !== 'tryAcquire') throw timedOut(ask, reply);
    ask.figures?.busy(undefined);
    this.tellFailed(ask, 'LOCK_TIMEOUT');
  }

  private adopt(ask: Acquisition, grant: DriverGrant, now: Instant): Hold {
    const { instance } = this;
    // The world may have changed while the grant was under way: nothing is handed out to a caller who is gone.
    if (instance.isClosing || ask.terms.signal?.aborted === true) {
      void instance.release(grant);
      this.refuseIfOver(ask);
    }
    const hold = new Hold(instance, grant, ask.terms, now);
    instance.figures?.held(hold);
    if (grant.ended !== undefined) hold.lose(grant.ended, true);
    if ((grant.lease as Lease).state !== 'alive' || !hold.heldAt(now)) throw bornDead(hold);
    if (instance.events.has('lock.granted')) instance.tellGranted(hold, now.monoMs - ask.askedAt.monoMs);
    return hold;
  }

  private refuseIfOver({ key, terms }: Acquisition): void {
    if (this.instance.isClosing) throw this.instance.closedError(key);
    if (terms.signal?.aborted === true) throw abortedError(key, terms.signal.reason);
  }

  private failed(ask: Acquisition, error: unknown): void {
    if (isLockError(error, 'LOCK_TIMEOUT')) ask.figures?.busy(error);
    else ask.figures?.failed(error);
    this.tellFailed(ask, isLockError(error) ? error.code : 'UNKNOWN');
  }

  private tellFailed({ key, askedAt }: Acquisition, code: string): void {
    const { clock, events } = this.instance;
    if (!events.has('acquire.failed')) return;
    events.emit({ type: 'acquire.failed', key, code, waitedMs: clock.monoMs() - askedAt.monoMs });
  }
}

/** Granted, but its deadline had passed before the answer was read: given back, never handed out (design D2). */
function bornDead(hold: Hold): LockLostError {
  if (hold.state === 'held') hold.loseAlone('expired');
  const { key } = hold.grant;
  return (
    hold.loss ??
    new LockLostError(`the grant of ${formatKey(key)} arrived after its lease`, {
      key,
      operation: 'acquire',
      reason: 'expired',
      lossCode: 'LOCAL_TTL_EXPIRED',
    })
  );
}

function conflicted(key: LockKey): LockUnavailableError {
  const message = `the grant of ${formatKey(key)} ended before its answer arrived, and the wait is over`;
  return new LockUnavailableError(message, { key, operation: 'acquire', storeCode: 'IDEMPOTENCY_CONFLICT' });
}

function timedOut({ askedKey, waitMs }: Acquisition, { holder }: DriverBusy): LockTimeoutError {
  const by = holder === undefined ? '' : `, held by ${holder}`;
  return new LockTimeoutError(`${formatKey(askedKey)} is busy and ${waitMs} ms are over${by}`, {
    key: askedKey,
    waitedMs: waitMs,
    ...(holder === undefined ? undefined : { holder }),
  });
}

function isConflict(reply: Reply): reply is DriverBusy & { readonly conflict: true } {
  return !reply.granted && reply.conflict === true;
}
