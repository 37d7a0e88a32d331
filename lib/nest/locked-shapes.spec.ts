/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { AsyncResource } from 'node:async_hooks';
import { jest } from '@jest/globals';
import {
  NEVER,
  Observable,
  Subject,
  concat,
  defer,
  isObservable,
  lastValueFrom,
  of,
  take,
  throwError,
  toArray,
} from 'rxjs';
import { CurrentLock } from './current-lock.decorator.js';
import { Locked } from './locked.decorator.js';
import { boundTo, openKlock, rejection } from './locked.spec-support.js';
import type { KlockInstance, LockHandle, LossReason } from '../core/index.js';
import { settle, type FakeClock } from '../core/fake-clock.js';
import { ScriptedDriver } from '../core/scripted-driver.js';

let clock: FakeClock;
let klock: KlockInstance;
let grants: number;
let releases: number;

beforeEach(() => {
  ({ clock, klock } = openKlock());
  grants = releases = 0;
  klock.on('lock.granted', () => grants++);
  klock.on('lock.released', () => releases++);
});

/** A cold stream: three values, 100 ms apart, with whether the lock was held at each. */
function values(): Observable<string> {
  return new Observable((subscriber) => {
    let sent = 0;
    // Bound, since timers of a fake clock do not take the flow along as real ones do.
    const tick = AsyncResource.bind((): void => {
      if (subscriber.closed) return;
      subscriber.next(`${++sent} ${klock.current('k')?.held === true}`);
      if (sent === 3) subscriber.complete();
      else clock.after(100, tick);
    });
    clock.after(100, tick);
  });
}

/** The same stream in every way a method can say, or not say, that it returns one. */
class Streams {
  calls = 0;
  constructor(private readonly source: () => Observable<unknown> = values) {}
  @Locked('k')
  annotated(): Observable<unknown> {
    this.calls++;
    return this.source();
  }
  @Locked('k')
  inferred() {
    this.calls++;
    return this.source();
  }
}
const FORMS = ['annotated', 'inferred'] as const;

describe('a method that returns an Observable', () => {
  it.each(FORMS)(
    '[B-069] holds from subscribe to completion, passing all values in order (%s)',
    async (form) => {
      const call = boundTo(new Streams(), klock)[form]();
      expect(isObservable(call)).toBe(true);
      const all = lastValueFrom(call.pipe(toArray()));
      await clock.advance(250);
      expect([await klock.isLocked('k'), grants, releases]).toEqual([true, 1, 0]);
      await clock.advance(100);
      expect(await all).toEqual(['1 true', '2 true', '3 true']);
      expect([await klock.isLocked('k'), grants, releases]).toEqual([false, 1, 1]);
    },
  );

  it('[B-069] takes no lock and runs nothing when nobody subscribes', async () => {
    const streams = boundTo(new Streams(), klock);
    streams.annotated();
    await clock.advance(1_000);
    expect([grants, streams.calls]).toEqual([0, 0]);
  });

  it('[B-069] keeps no lock when nobody subscribes to a stream whose type was inferred', async () => {
    boundTo(new Streams(), klock).inferred();
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect([await klock.isLocked('k'), grants, releases]).toEqual([false, 1, 1]);
  });

  it.each(FORMS)('[B-069] releases once on an error, and passes that very error on (%s)', async (form) => {
    const own = new Error('mine');
    const streams = boundTo(
      new Streams(() =>
        concat(
          of('1'),
          throwError(() => own),
        ),
      ),
      klock,
    );
    const seen: unknown[] = [];
    const error = await rejection(
      new Promise((resolve, reject) =>
        streams[form]().subscribe({
          next: (value) => seen.push(value),
          error: reject,
          complete: () => resolve(''),
        }),
      ),
    );
    expect(error).toBe(own);
    expect([seen, grants, releases]).toEqual([['1'], 1, 1]);
  });

  it.each(FORMS)(
    '[B-069] releases on unsubscribe, in mid-stream, during a value, and while it still waits (%s)',
    async (form) => {
      const streams = boundTo(new Streams(), klock);
      const middle = streams[form]().subscribe();
      await clock.advance(150);
      middle.unsubscribe();
      await settle();
      expect([await klock.isLocked('k'), grants, releases]).toEqual([false, 1, 1]);

      const some = boundTo(new Streams(() => concat(of(1, 2, 3), NEVER)), klock);
      expect(await lastValueFrom(some[form]().pipe(take(1)))).toBe(1);
      await settle();
      expect([await klock.isLocked('k'), grants, releases]).toEqual([false, 2, 2]);

      const held = await klock.acquire('k');
      const waiting = streams[form]().subscribe({ error: () => grants++ });
      await settle();
      waiting.unsubscribe();
      await held.release();
      await clock.advance(100);
      expect([await klock.isLocked('k'), streams.calls]).toEqual([false, 1]);

      const again = await klock.acquire('k');
      const granted = streams[form]().subscribe();
      await settle();
      const released = again.release();
      granted.unsubscribe();
      await released;
      await settle();
      expect([await klock.isLocked('k'), streams.calls]).toEqual([false, 1]);
    },
  );

  it.each(FORMS)('[B-069] lets two subscribers exclude each other (%s)', async (form) => {
    const call = boundTo(new Streams(), klock)[form]();
    const order: string[] = [];
    const follow = (name: string): Promise<void> =>
      new Promise((resolve) =>
        call.subscribe({ next: (value) => order.push(`${name}${String(value)[0]}`), complete: resolve }),
      );
    const both = Promise.all([follow('a'), follow('b')]);
    await clock.advance(700);
    await both;
    expect(order).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'b3']);
    expect([grants, releases]).toEqual([2, 2]);
  });

  it('[B-069] holds for a hot source until it completes', async () => {
    const subject = new Subject<number>();
    const streams = boundTo(new Streams(() => subject), klock);
    const seen: unknown[] = [];
    streams.annotated().subscribe((value) => seen.push(value));
    await settle();
    subject.next(1);
    expect(await klock.isLocked('k')).toBe(true);
    subject.complete();
    await settle();
    expect([seen, await klock.isLocked('k')]).toEqual([[1], false]);
  });

  it.each(FORMS)(
    '[B-069] fails with LockLostError when the lock is lost in mid-stream, and passes no later value (%s)',
    async (form) => {
      const driver = new ScriptedDriver();
      const opened = openKlock({ driver });
      const subject = new Subject<number>();
      const streams = boundTo(new Streams(() => subject), opened.klock);
      const seen: unknown[] = [];
      const lost = jest.fn();
      streams[form]().subscribe({ next: (value) => seen.push(value), error: lost });
      await settle();
      subject.next(1);
      driver.onRenew = () => ({
        outcome: 'gone',
        reason: 'session-gone' as LossReason,
        code: 'SESSION_GONE',
      });
      await opened.clock.advance(5_000);
      subject.next(2);
      expect(seen).toEqual([1]);
      expect(lost).toHaveBeenCalledWith(
        expect.objectContaining({ code: 'LOCK_LOST', reason: 'session-gone' }),
      );
      expect(subject.observed).toBe(false);
    },
  );

  it('completes without a value when the key is busy and onBusy is skip', async () => {
    const held = await klock.acquire('k');
    class Service {
      @Locked('k', { waitMs: 0, onBusy: 'skip' })
      m(): Observable<number> {
        return of(1);
      }
    }
    expect(await lastValueFrom(boundTo(new Service(), klock).m().pipe(toArray()))).toEqual([]);
    await held.release();
  });

  it('tells a missing module or a bad key to the subscriber, and runs nothing', async () => {
    const streams = new Streams();
    expect(await rejection(lastValueFrom(streams.annotated()))).toMatchObject({ code: 'NOT_INITIALIZED' });
    expect(await rejection(lastValueFrom(streams.inferred()))).toMatchObject({ code: 'NOT_INITIALIZED' });
    expect(streams.calls).toBe(0);
  });
});

describe('a promise of an Observable', () => {
  class Service {
    @Locked('k')
    async m(): Promise<Observable<unknown>> {
      return values();
    }
  }

  it('[B-069] keeps the lock until the stream has ended', async () => {
    const stream = await boundTo(new Service(), klock).m();
    const all = lastValueFrom(stream.pipe(toArray()));
    await clock.advance(250);
    expect([await klock.isLocked('k'), grants]).toEqual([true, 1]);
    await clock.advance(100);
    expect(await all).toEqual(['1 true', '2 true', '3 true']);
    expect([await klock.isLocked('k'), grants, releases]).toEqual([false, 1, 1]);
  });

  it('[B-069] gives the lock back when nobody subscribes, and takes it again when somebody does', async () => {
    const stream = await boundTo(new Service(), klock).m();
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(await klock.isLocked('k')).toBe(false);
    const all = lastValueFrom(stream.pipe(toArray()));
    await clock.advance(400);
    expect(await all).toEqual(['1 true', '2 true', '3 true']);
    expect([grants, releases]).toEqual([2, 2]);
  });
});

describe('a method that returns an async iterator', () => {
  class Service {
    steps: unknown[] = [];
    @Locked('k')
    async *m(
      limit: number,
      @CurrentLock() lock?: LockHandle,
    ): AsyncGenerator<string, string, string | undefined> {
      try {
        for (let step = 1; step <= limit; step++) {
          const got = yield `${step} ${lock?.held} ${klock.current('k') !== undefined}`;
          if (got !== undefined) this.steps.push(got);
        }
        return 'end';
      } finally {
        this.steps.push('finally');
      }
    }
    @Locked('k')
    inferred(limit: number) {
      return this.m2(limit);
    }
    private async *m2(limit: number): AsyncGenerator<number> {
      for (let step = 1; step <= limit; step++) yield step;
    }
  }

  it('[B-071] [peers 3] holds from the first step to the last', async () => {
    const seen: string[] = [];
    for await (const value of boundTo(new Service(), klock).m(2)) {
      seen.push(`${value} ${await klock.isLocked('k')}`);
    }
    expect(seen).toEqual(['1 true true true', '2 true true true']);
    expect([await klock.isLocked('k'), grants, releases]).toEqual([false, 1, 1]);
  });

  it('shows no more of itself than a generator does', () => {
    const iterator = boundTo(new Service(), klock).m(2);
    expect([JSON.stringify(iterator), Object.prototype.toString.call(iterator)]).toEqual([
      '{}',
      '[object AsyncGenerator]',
    ]);
  });

  it('takes no lock when it is never iterated', async () => {
    const iterator = boundTo(new Service(), klock).m(2);
    await settle();
    await iterator.return('x');
    expect(grants).toBe(0);
  });

  it('passes values in, ends on return() and throw(), and releases on each', async () => {
    const service = boundTo(new Service(), klock);
    const first = service.m(3);
    await first.next();
    expect((await first.next('in')).value).toBe('2 true true');
    expect(await first.return('early')).toEqual({ done: true, value: 'early' });
    expect(service.steps).toEqual(['in', 'finally']);
    expect(await klock.isLocked('k')).toBe(false);
    const second = service.m(3);
    await second.next();
    const own = new Error('mine');
    expect(await rejection(second.throw(own))).toBe(own);
    expect(await klock.isLocked('k')).toBe(false);
    const third = service.m(0);
    expect(await third.next()).toEqual({ done: true, value: 'end' });
    expect([grants, releases]).toEqual([3, 3]);
  });

  it('fails a step that hangs when the lock is lost', async () => {
    class Hanging {
      @Locked('k', { maxHoldMs: 500 })
      async *m(): AsyncGenerator<number> {
        yield 1;
        await new Promise(() => undefined);
      }
    }
    const iterator = boundTo(new Hanging(), klock).m();
    await iterator.next();
    const step = rejection(iterator.next());
    await clock.advance(501);
    expect(await step).toMatchObject({ code: 'LOCK_LOST', reason: 'max-hold' });
    expect(await klock.isLocked('k')).toBe(false);
  });

  /** What a message bus gives: a step waits for the next event, which may never come, and `return()` ends it. */
  class Events implements AsyncIterableIterator<string> {
    private end = (): void => undefined;
    private readonly ended = new Promise<void>((resolve) => (this.end = resolve));
    private waiting = false;

    async next(): Promise<IteratorResult<string>> {
      if (this.waiting) await this.ended;
      else this.waiting = true;
      return this.waiting ? { done: false, value: 'first' } : { done: true, value: undefined };
    }
    return(): Promise<IteratorResult<string>> {
      this.waiting = false;
      this.end();
      return Promise.resolve({ done: true, value: undefined });
    }
    [Symbol.asyncIterator](): this {
      return this;
    }
  }
  class Bus {
    runs = 0;
    @Locked('k')
    typed(): AsyncIterableIterator<string> {
      return new Events();
    }
    @Locked('k')
    inferred() {
      return new Events();
    }
    @Locked('k')
    async promised(): Promise<AsyncIterableIterator<string>> {
      return new Events();
    }
    @Locked('k')
    async cursor(): Promise<AsyncIterable<string>> {
      return Object.assign(new Events(), { on: () => undefined });
    }
    @Locked('k')
    async *generator(): AsyncGenerator<string> {
      this.runs++;
      yield 'first';
    }
  }

  it.each(['typed', 'inferred'] as const)(
    '[B-069] hears return() while a step waits for a value that never comes, and is free at once (%s)',
    async (method) => {
      const iterator = boundTo(new Bus(), klock)[method]()[Symbol.asyncIterator]();
      expect(await iterator.next()).toEqual({ done: false, value: 'first' });
      const step = iterator.next();
      await settle();
      expect(await klock.isLocked('k')).toBe(true);
      expect(await iterator.return?.()).toMatchObject({ done: true });
      expect(await step).toEqual({ done: true, value: undefined });
      expect([await klock.isLocked('k'), grants, releases]).toEqual([false, 1, 1]);
      expect(await iterator.next()).toEqual({ done: true, value: undefined });
    },
  );

  it('[B-069] keeps its lock when it is what a promise resolved to, as in a subscription; a cursor is a result like any other', async () => {
    const bus = boundTo(new Bus(), klock);
    const iterator = await bus.promised();
    expect(await iterator.next()).toEqual({ done: false, value: 'first' });
    expect(await klock.isLocked('k')).toBe(true);
    await iterator.return?.();
    expect(await klock.isLocked('k')).toBe(false);
    expect(await bus.cursor()).toBeInstanceOf(Events);
    expect([await klock.isLocked('k'), grants, releases]).toEqual([false, 2, 2]);
  });

  it('[B-069] gives up its wait for the lock on return(), and its body never runs', async () => {
    const held = await klock.acquire('k');
    const bus = boundTo(new Bus(), klock);
    const iterator = bus.generator();
    const step = iterator.next();
    await settle();
    expect(await iterator.return('gone')).toEqual({ done: true, value: 'gone' });
    expect(await step).toEqual({ done: true, value: undefined });
    await held.release();
    await settle();
    expect([bus.runs, await klock.isLocked('k')]).toEqual([0, false]);
  });

  it('fails once where its lock cannot be had, and has ended then', async () => {
    const held = await klock.acquire('k');
    const iterator = boundTo(new Bus(), klock).generator();
    const step = rejection(iterator.next());
    await settle();
    await clock.advance(10_001);
    expect(await step).toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    await held.release();
  });

  it('is iterated under the lock although its type was inferred', async () => {
    const seen: unknown[] = [];
    for await (const value of boundTo(new Service(), klock).inferred(2))
      seen.push([value, await klock.isLocked('k')]);
    expect(seen).toEqual([
      [1, true],
      [2, true],
    ]);
    expect([await klock.isLocked('k'), grants, releases]).toEqual([false, 1, 1]);
  });
});

describe('a method that does not say what it returns', () => {
  it('[B-071] gives a promise in plain JavaScript; a synchronous throw becomes a rejection after the release', async () => {
    class X {
      f(): unknown {
        return 1;
      }
      g(): unknown {
        throw new Error('sync');
      }
    }
    const lock = Locked('k') as unknown as MethodDecorator;
    for (const name of ['f', 'g'] as const) {
      const descriptor = Object.getOwnPropertyDescriptor(X.prototype, name) as PropertyDescriptor;
      lock(X.prototype, name, descriptor);
      Object.defineProperty(X.prototype, name, descriptor);
    }
    const x = boundTo(new X(), klock);
    const result = x.f();
    expect(result).toBeInstanceOf(Promise);
    expect(await result).toBe(1);
    expect(await rejection(x.g())).toEqual(new Error('sync'));
    expect([await klock.isLocked('k'), grants, releases]).toEqual([false, 2, 2]);
  });

  it('runs although nobody looks at its result', async () => {
    let ran = false;
    class Service {
      @Locked('k')
      m() {
        ran = true;
        return Promise.resolve();
      }
    }
    void boundTo(new Service(), klock).m();
    await settle();
    expect(ran).toBe(true);
  });

  it('can be subscribed and awaited: one run, one lock', async () => {
    const streams = boundTo(new Streams(() => defer(() => of('x'))), klock);
    const call = streams.inferred() as unknown as Promise<Observable<unknown>> & Observable<unknown>;
    const seen = await lastValueFrom(call.pipe(toArray()));
    expect(isObservable(await call)).toBe(true);
    expect([seen, streams.calls]).toEqual([['x'], 1]);
  });

  it('can be subscribed late, and used inside other streams', async () => {
    const streams = boundTo(new Streams(() => of('x', 'y')), klock);
    const late = streams.inferred();
    await settle();
    expect(await lastValueFrom(late.pipe(toArray()))).toEqual(['x', 'y']);
    expect(await lastValueFrom(concat(streams.inferred(), streams.inferred()).pipe(toArray()))).toEqual([
      'x',
      'y',
      'x',
      'y',
    ]);
    expect(await klock.isLocked('k')).toBe(false);
  });
});
