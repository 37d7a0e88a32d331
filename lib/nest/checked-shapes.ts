import { defer, isObservable, type Observable } from 'rxjs';
import type { AnyMethod, LockedTarget } from './locked-target.js';
import { isAsyncGenerator, shapeOf, type Shape } from './method-shape.js';

type AsyncSteps = AsyncGenerator<unknown, unknown, unknown>;

/**
 * A method that runs only while `check` does not throw: asked when its work begins, which for a stream is the subscription
 * and for an async iterator the first step. A method that returns a promise rejects instead of throwing.
 */
export function checkedMethod(
  target: LockedTarget,
  check: (self: unknown, args: readonly unknown[]) => void,
): AnyMethod {
  let shape: Shape | undefined;
  return function (this: unknown, ...args: unknown[]): unknown {
    shape ??= shapeOf(target);
    const run = (): unknown => {
      check(this, args);
      return target.method.apply(this, args);
    };
    return START[shape](run, () => check(this, args));
  };
}

type Start = (run: () => unknown, check: () => void) => unknown;

const START: Readonly<Record<Shape, Start>> = {
  promise: (run) => {
    try {
      return run();
    } catch (error) {
      // What the check or a method that is not async threw, as it is.
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
      return Promise.reject(error);
    }
  },
  observable: (run) => defer(() => run() as Observable<unknown>),
  iterable: (run) => steps(run),
  unknown: (run, check) => checkedAgain(run(), check),
};

async function* steps(run: () => unknown): AsyncSteps {
  return yield* run() as AsyncSteps;
}

/** What turned out to be lazy has done nothing yet: its work begins later, perhaps without the lock. */
function checkedAgain(made: unknown, check: () => void): unknown {
  const later = (): unknown => {
    check();
    return made;
  };
  if (isObservable(made)) return defer(() => later() as Observable<unknown>);
  return isAsyncGenerator(made) ? steps(later) : made;
}
