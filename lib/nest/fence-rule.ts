import { AsyncLocalStorage } from 'node:async_hooks';
import type { KeyOf } from './key-source.js';

/** What one `@Fenced` demands. */
export interface FenceRule {
  /** From the arguments of the call as guards see them. */
  readonly keyOf: KeyOf;
  /** `OrderController.update`, for messages. */
  readonly label: string;
}

/** Metadata key of the rule, on the handler. */
export const FENCE_RULE = 'klock:fence-rule.v1';

type Metadata = typeof Reflect & { getMetadata?(key: string, target: object): unknown };

/** The rule of a handler; undefined where it is not decorated. */
export function fenceRuleOf(handler: object): FenceRule | undefined {
  return (Reflect as Metadata).getMetadata?.(FENCE_RULE, handler) as FenceRule | undefined;
}

const SHARED = Symbol.for('klock.nest.fence-flow.v1');
type Shared = { [SHARED]?: AsyncLocalStorage<FenceRule> };

/** Runs a handler whose fence was accepted under `rule`. */
export function runUnderRule<T>(rule: FenceRule, run: () => T): T {
  return ((globalThis as Shared)[SHARED] ??= new AsyncLocalStorage<FenceRule>()).run(rule, run);
}

/** The rule under which the running handler was called. */
export function currentRule(): FenceRule | undefined {
  return (globalThis as Shared)[SHARED]?.getStore();
}
