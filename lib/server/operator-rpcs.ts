import type { LockKey } from '../core/index.js';
import {
  type ErrorStatus,
  type ListHoldersRequest,
  ListHoldersResponse,
  PROTOCOL_VERSION,
  type RevokeRequest,
  RevokeResponse,
} from '../rpc/index.js';
import type { EngineHost } from './engine-host.js';
import { heldLocks } from './held-locks.js';
import type { OpenCall } from './open-call.js';
import { keyOf, type RequestChecks } from './request-checks.js';
import { causeText, type ServerLog } from './server-log.js';
import type { RevokeAsked } from './server-options.js';
import { lockText, type WireErrors } from './wire-errors.js';

export interface OperatorRpcParts {
  readonly host: EngineHost;
  readonly checks: RequestChecks;
  readonly errors: WireErrors;
  readonly log: ServerLog;
  readonly mayRevoke: (asked: RevokeAsked) => boolean;
}

/** Revoke and ListHolders. */
export class OperatorRpcs {
  constructor(private readonly parts: OperatorRpcParts) {}

  revoke(request: RevokeRequest, respond: (answer: RevokeResponse) => void, call: OpenCall): void {
    const { checks, errors, host } = this.parts;
    const wrong = checks.envelope(request) ?? checks.revoke(request) ?? this.forbidden(request, call);
    if (wrong !== undefined) return respond(RevokeResponse.create({ error: wrong }));
    const { fence, below } = request;
    const { ended, endedCount } = host.apply({
      type: 'revoke',
      key: keyOf(request),
      below,
      ...(fence === 0n ? {} : { fence }),
      by: asker(request, call),
    });
    respond({
      ended: heldLocks(ended),
      endedCount: BigInt(endedCount),
      serverId: errors.serverId,
      protocolVersion: PROTOCOL_VERSION,
    });
  }

  listHolders(request: ListHoldersRequest, respond: (answer: ListHoldersResponse) => void): void {
    const { checks, errors, host } = this.parts;
    const wrong = checks.envelope(request);
    if (wrong !== undefined) return respond(ListHoldersResponse.create({ error: wrong }));
    const { afterFence, limit } = request;
    const page = host.holders({ afterFence, ...(limit > 0 ? { limit } : {}) });
    const holders = heldLocks(page.holders);
    respond({
      holders,
      more: page.more || holders.length < page.holders.length,
      serverId: errors.serverId,
      protocolVersion: PROTOCOL_VERSION,
    });
  }

  /** A rule that fails allows nothing. */
  private forbidden(request: RevokeRequest, call: OpenCall): ErrorStatus | undefined {
    const { log, errors, mayRevoke } = this.parts;
    const { fence, below, client } = request;
    const key: LockKey = keyOf(request);
    let cause: string | undefined;
    try {
      const asked = { key, below, client, peer: call.peer, ...(fence === 0n ? {} : { fence }) };
      if (mayRevoke(asked)) return undefined;
    } catch (error) {
      cause = causeText(error);
    }
    log.write('warn', 'revoke_forbidden', { key: lockText(key), by: asker(request, call), cause });
    return errors.of('FORBIDDEN', `the server does not let this client revoke ${lockText(key)}`);
  }
}

/** For the log: a label anybody may choose, and an address nobody may. */
function asker({ client }: RevokeRequest, { peer }: OpenCall): string {
  return client === '' ? peer : `${client} at ${peer}`;
}
