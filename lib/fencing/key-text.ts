import { parseKey, type LockKey } from '../core/index.js';

const UNSAFE = /[^\x20-\x7e]|["%\\]/gu;
const SLASH = '%2F';

/** Percent-escapes, byte by byte in UTF-8, what a quoted header value cannot carry, and `%` itself. Different texts stay different. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}

/** The text behind {@link escapeText}; undefined for anything that function never writes. */
export function unescapeText(escaped: string): string | undefined {
  try {
    const text = decodeURIComponent(escaped);
    return escapeText(text) === escaped ? text : undefined;
  } catch {
    return undefined;
  }
}

/** One segment, with `/` escaped too. */
export function segmentText(segment: string): string {
  return escapeText(segment).replaceAll('/', SLASH);
}

/** A key as ASCII text: one segment, or two joined by `/`. Different keys never read the same. */
export function keyText(key: LockKey): string {
  return key.map(segmentText).join('/');
}

/** The key behind {@link keyText}; undefined for anything that function never writes. */
export function parseKeyText(text: string): LockKey | undefined {
  const segments = text.split('/').map((segment) => unescapeText(segment.replaceAll(SLASH, '/')));
  if (segments.length > 2 || segments.some((segment) => segment === undefined || segment === '')) {
    return undefined;
  }
  try {
    const key = parseKey(segments as unknown as LockKey);
    // What is not written in its one form would let two texts stand for one key.
    return keyText(key) === text ? key : undefined;
  } catch {
    return undefined;
  }
}
