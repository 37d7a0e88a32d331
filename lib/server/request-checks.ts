import {
  type LockKey,
  MAX_FENCE,
  MAX_ID_BYTES,
  MAX_KEY_SEGMENT_BYTES,
  quote,
  utf8Length,
} from '../core/index.js';
import {
  type ErrorStatus,
  type LockRequest,
  PROTOCOL_VERSION,
  type RevokeRequest,
  SCOPE_L1,
  SCOPE_L2,
} from '../rpc/index.js';
import type { WireErrors } from './wire-errors.js';

/** Checks requests before anything else is done with them. Each check answers with the error, or undefined. */
export class RequestChecks {
  constructor(private readonly errors: WireErrors) {}

  /** Version first, then the server that is meant. */
  envelope(request: {
    readonly protocolVersion: string;
    readonly expectedServer: string;
  }): ErrorStatus | undefined {
    return this.version(request) ?? this.server(request.expectedServer);
  }

  version(request: { readonly protocolVersion: string }): ErrorStatus | undefined {
    const { protocolVersion } = request;
    if (protocolVersion === PROTOCOL_VERSION) return undefined;
    return this.errors.of(
      'PROTOCOL_MISMATCH',
      `protocol_version must be "${PROTOCOL_VERSION}", got ${quote(protocolVersion)}`,
    );
  }

  /** An id that must be there, such as session_id or request_id. */
  id(field: string, value: string): ErrorStatus | undefined {
    return value === ''
      ? this.bad(field, 'must not be empty', value)
      : this.length(field, value, MAX_ID_BYTES);
  }

  /** An id that may be anything: it is looked up and not found. */
  length(field: string, value: string, max: number): ErrorStatus | undefined {
    // A text has at least as many bytes as characters, at most three times as many.
    if (value.length * 3 <= max || utf8Length(value) <= max) return undefined;
    return this.bad(field, `must not exceed ${max} UTF-8 bytes`, value);
  }

  /** session_id, request_id and p1 in this order, then lengths, then scope and p2: the order in which clients expect them. */
  lock(request: LockRequest): ErrorStatus | undefined {
    const { sessionId, requestId } = request;
    return this.id('session_id', sessionId) ?? this.id('request_id', requestId) ?? this.key(request);
  }

  revoke(request: RevokeRequest): ErrorStatus | undefined {
    const { fence, below, scope, client } = request;
    const wrong = this.key(request) ?? this.length('client', client, MAX_ID_BYTES);
    if (wrong !== undefined) return wrong;
    if (fence > MAX_FENCE) return this.bad('fence', `must not exceed ${MAX_FENCE}`, String(fence));
    if (below && scope !== SCOPE_L1) return this.bad('below', `needs scope "${SCOPE_L1}"`, 'true');
    return undefined;
  }

  private key({ scope, p1, p2 }: Pick<LockRequest, 'scope' | 'p1' | 'p2'>): ErrorStatus | undefined {
    return (
      (p1 === '' ? this.bad('p1', 'must not be empty', p1) : undefined) ??
      this.length('p1', p1, MAX_KEY_SEGMENT_BYTES) ??
      this.length('p2', p2, MAX_KEY_SEGMENT_BYTES) ??
      this.scope(scope, p2)
    );
  }

  private scope(scope: string, p2: string): ErrorStatus | undefined {
    if (scope === SCOPE_L1 || (scope === SCOPE_L2 && p2 !== '')) return undefined;
    if (scope === SCOPE_L2) return this.bad('p2', `must not be empty with scope "${SCOPE_L2}"`, p2);
    return this.bad('scope', `must be "${SCOPE_L1}" or "${SCOPE_L2}"`, scope);
  }

  private server(expected: string): ErrorStatus | undefined {
    if (expected === '' || expected === this.errors.serverId) return undefined;
    return this.errors.of(
      'SERVER_INSTANCE_MISMATCH',
      `expected_server is ${quote(expected)}, this is ${this.errors.serverId}`,
    );
  }

  private bad(field: string, problem: string, value: string): ErrorStatus {
    return this.errors.of('BAD_REQUEST', `${field} ${problem}, got ${quote(value)}`);
  }
}

/** The key a checked request means; an l1 request's p2 plays no part in it. */
export function keyOf(request: Pick<LockRequest, 'scope' | 'p1' | 'p2'>): LockKey {
  return request.scope === SCOPE_L1 ? [request.p1] : [request.p1, request.p2];
}
