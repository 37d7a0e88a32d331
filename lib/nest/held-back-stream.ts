import { Observable, Subject, isObservable } from 'rxjs';
import { LockUnavailableError } from '../core/index.js';

/** A client that sends more than this before its call holds the lock is refused: nothing may grow without bound. */
const MAX_HELD_BACK = 1_024;

/**
 * Arguments as they are, but a gRPC request stream of Nest: it sends on whether anybody listens or not, and a handler that
 * waits for its lock does not listen yet. What arrives meanwhile is held back for it.
 */
export function holdBackStreams(args: readonly unknown[], label: string): readonly unknown[] {
  return args.some(isRequestStream)
    ? args.map((arg) => (isRequestStream(arg) ? heldBack(arg, label) : arg))
    : args;
}

/** Nest puts this on the streams it makes of requests; other Observables may be cold, and must not be subscribed early. */
function isRequestStream(value: unknown): value is Observable<unknown> {
  return typeof value === 'object' && value !== null && 'drainBuffer' in value && isObservable(value);
}

type Told = (subject: Subject<unknown>) => void;

function heldBack(source: Observable<unknown>, label: string): Observable<unknown> {
  const subject = new Subject<unknown>();
  let waiting: Told[] | undefined = [];
  const tell = (told: Told): void => {
    if (waiting === undefined) return told(subject);
    if (waiting.push(told) <= MAX_HELD_BACK) return;
    arriving.unsubscribe();
    waiting = [(to) => to.error(tooMany(label))];
  };
  const arriving = source.subscribe({
    next: (value) => tell((to) => to.next(value)),
    error: (error) => tell((to) => to.error(error)),
    complete: () => tell((to) => to.complete()),
  });
  return new Observable((subscriber) => {
    const subscription = subject.subscribe(subscriber);
    const held = waiting ?? [];
    waiting = undefined;
    for (const told of held) told(subject);
    return subscription;
  });
}

function tooMany(label: string): LockUnavailableError {
  return new LockUnavailableError(
    `${label}: more than ${MAX_HELD_BACK} messages arrived before the lock was granted`,
    { operation: 'acquire' },
  );
}
