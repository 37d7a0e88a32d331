/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { defer, lastValueFrom, of, toArray, type Observable } from 'rxjs';
import type { KlockInstance } from '../core/index.js';
import { Locked } from './locked.decorator.js';
import { boundTo, openKlock, rejection, thrown } from './locked.spec-support.js';
import { RequiresLock } from './requires-lock.decorator.js';

class Orders {
  runs = 0;

  @RequiresLock('order:{0.id}')
  async update(order: { id: string }): Promise<string> {
    this.runs++;
    return order.id;
  }

  @RequiresLock('order:{0.id}', 'line:{1}')
  line(_order: { id: string }, line: number): number {
    this.runs++;
    return line;
  }

  @RequiresLock((id: string) => `order:${id}`)
  stream(_id: string): Observable<number> {
    this.runs++;
    return of(1, 2);
  }

  @RequiresLock((id: string) => `order:${id}`)
  inferred(_id: string) {
    return defer(() => of(++this.runs));
  }

  @RequiresLock((id: string) => `order:${id}`)
  async *steps(_id: string): AsyncGenerator<number> {
    this.runs++;
    yield 1;
    yield 2;
  }

  @Locked('order:{0.id}')
  @RequiresLock('order:{0.id}')
  async both(order: { id: string }): Promise<string> {
    return await this.update(order);
  }
}

let klock: KlockInstance;
let orders: Orders;

beforeEach(() => {
  ({ klock } = openKlock({ name: 'default' }));
  orders = boundTo(new Orders(), klock);
});

const order = { id: '1' };
const refused = { code: 'LOCK_NOT_HELD' };

describe('@RequiresLock', () => {
  it('runs inside a flow that holds the key, also in calls and turns below it', async () => {
    await klock.withLock('order:1', async () => {
      expect(await orders.update(order)).toBe('1');
      await new Promise((resolve) => setImmediate(resolve));
      expect(await Promise.all([orders.update(order), orders.update(order)])).toEqual(['1', '1']);
    });
    expect(orders.runs).toBe(3);
  });

  it('an L1 covers its L2s; an L2 covers neither its L1 nor another L2', async () => {
    await klock.withLock('order:1', () => expect(orders.line(order, 7)).toBe(7));
    await klock.withLock(['order:1', 'line:7'], async () => {
      expect(orders.line(order, 7)).toBe(7);
      expect(thrown(() => orders.line(order, 8))).toMatchObject(refused);
      expect(await rejection(orders.update(order))).toMatchObject(refused);
    });
    expect(orders.runs).toBe(2);
  });

  it('refuses outside of a flow, for another key, and for a lock that another flow or a bare handle holds', async () => {
    const error = await rejection(orders.update(order));
    expect(error).toMatchObject({ ...refused, key: ['order:1'] });
    expect((error as Error).message).toContain(
      'Orders.update was not run, since its flow does not hold "order:1"',
    );
    await klock.withLock('order:2', async () =>
      expect(await rejection(orders.update(order))).toMatchObject(refused),
    );
    await using _bare = await klock.acquire('order:1');
    expect(await rejection(orders.update(order))).toMatchObject(refused);
    expect(orders.runs).toBe(0);
  });

  it('refuses after the lock was released or lost, in the same flow', async () => {
    const { klock: brief, clock } = openKlock({ name: 'default' });
    const own = boundTo(new Orders(), brief);
    await brief.withLock('order:1', async (lock) => {
      await lock.release();
      expect(await rejection(own.update(order))).toMatchObject(refused);
    });
    const lost = brief.withLock('order:1', { ttlMs: 1_000, renew: false }, async () => {
      clock.block(2_000);
      return await own.update(order);
    });
    expect(await rejection(lost)).toMatchObject(refused);
    expect(own.runs).toBe(0);
  });

  it('a synchronous method stays synchronous, and throws', async () => {
    expect(thrown(() => orders.line(order, 1))).toMatchObject(refused);
    await klock.withLock('order:1', () => expect(orders.line(order, 1)).toBe(1));
  });

  it('asks a stream at its subscription, an iterator at its first step, since that is when they work', async () => {
    for (const name of ['stream', 'inferred'] as const) {
      const outside = await klock.withLock('order:1', () => orders[name]('1'));
      const before = orders.runs;
      expect(await rejection(lastValueFrom(outside))).toMatchObject(refused);
      expect(orders.runs).toBe(before);
      await klock.withLock('order:1', async () => {
        const values = await lastValueFrom(orders[name]('1').pipe(toArray()));
        expect(values.length).toBeGreaterThan(0);
      });
    }
    const steps = await klock.withLock('order:1', () => orders.steps('1'));
    expect(await rejection(steps.next())).toMatchObject(refused);
    await klock.withLock('order:1', async () => {
      const values: number[] = [];
      for await (const value of orders.steps('1')) values.push(value);
      expect(values).toEqual([1, 2]);
    });
  });

  it('stands under @Locked on one method, and a decorated method satisfies what it calls', async () => {
    expect(await orders.both(order)).toBe('1');
    expect(await klock.isLocked('order:1')).toBe(false);
  });

  it('[B-074] a key part that is missing is KEY_UNRESOLVED, even where some lock is held', async () => {
    await klock.withLock('order:1', async () => {
      expect(await rejection(orders.update({} as never))).toMatchObject({ code: 'KEY_UNRESOLVED' });
    });
  });

  it('[B-077] an object no application knows, or an instance nobody made, refuses with the import that is missing', async () => {
    const lonely = await rejection(new Orders().update(order));
    expect(lonely).toMatchObject({ code: 'NOT_INITIALIZED' });
    expect((lonely as Error).message).toContain('imports KlockModule');
    class Other {
      @RequiresLock('k', { use: 'jobs' })
      async run(): Promise<void> {}
    }
    const other = await rejection(boundTo(new Other(), klock).run());
    expect((other as Error).message).toContain("makes the instance 'jobs' (there are: default)");
  });

  it('keeps name and length, and refuses bad options and keys where the class is defined', () => {
    // eslint-disable-next-line @typescript-eslint/unbound-method
    const { update } = Orders.prototype;
    expect([update.name, update.length]).toEqual(['update', 1]);
    expect(() => decorate(RequiresLock('k', { uses: 'x' } as never))).toThrow(
      /@RequiresLock on Plain\.run: .*no option "uses"/,
    );
    expect(() => decorate(RequiresLock('k', { use: 7 } as never))).toThrow(
      /@RequiresLock on Plain\.run: use must be/,
    );
    expect(() => decorate(RequiresLock('{id}'))).toThrow(/Plain\.run holds \{id\}/);
    expect(() => decorate((RequiresLock as (...all: unknown[]) => never)('a', 'b', {}, 1))).toThrow(
      /@RequiresLock on Plain\.run takes a key function/,
    );
  });

  it('is typed: the key function must accept the first parameters', () => {
    class Typed {
      // @ts-expect-error -- the method's first parameter is a number
      @RequiresLock((id: string) => id)
      run(_id: number): void {}
    }
    expect(Typed).toBeDefined();
  });
});

function decorate(decorator: (target: object, name: string, descriptor: never) => void): void {
  class Plain {
    run(): void {}
  }
  decorator(Plain.prototype, 'run', Object.getOwnPropertyDescriptor(Plain.prototype, 'run') as never);
}
