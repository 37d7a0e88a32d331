import { Subject, of, type Observable } from 'rxjs';
import { holdBackStreams } from './held-back-stream.js';

/** A request stream as Nest makes it: hot, and marked by its own means. */
function requestStream(): { subject: Subject<number>; held: Observable<number> } {
  const subject = new Subject<number>();
  const stream = Object.defineProperty(subject.asObservable(), 'drainBuffer', { value: () => undefined });
  const [held] = holdBackStreams([stream], 'Orders.talk') as [Observable<number>];
  return { subject, held };
}

function listen(stream: Observable<number>): unknown[] {
  const seen: unknown[] = [];
  stream.subscribe({
    next: (value) => seen.push(value),
    error: (error: { code: string }) => seen.push(error.code),
    complete: () => seen.push('complete'),
  });
  return seen;
}

describe('a request stream whose handler waits for its lock', () => {
  it('[B-068] loses nothing of what arrives meanwhile, and goes on as it was', () => {
    const { subject, held } = requestStream();
    subject.next(1);
    subject.next(2);
    const seen = listen(held);
    subject.next(3);
    // Hot as before: who comes late has missed what was.
    const late = listen(held);
    subject.next(4);
    subject.complete();
    expect(seen).toEqual([1, 2, 3, 4, 'complete']);
    expect(late).toEqual([4, 'complete']);
  });

  it('[B-068] tells its end, or its error, to a handler that listens afterwards', () => {
    const ended = requestStream();
    ended.subject.next(1);
    ended.subject.complete();
    expect(listen(ended.held)).toEqual([1, 'complete']);
    const failed = requestStream();
    failed.subject.error({ code: 'broken' });
    expect(listen(failed.held)).toEqual(['broken']);
  });

  it('holds back a bounded number of messages, then fails', () => {
    const atBound = requestStream();
    for (let n = 0; n < 1_024; n++) atBound.subject.next(n);
    expect(listen(atBound.held)).toHaveLength(1_024);
    const beyond = requestStream();
    for (let n = 0; n < 1_025; n++) beyond.subject.next(n);
    expect(beyond.subject.observed).toBe(false);
    expect(listen(beyond.held)).toEqual(['LOCK_UNAVAILABLE']);
  });

  it('leaves all other arguments alone', () => {
    const cold = of(1);
    const args = ['a', cold, { b: 1 }];
    expect(holdBackStreams(args, 'x')).toBe(args);
  });
});
