/** A list of mostly one, in a field of whoever keeps it: nothing is made for the first. Its members are no arrays. */
export type Few<T extends object | number> = T | readonly T[] | undefined;

const NONE: readonly never[] = [];

/** The list with one more. */
export function including<T extends object | number>(few: Few<T>, item: T): Few<T> {
  return few === undefined ? item : [...allOf(few), item];
}

/** The list without one, found by identity; undefined once nobody is left. */
export function excluding<T extends object | number>(few: Few<T>, item: T): Few<T> {
  if (few === item) return undefined;
  if (!isMany(few)) return few;
  const others = few.filter((other) => other !== item);
  return others.length > 1 ? others : others[0];
}

/** Its members; may be walked while the list changes. */
export function allOf<T extends object | number>(few: Few<T>): readonly T[] {
  if (few === undefined) return NONE;
  return isMany(few) ? few : [few];
}

/** The same, where no list of one is to be made for it. */
export function eachOf<T extends object | number>(few: Few<T>, act: (item: T) => void): void {
  if (isMany(few)) few.forEach(act);
  else if (few !== undefined) act(few);
}

function isMany<T extends object | number>(few: Few<T>): few is readonly T[] {
  return Array.isArray(few);
}
