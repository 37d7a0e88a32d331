import { checkHistory } from './check-history.js';
import type { GrantRecord } from './history.js';
import type { LockKey } from '../../core/index.js';

function grant(key: LockKey, fence: number, fromMs: number, toMs: number, calledAtMs = fromMs): GrantRecord {
  return { key, client: `c${fence}`, fence: BigInt(fence), calledAtMs, grantedAtMs: fromMs, endedAtMs: toMs };
}

const kinds = (grants: GrantRecord[], toleranceMs = 0): string[] =>
  checkHistory({ grants }, { toleranceMs }).map((violation) => violation.invariant);

it('finds nothing in a history that is right, whatever the order it was written down in', () => {
  const grants = [
    grant(['t'], 3, 30, 40),
    grant(['t', 'a'], 1, 0, 20),
    grant(['t', 'b'], 2, 5, 30),
    grant(['u'], 1, 0, 100),
    grant(['t', 'a'], 4, 40, 50),
  ];
  expect(kinds(grants)).toEqual([]);
});

it.each<[string, GrantRecord[]]>([
  ['the same key', [grant(['t'], 1, 0, 20), grant(['t'], 2, 19, 30)]],
  ['an L2 under an L1', [grant(['t'], 1, 0, 20), grant(['t', 'a'], 2, 19, 30)]],
  ['an L1 over an L2', [grant(['t', 'a'], 1, 0, 20), grant(['t', 'b'], 2, 0, 5), grant(['t'], 3, 19, 30)]],
])('[I1] finds two believers of %s', (_, grants) => {
  expect(kinds(grants)).toEqual(['I1']);
});

it('[I1] an overlap within the tolerance of two clocks is none', () => {
  const grants = [grant(['t'], 1, 0, 20), grant(['t'], 2, 19, 30)];
  expect(kinds(grants, 1)).toEqual([]);
});

it('[I3] finds equal fences of conflicting grants, and lets other keys be', () => {
  expect(kinds([grant(['t'], 1, 0, 5), grant(['t', 'a'], 1, 6, 8)])).toEqual(['I3']);
  expect(kinds([grant(['t', 'b'], 1, 0, 5), grant(['t', 'a'], 1, 6, 8)])).toEqual([]);
});

it('[I5] finds a later grant with a smaller fence', () => {
  expect(kinds([grant(['t'], 2, 0, 5), grant(['t'], 1, 10, 12)])).toEqual(['I1', 'I5']);
});

it('[I4] finds an accepted write below a conflicting one', () => {
  const write = (key: LockKey, fence: number): { key: LockKey; fence: bigint; atMs: number } => ({
    key,
    fence: BigInt(fence),
    atMs: 0,
  });
  const found = (...writes: ReturnType<typeof write>[]): string[] =>
    checkHistory({ grants: [], writes }).map(({ invariant }) => invariant);
  expect(found(write(['t', 'a'], 5), write(['t', 'b'], 3), write(['t'], 5))).toEqual([]);
  expect(found(write(['t'], 5), write(['t', 'b'], 3))).toEqual(['I4']);
  expect(found(write(['t', 'a'], 5), write(['t'], 4))).toEqual(['I4']);
});

it('checks a million grants within seconds', () => {
  const grants = Array.from({ length: 1_000_000 }, (_, index) =>
    grant(
      index % 10 === 0 ? [`t${index % 97}`] : [`t${index % 97}`, `k${index % 7}`],
      index,
      index,
      index + 1,
    ),
  );
  const startedMs = performance.now();
  expect(checkHistory({ grants })).toEqual([]);
  expect(performance.now() - startedMs).toBeLessThan(30_000);
}, 60_000);
