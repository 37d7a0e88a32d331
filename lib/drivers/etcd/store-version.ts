/** A version of etcd as numbers; missing parts are 0. */
export type StoreVersion = readonly [major: number, minor: number, patch: number];

/** Watches chosen by the client and nested transactions need it. */
const OLDEST: StoreVersion = [3, 4, 0];

/** First version of each line in which a leader that was deposed while stalled no longer revokes leases (etcd #15247). */
const MENDED: readonly StoreVersion[] = [
  [3, 4, 31],
  [3, 5, 13],
];

export function parseVersion(text: string): StoreVersion | undefined {
  const match = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  if (match === null) return undefined;
  return [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)];
}

export function isTooOld(version: StoreVersion): boolean {
  return compare(version, OLDEST) < 0;
}

/** Whether a stalled old leader may end leases that were renewed elsewhere. */
export function mayRevokeRenewed(version: StoreVersion): boolean {
  const mended = MENDED.find(([major, minor]) => major === version[0] && minor === version[1]);
  return mended !== undefined && compare(version, mended) < 0;
}

function compare(a: StoreVersion, b: StoreVersion): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
