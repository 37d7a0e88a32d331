/** The known word that was probably meant: one that differs in two letters at the most, the nearest of them. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = 3;
  for (const each of known) {
    const distance = changes(word, each);
    if (distance < least) [best, least] = [each, distance];
  }
  return best;
}

/** Letters to put in, take out or replace to make one word of another. */
function changes(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let at = 0; at < from.length; at++) {
    const next = [at + 1];
    for (let other = 0; other < to.length; other++) {
      const replaced = (row[other] ?? 0) + (from[at] === to[other] ? 0 : 1);
      next.push(Math.min(replaced, (row[other + 1] ?? 0) + 1, (next[other] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** For the end of a message about an unknown word. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known);
  return meant === undefined ? '' : `. Did you mean ${meant}?`;
}
