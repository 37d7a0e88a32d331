import type { Placed } from './table-entry.js';

/** Counts how often the links of entries are followed from now on: a bound on steps that no slow machine can break. */
export function countLooks(entries: readonly Placed[]): { count: number } {
  const looks = { count: 0 };
  for (const entry of entries) {
    for (const link of ['ahead', 'behind'] as const) {
      let neighbour = entry[link];
      Object.defineProperty(entry, link, {
        get: () => {
          looks.count++;
          return neighbour;
        },
        set: (value: Placed | undefined) => (neighbour = value),
      });
    }
  }
  return looks;
}
