/**
 * Name in Redis of the tree of an L1: `<prefix>{<l1>}`. Every other key of the tree is this and a suffix, so the braces
 * put all of them into one slot of a Cluster. Braces and `%` in either part are escaped: the first `{` ends the prefix and
 * the first `}` ends the L1, so different pairs never meet, and no character of a key can move it to another slot.
 */
export function treeName(prefix: string, l1: string): string {
  return `${escaped(prefix)}{${escaped(l1)}}`;
}

/** Name in Redis of a lock, for messages. */
export function lockName(tree: string, l2: string): string {
  return l2 === '' ? tree : `${tree}/${l2}`;
}

function escaped(text: string): string {
  // Nearly no key holds one, and looking is cheaper than replacing nothing.
  if (!/[%{}]/.test(text)) return text;
  return text.replace(/[%{}]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
