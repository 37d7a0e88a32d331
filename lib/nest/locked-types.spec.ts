/* eslint-disable @typescript-eslint/require-await -- what matters here is the declared type */
import { Observable, of } from 'rxjs';
import { CurrentLock, Locked, type LockedOptions } from './index.js';
import type { LockHandle } from '../core/index.js';

interface Ref {
  readonly tenantId: string;
  readonly id: number;
}

// Checked by the compiler: every line below an expected error fails the type check if it compiles.
class Accepted {
  @Locked('k')
  async promise(): Promise<number> {
    return 1;
  }
  @Locked('k', { waitMs: 5 })
  observable(): Observable<number> {
    return of(1);
  }
  @Locked('k', 'l')
  async *iterator(): AsyncGenerator<number> {
    yield 1;
  }
  @Locked('tenant:{0.tenantId}', 'invoice:{0.id}', { waitMs: 2_000, onBusy: 'skip' })
  async templates(_ref: Ref, @CurrentLock() _lock?: LockHandle): Promise<void> {}

  @Locked((ref: Ref) => [ref.tenantId, `${ref.id}`])
  async keyFunction(_ref: Ref, _more: number): Promise<void> {}

  @Locked((a: string) => a)
  async fewerParameters(_a: string, _b?: number): Promise<void> {}

  @Locked(() => 'k')
  async noParameters(): Promise<void> {}
}

// Never called: some of these are refused at run time too.
const refused = (): unknown => {
  class Refused {
    // @ts-expect-error a synchronous method cannot wait for a lock
    @Locked('k')
    synchronous(): number {
      return 1;
    }

    // @ts-expect-error the key function wants a number, the method is given a string
    @Locked((id: number) => `k:${id}`)
    async wrongParameter(_id: string): Promise<void> {}

    // @ts-expect-error the key function wants more than the method is given
    @Locked((_a: string, b: string) => b)
    async missingParameter(_a: string): Promise<void> {}

    // @ts-expect-error key functions are synchronous
    @Locked(async (id: string) => id)
    async asyncKey(_id: string): Promise<void> {}

    // @ts-expect-error a key has one or two segments
    @Locked((id: string) => [id, id, id])
    async threeSegments(_id: string): Promise<void> {}

    // @ts-expect-error a misspelt option
    @Locked('k', { waitMS: 5 })
    async misspelt(): Promise<void> {}

    // @ts-expect-error no such word
    @Locked('k', { onBusy: 'run' })
    async wrongWord(): Promise<void> {}
  }
  return Refused;
};

describe('the types of @Locked', () => {
  it('[B-071] accept methods that return a promise, an Observable or an async iterable, and refuse synchronous ones', () => {
    const options: LockedOptions = { ttlMs: 5 };
    expect([Accepted, refused, options]).toHaveLength(3);
  });
});
