import { InvalidKeyError } from './errors.js';
import { MAX_KEY_SEGMENT_BYTES } from './limits.js';
import { quote } from './quote.js';

/** What is locked: `[l1]` or `[l1, l2]`. An L1 conflicts with every L2 below it, both ways; different L2 are independent. */
export type LockKey = readonly [l1: string] | readonly [l1: string, l2: string];

/** What callers may pass as a key; a plain string is `[l1]`. */
export type KeyInput = string | LockKey;

/**
 * Checks a key and returns it in its one form.
 * Segments are opaque: any well-formed Unicode text of 1 to 512 UTF-8 bytes.
 * @throws InvalidKeyError (INVALID_KEY) naming the segment and its value.
 */
export function parseKey(input: KeyInput): LockKey {
  return typeof input === 'string' ? [checkSegment(input, 'l1')] : parseSegments(input);
}

function parseSegments(input: LockKey): LockKey {
  if (!Array.isArray(input) || input.length < 1 || input.length > 2) {
    throw new InvalidKeyError(`a key is a string, [l1] or [l1, l2], not ${quote(input)}`, { value: input });
  }
  const [l1, l2] = input as readonly unknown[];
  return input.length === 1 ? [checkSegment(l1, 'l1')] : [checkSegment(l1, 'l1'), checkSegment(l2, 'l2')];
}

function checkSegment(segment: unknown, name: 'l1' | 'l2'): string {
  if (typeof segment !== 'string' || segment.length === 0 || isTooLong(segment) || !segment.isWellFormed())
    throw bad(name, segment);
  return segment;
}

function problemOf(segment: unknown): string {
  if (typeof segment !== 'string') return 'must be a string';
  if (segment.length === 0) return 'must not be empty';
  if (isTooLong(segment)) return `must not exceed ${MAX_KEY_SEGMENT_BYTES} UTF-8 bytes`;
  return 'must be well-formed Unicode (it holds half of a surrogate pair)';
}

/** No character takes more than three bytes for each of its UTF-16 units: only long texts are counted. */
function isTooLong(segment: string): boolean {
  const { length } = segment;
  return (
    length * 3 > MAX_KEY_SEGMENT_BYTES &&
    (length > MAX_KEY_SEGMENT_BYTES || utf8Length(segment) > MAX_KEY_SEGMENT_BYTES)
  );
}

function bad(name: string, value: unknown): InvalidKeyError {
  return new InvalidKeyError(`key segment ${name} ${problemOf(value)}, got ${quote(value)}`, { value });
}

/** UTF-8 bytes of a string, without allocating them. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** Whether two keys can never be held at the same time by different owners. */
export function keysConflict(a: LockKey, b: LockKey): boolean {
  return a[0] === b[0] && (a.length === 1 || b.length === 1 || a[1] === b[1]);
}

/** Whether holding `held` is enough to act under `wanted`: the same key, or the L1 above it. */
export function keyCovers(held: LockKey, wanted: LockKey): boolean {
  return held[0] === wanted[0] && (held.length === 1 || held[1] === wanted[1]);
}

/** Whether both name the same thing; an L1 and a key below it do not. */
export function isSameKey(a: LockKey, b: LockKey): boolean {
  return a.length === b.length && keyCovers(a, b);
}

/** A string that differs for different keys, for use in maps. */
export function keyId(key: LockKey): string {
  return key.length === 1 ? `1${key[0]}` : `2${key[0].length}:${key[0]}${key[1]}`;
}

/** A key as people read it in messages: ASCII, shortened. */
export function formatKey(key: LockKey): string {
  return key.length === 1 ? quote(key[0]) : `${quote(key[0])} / ${quote(key[1])}`;
}

const ESCAPED = /[%/:{}]/g;

/** Percent-escapes `%`, `/`, `:`, `{` and `}` of one interpolated value, so that joined parts never collide. */
export function escapeKeyPart(part: string): string {
  // Most values have none of them.
  if (part.search(ESCAPED) < 0) return part;
  return part.replace(ESCAPED, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/**
 * Text of a value used as a key part: strings as they are, numbers and bigints in decimal.
 * @throws InvalidKeyError (KEY_UNRESOLVED) for undefined, null, '', NaN, infinities, objects, symbols, booleans:
 * the texts "undefined" and "[object Object]" must never become a key.
 */
export function keyPartText(part: unknown, where: string): string {
  if (typeof part === 'string' && part !== '') return part;
  if (typeof part === 'bigint' || (typeof part === 'number' && Number.isFinite(part))) return String(part);
  throw new InvalidKeyError(
    `key part ${where} is ${quote(part)}: expected a non-empty string, a finite number or a bigint`,
    {
      code: 'KEY_UNRESOLVED',
      value: part,
    },
  );
}

/**
 * Joins parts into one key segment: lockKey`invoice:${tenant}:${number}`.
 * Literal text stays as written, interpolated values are escaped, so different parts never give the same key.
 * @throws InvalidKeyError (KEY_UNRESOLVED) for a part that is undefined, null, empty or no text.
 */
export function lockKey(text: TemplateStringsArray, ...parts: readonly (string | number | bigint)[]): string {
  let key = text[0] ?? '';
  parts.forEach((part, index) => {
    key += escapeKeyPart(keyPartText(part, `\${${index}}`)) + (text[index + 1] ?? '');
  });
  return key;
}
