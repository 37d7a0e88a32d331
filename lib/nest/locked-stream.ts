import { Observable, Subject, from, isObservable, takeUntil } from 'rxjs';
import type { LockLostError, Section } from '../core/index.js';
import { systemClock } from '../core/index.js';
import { whileOpen } from './client-connection.js';
import type { LockedCall } from './locked-call.js';
import { iterateLocked } from './locked-iterable.js';
import { isAsyncIterable, isAsyncIterator } from './method-shape.js';

/** Nest subscribes to what a method resolved to within the same turn; a lock nobody takes over is not kept longer than this. */
const HAND_OVER_MS = 50;

/** Ends a wait whose subscriber has gone. */
const UNSUBSCRIBED = 'unsubscribed';

interface Subscriber {
  readonly closed: boolean;
  next(value: unknown): void;
  error(error: unknown): void;
  complete(): void;
}

/**
 * The call as an Observable: each subscription waits for the lock, runs the method, and holds until the stream completes,
 * fails or is unsubscribed.
 */
export function asObservable(call: LockedCall): Observable<unknown> {
  return lockedObservable(call, (section) => call.run(section));
}

function lockedObservable(
  call: LockedCall,
  body: (section: Section | undefined) => unknown,
): Observable<unknown> {
  const stream = new Observable((subscriber: Subscriber) => {
    const gone = new AbortController();
    let stop: () => void = () => gone.abort(UNSUBSCRIBED);
    void start(call, gone.signal, subscriber, body, (running) => {
      stop = running;
      // A subscriber that had enough of the first values has left before there was anything to stop.
      if (subscriber.closed) stop();
    });
    return () => stop();
  });
  return whileOpen(call.connection, stream);
}

/** Never rejects: whatever goes wrong is the subscriber's. */
async function start(
  call: LockedCall,
  gone: AbortSignal,
  subscriber: Subscriber,
  body: (section: Section | undefined) => unknown,
  running: (stop: () => void) => void,
): Promise<void> {
  try {
    const entry = await call.enter(gone);
    if (entry.entered === 'skipped') subscriber.complete();
    else if (entry.entered === 'unlocked')
      running(
        follow(
          toObservable(() => body(undefined)),
          subscriber,
        ),
      );
    // Granted in the turn in which the subscriber left: nobody is there to end it.
    else if (subscriber.closed) await entry.section.leave();
    else running(holdWhile(call, entry.section, body, subscriber));
  } catch (error) {
    subscriber.error(error);
  }
}

/** Passes a stream on while its lock is held, and gives the lock back at its end. Returns what ends it early. */
function holdWhile(
  call: LockedCall,
  section: Section,
  body: (section: Section) => unknown,
  subscriber: Subscriber,
): () => void {
  const stopped = new Subject<void>();
  let ended = false;
  const end = (tell: () => void): void => {
    if (ended) return;
    ended = true;
    stopped.next();
    void section.leave().then(tell);
  };
  const endLost = (loss: LockLostError): void => end(() => subscriber.error(loss));
  const endIfLost = (): boolean => {
    const loss = ended ? undefined : call.lossOf(section);
    if (loss !== undefined) endLost(loss);
    return loss !== undefined;
  };
  void section.handle.done.then((how) => how.end === 'lost' && endIfLost());
  section.run(() =>
    toObservable(() => body(section))
      .pipe(takeUntil(stopped))
      .subscribe({
        next: (value) => void (endIfLost() || subscriber.next(value)),
        error: (error: unknown) => end(() => subscriber.error(error)),
        complete: () => void (endIfLost() || end(() => subscriber.complete())),
      }),
  );
  return () => end(() => undefined);
}

function follow(source: Observable<unknown>, subscriber: Subscriber): () => void {
  const subscription = source.subscribe({
    next: (value) => subscriber.next(value),
    error: (error) => subscriber.error(error),
    complete: () => subscriber.complete(),
  });
  return () => subscription.unsubscribe();
}

/** Whatever the method returned, as a stream; its synchronous throw as the stream's error. */
function toObservable(body: () => unknown): Observable<unknown> {
  return new Observable((subscriber) => {
    const made = body();
    if (isObservable(made)) return made.subscribe(subscriber);
    if (isAsyncIterable(made)) return from(made).subscribe(subscriber);
    return from(Promise.resolve(made)).subscribe(subscriber);
  });
}

/**
 * What an async method resolved to, if that is a stream: the lock stays with it until it has ended. Nobody knows whether
 * it will be used at all, so a lock that is not taken over at once is given back, and taken again when the stream is.
 */
export function handOver(call: LockedCall, section: Section, result: unknown): unknown {
  if (!isObservable(result) && !isAsyncIterator(result)) return undefined;
  let waiting: Section | undefined = section;
  systemClock.after(HAND_OVER_MS, () => void take()?.leave());
  const take = (): Section | undefined => {
    const taken = waiting;
    waiting = undefined;
    return taken;
  };
  if (!isObservable(result)) return iterateLocked(call, () => result, take);
  const stream = new Observable((subscriber) => {
    const taken = take();
    if (taken === undefined) return lockedObservable(call, () => result).subscribe(subscriber);
    return holdWhile(call, taken, () => result, subscriber);
  });
  return whileOpen(call.connection, stream);
}
