import type { Invariant, Plan } from '../../lib/testing/simulation/index.js';

/** One deliberate defect. */
export interface Mutant {
  readonly name: string;
  /** Where it is described: a row of the safety notes' table, or a weakness of a reference system. */
  readonly from: string;
  /** Which invariants show it; `healed` if another part makes good for it, so that nothing may be found. */
  readonly shownBy: readonly [Invariant, ...Invariant[]] | 'healed';
  /** Seeds within which it must be found, or that must stay clean. */
  readonly budget: number;
  /** Makes every seed one in which the defect can matter. */
  readonly adjust?: (plan: Plan) => Plan;
  install(patch: Patch): void;
}

/** The method as it was, on the same object. */
type Original = (...args: unknown[]) => unknown;

/** Replaces a method, or a getter, of a class until the defect is taken out again. `Self` is what is read of the object. */
export type Patch = <Self = unknown>(
  target: object,
  name: string,
  instead: (original: Original, args: unknown[], self: Self) => unknown,
) => void;

/** Runs `work` with the defect in place. No switch in shipped code: its classes are changed from here, and changed back. */
export async function withMutant<T>(mutant: Mutant, work: () => Promise<T>): Promise<T> {
  const undo: (() => void)[] = [];
  mutant.install((target, name, instead) => {
    const before = Object.getOwnPropertyDescriptor(target, name);
    if (before === undefined) throw new Error(`${mutant.name}: there is no ${name} to replace`);
    undo.push(() => Object.defineProperty(target, name, before));
    const isGetter = before.get !== undefined;
    // eslint-disable-next-line @typescript-eslint/unbound-method -- applied to its own object below
    const method = (before.get ?? before.value) as (this: unknown, ...args: unknown[]) => unknown;
    const replacement = function (this: unknown, ...args: unknown[]): unknown {
      return instead((...told) => method.apply(this, told), args, this as never);
    };
    Object.defineProperty(target, name, {
      ...before,
      ...(isGetter ? { get: replacement } : { value: replacement }),
    });
  });
  try {
    return await work();
  } finally {
    for (const restore of undo.reverse()) restore();
  }
}

export const sixCalls = (plan: Plan): Plan => ({ ...plan, store: { ...plan.store, sixCalls: true } });
export const channel = (plan: Plan): Plan => ({ ...plan, store: { ...plan.store, sixCalls: false } });

/** Tasks take, hold and give back, and nothing beyond that. */
export const plain = (plan: Plan): Plan => ({
  ...plan,
  tasks: plan.tasks.map(({ id, client, atMs, key, waitMs, ttlMs, holdMs, writes, abortMs }) => ({
    ...{ id, client, atMs, key, waitMs, ttlMs, holdMs, writes },
    ...(abortMs !== undefined && { abortMs }),
  })),
});
