/** Whether `a` is larger than `b`, both decimal without leading zeros: fences are compared as text on both sides. */
export function isLargerDecimal(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}
