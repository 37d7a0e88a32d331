import { abortedError, onAbort } from './abort.js';
import type { Acquired, Acquisition, AnswerReader } from './acquisition.js';
import { PromisedReply } from './asker.js';
import type { Instant } from './clock.js';
import { CountedHandle } from './counted-handle.js';
import { LockLostError, LockTimeoutError, LockUnavailableError, isLockError } from './errors.js';
import { Hold } from './hold.js';
import type { Instance } from './instance.js';
import type { Lease } from './lease.js';
import { LATER, type DriverBusy, type DriverGrant } from './lock-driver.js';
import { formatKey, type LockKey } from './lock-key.js';
import { pause } from './pause.js';

/** Longest pause before a request that met two used-up ids in a row is made again. */
const CONFLICT_PAUSE_MS = 100;

type Reply = DriverGrant | DriverBusy;

/** Takes an acquire from its request to its handle, and tells events and figures how it went. */
export class Acquirer implements AnswerReader {
  /** Whether the driver itself ends waits when the instance closes. */
  private readonly driverEndsWaits: boolean;

  constructor(private readonly instance: Instance) {
    this.driverEndsWaits = instance.driver.abortWaits !== undefined;
  }

  /** Answers in the same turn where the driver does: the in-process path costs no turn of the event loop. */
  acquire<T>(ask: Acquisition & { made(acquired: Acquired): T }): T | Promise<T> {
    return this.begin(ask) as T | Promise<T>;
  }

  private begin(ask: Acquisition): unknown {
    const { figures } = this.instance;
    if (figures !== undefined) ask.figures = figures.acquiring(ask.key, ask.call, ask.terms.label);
    if (!this.driverEndsWaits) return this.askUntilClosed(ask);
    ask.signal = ask.terms.signal;
    return this.ask(ask);
  }

  private askUntilClosed(ask: Acquisition): unknown {
    const { closingSignal } = this.instance;
    const { signal } = ask.terms;
    if (signal !== undefined) return this.askUntilEither(ask, signal, closingSignal);
    ask.signal = closingSignal;
    return this.ask(ask);
  }

  /** Two signals can end this wait: the caller's and the instance's own. */
  private async askUntilEither(ask: Acquisition, one: AbortSignal, other: AbortSignal): Promise<unknown> {
    const either = new AbortController();
    const listening = [one, other].map((signal) => onAbort(signal, (reason) => either.abort(reason)));
    ask.signal = either.signal;
    try {
      return await this.ask(ask);
    } finally {
      for (const listener of listening) listener[Symbol.dispose]();
    }
  }

  private ask(ask: Acquisition): unknown {
    const { instance } = this;
    try {
      this.refuseIfOver(ask);
      const reply = instance.driver.acquire(ask);
      if (reply === LATER) return this.later(ask);
      if ('then' in reply) return this.wait(ask, reply);
      if (isConflict(reply)) return this.wait(ask, Promise.resolve(reply));
      return ask.made(this.answered(ask, reply));
    } catch (error) {
      this.failed(ask, error);
      throw error;
    }
  }

  private later(ask: Acquisition): Promise<unknown> {
    if (this.isListenedTo) return this.wait(ask, promisedReply(ask));
    ask.reader = this;
    return ask.promise();
  }

  private wait(ask: Acquisition, reply: Promise<Reply>): Promise<unknown> {
    const acquired = ask.promise();
    reply.then(
      // Read later than it was decided: by clocks that are read anew.
      (read) => this.readAt(ask, read, this.instance.clock.now()),
      (error: unknown) => this.readError(ask, error),
    );
    return acquired;
  }

  /** Listeners are called in the caller's asynchronous context, which a promise brings along: a log line keeps its request. */
  private get isListenedTo(): boolean {
    const { events, figures } = this.instance;
    return figures !== undefined || events.has('lock.granted') || events.has('acquire.failed');
  }

  /** In the turn in which the driver read it. */
  read(ask: Acquisition, reply: Reply): void {
    this.readAt(ask, reply, undefined);
  }

  private readAt(ask: Acquisition, reply: Reply, now: Instant | undefined): void {
    if (isConflict(reply)) return void this.askAnew(ask);
    try {
      ask.resolve(ask.made(this.answered(ask, reply, now)));
    } catch (error) {
      this.readError(ask, error);
    }
  }

  readError(ask: Acquisition, error: unknown): void {
    const told = this.asClosed(ask, error);
    this.failed(ask, told);
    ask.reject(told);
  }

  /** The grant of this id ended before its answer arrived: asked again under a new id while the wait lasts. */
  private async askAnew(ask: Acquisition): Promise<void> {
    const { clock, driver } = this.instance;
    try {
      for (let conflicts = 1; ; conflicts++) {
        // One is chance; a store that goes on so must not be asked as fast as it can answer.
        if (conflicts > 1) {
          this.refuseIfOver(ask);
          await this.pauseBetween(ask);
        }
        const now = clock.now();
        const leftMs = ask.waitMs - (now.monoMs - ask.askedAt.monoMs);
        if (leftMs <= 0) throw conflicted(ask.key);
        this.refuseIfOver(ask);
        const reply = await driver.acquire(ask.again(Math.ceil(leftMs), now));
        if (reply === LATER) throw new TypeError(`the ${driver.name} driver owes an answer to nobody`);
        if (!isConflict(reply)) return ask.resolve(ask.made(this.answered(ask, reply, clock.now())));
      }
    } catch (error) {
      this.readError(ask, error);
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

  /** @param now where it is not the turn in which the driver read the answer. */
  private answered(ask: Acquisition, reply: Reply, now?: Instant): Acquired {
    if (!reply.granted) return this.busy(ask, reply);
    const hold = this.adopt(ask, reply, now ?? reply.decidedAt ?? this.instance.clock.now());
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
    if (this.isOver(ask)) this.giveBack(ask, grant);
    const hold = new Hold(instance, grant, ask.terms, now);
    instance.figures?.held(hold);
    if (grant.ended !== undefined) hold.lose(grant.ended, true);
    if ((grant.lease as Lease).state !== 'alive' || !hold.heldAt(now)) throw bornDead(hold);
    if (instance.events.has('lock.granted')) instance.tellGranted(hold, now.monoMs - ask.askedAt.monoMs);
    return hold;
  }

  private isOver({ terms }: Acquisition): boolean {
    return this.instance.isClosing || terms.signal?.aborted === true;
  }

  private giveBack(ask: Acquisition, grant: DriverGrant): never {
    void this.instance.release(grant);
    throw this.whyOver(ask);
  }

  private refuseIfOver(ask: Acquisition): void {
    if (this.isOver(ask)) throw this.whyOver(ask);
  }

  private whyOver({ key, terms }: Acquisition): Error {
    return this.instance.isClosing ? this.instance.closedError(key) : abortedError(key, terms.signal?.reason);
  }

  private failed(ask: Acquisition, error: unknown): void {
    if (isLockError(error, 'LOCK_TIMEOUT')) ask.figures?.busy(error);
    else ask.figures?.failed(error);
    ask.failed();
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

function promisedReply(ask: Acquisition): Promise<Reply> {
  const promised = new PromisedReply();
  ask.reader = {
    read: (_, reply) => promised.settle(reply),
    readError: (_, error) => promised.fail(error),
  };
  return promised.promise;
}

function isConflict(reply: Reply): reply is DriverBusy & { readonly conflict: true } {
  return !reply.granted && reply.conflict === true;
}
