import type { LockError } from '../core/index.js';
import type { ErrorStatus } from './error-status.js';

/** What GraphQL servers make an entry of `errors` of: they take `extensions` from the error that was thrown. */
export function graphqlError({ message, retryAfterS }: ErrorStatus, { code }: LockError): Error {
  const extensions = { code, ...(retryAfterS === undefined ? undefined : { retryAfterS }) };
  return Object.assign(new Error(message), { extensions });
}
