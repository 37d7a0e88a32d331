import { SetMetadata, UseGuards, UseInterceptors } from '@nestjs/common';
import { NotInitializedError, optionError, type KeyInput } from '../core/index.js';
import { FenceGuard } from './fence-guard.js';
import { FenceInterceptor } from './fence-interceptor.js';
import { FENCE_RULE, currentRule, type FenceRule } from './fence-rule.js';
import { assumeIdentity } from './function-identity.js';
import { readArguments } from './key-source.js';
import { lockedTarget, type AnyMethod, type LockedTarget } from './locked-target.js';

/**
 * Runs a request handler only if the request carries the fence of this key, or of the L1 above it, and nobody with a newer
 * conflicting grant was here before: `Klock-Fence` in HTTP, `klock-fence` in gRPC metadata. Needs `FenceModule`.
 *
 * The key is made of what guards see, before pipes: of the request in HTTP, `@Fenced('order:{0.params.id}')` or a function of
 * it; of the message in gRPC, `@Fenced('order:{0.id}')`. The order of decorators does not matter.
 *
 * A method that is not called through its guard, a provider's or one called by hand, refuses to run.
 * @throws InvalidKeyError, InvalidOptionError when the class is defined; at the call what `FenceGuard` throws.
 */
export function Fenced<A extends readonly unknown[]>(key: (...args: A) => KeyInput): MethodDecorator;
export function Fenced(l1: string, l2?: string): MethodDecorator;
export function Fenced(...given: readonly unknown[]): MethodDecorator {
  return (...decorated: readonly unknown[]) => {
    fence(lockedTarget('@Fenced', decorated), given);
  };
}

function fence(target: LockedTarget, given: readonly unknown[]): void {
  const { keyOf, options } = readArguments(given, target.label, '@Fenced');
  if (options !== undefined) throw optionError('options', `left out of @Fenced on ${target.label}`, options);
  const rule: FenceRule = { keyOf, label: target.label };
  const wrapper = wrapperOf(target, rule);
  assumeIdentity(wrapper, target.method);
  target.replace(wrapper);
  const decorated = { value: wrapper };
  for (const decorate of [
    SetMetadata(FENCE_RULE, rule),
    UseGuards(FenceGuard),
    UseInterceptors(FenceInterceptor),
  ]) {
    decorate(target.prototype, target.name, decorated);
  }
}

function wrapperOf({ method, label }: LockedTarget, rule: FenceRule): AnyMethod {
  return function (this: unknown, ...args: unknown[]): unknown {
    // A decorator above that hides our metadata takes the guard away with it; then this is all that is left.
    if (currentRule() === rule) return method.apply(this, args);
    throw new NotInitializedError(
      `${label} was not run, since it is fenced and no FenceGuard has looked at this call: @Fenced works on handlers that Nest calls for a request`,
    );
  };
}
