/** A contradiction inside klock itself: a defect, never a condition a user can cause. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Throws {@link AssertionError} unless the condition holds. Stays on in production: a lock table that contradicts itself must stop. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(`klock contradicts itself: ${message}`);
}

/** For the `default:` branch of a switch over a closed union. */
export function assertNever(value: never): never {
  throw new AssertionError(`klock contradicts itself: unexpected ${JSON.stringify(value)}`);
}
