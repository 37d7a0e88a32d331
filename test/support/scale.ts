/** True under `npm run test:long`: every test runs at its full size. */
export const long = process.env.KLOCK_LONG === '1';

/** `full` under `npm run test:long`, else `full` divided by `factor` (at least 1, rounded up). */
export function scaled(full: number, factor: number): number {
  return long ? full : Math.max(1, Math.ceil(full / factor));
}

/** For the end of a title: says by what factor the test was made smaller, nothing when it runs whole. */
export function scaleNote(factor: number): string {
  return long || factor === 1 ? '' : ` (scaled 1/${factor})`;
}
