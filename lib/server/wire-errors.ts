import { formatKey, type LockKey } from '../core/index.js';
import type { Refusal } from '../engine/index.js';
import { type ErrorStatus, errorStatus, type WireCode } from '../rpc/index.js';

/** Makes the error part of answers, with this server's id in it. */
export class WireErrors {
  constructor(readonly serverId: string) {}

  of(code: WireCode, message: string): ErrorStatus {
    return errorStatus(code, message, this.serverId);
  }

  /** What a refusal of the engine is called on the wire. */
  refused(refusal: Refusal, what: string): ErrorStatus {
    const [code, message] = wording(refusal, what);
    return this.of(code, message);
  }
}

/** How messages name a lock. */
export function lockText(key: LockKey): string {
  return `lock ${formatKey(key)}`;
}

function wording(refusal: Refusal, what: string): readonly [WireCode, string] {
  switch (refusal.why) {
    case 'busy':
      return ['LOCK_TIMEOUT', `${what} was busy until the wait ended`];
    case 'cancelled':
      return ['IDEMPOTENCY_CONFLICT', `the request for ${what} was taken back`];
    case 'conflict':
      return [
        'IDEMPOTENCY_CONFLICT',
        `the request id of ${what} stands for something else or has had its end`,
      ];
    case 'session-gone':
      return ['SESSION_GONE', `the session has ended: ${refusal.reason}`];
    case 'session-not-found':
      return ['SESSION_NOT_FOUND', 'no such session'];
    case 'draining':
      return ['SERVER_DRAINING', 'the server is shutting down'];
    case 'recovering':
      return ['SERVER_RECOVERING', 'no lock is granted until every lease of the server before has ended'];
    case 'no-fence':
      return ['STORAGE_UNAVAILABLE', 'no fence can be made durable at the moment'];
    case 'limit':
      return ['SERVER_OVERLOADED', `the limit on ${refusal.limit} is reached`];
  }
}
