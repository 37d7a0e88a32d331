import type { LockKey } from '../core/index.js';
import type { GrantedLock } from './lock-slot.js';

/** Response header that carries the fence of the lock a request ran under. */
export const FENCE_HEADER = 'Klock-Fence';

/** `42; key="tenant-1/invoice-7"; store="memory:1"`; several locks are separated by commas. Always ASCII. */
export function fenceHeader(granted: readonly GrantedLock[]): string {
  return granted
    .map(({ lock, store }) => `${lock.fence}; key="${headerKey(lock.key)}"; store="${headerText(store)}"`)
    .join(', ');
}

/** Segments joined by `/`, their own `/` escaped, so that different keys never read the same. */
function headerKey(key: LockKey): string {
  return key.map((segment) => headerText(segment).replaceAll('/', '%2F')).join('/');
}

/** Percent-escapes what a quoted header value cannot carry, and `%` itself. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]|["%\\]/gu, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}
