import { hostname } from 'node:os';
import { MAX_ID_BYTES } from '../core/index.js';

/** Where this process runs, for those who look who holds what; '' where the system does not say. */
export function ownHost(): string {
  try {
    const name = Buffer.from(hostname(), 'utf8')
      .subarray(0, MAX_ID_BYTES / 2)
      .toString('latin1');
    return `${name.replace(/[^\x21-\x7e]/g, '?')}:${process.pid}`;
  } catch {
    return '';
  }
}
