import * as messages from './messages.js';
import type { Message } from './wire.js';

/** One RPC of etcd. */
export interface Method<Req, Res> {
  readonly path: string;
  readonly request: Message<Req>;
  readonly response: Message<Res>;
}

function method<Req, Res>(path: string, request: Message<Req>, response: Message<Res>): Method<Req, Res> {
  return { path: `/etcdserverpb.${path}`, request, response };
}

/** The RPCs that the driver calls. */
export const METHODS = {
  range: method('KV/Range', messages.RangeRequest, messages.RangeResponse),
  txn: method('KV/Txn', messages.TxnRequest, messages.TxnResponse),
  leaseGrant: method('Lease/LeaseGrant', messages.LeaseGrantRequest, messages.LeaseGrantResponse),
  leaseRevoke: method('Lease/LeaseRevoke', messages.LeaseIdRequest, messages.Empty),
  leaseKeepAlive: method('Lease/LeaseKeepAlive', messages.LeaseIdRequest, messages.LeaseTtlResponse),
  leaseTimeToLive: method('Lease/LeaseTimeToLive', messages.LeaseIdRequest, messages.LeaseTtlResponse),
  watch: method('Watch/Watch', messages.WatchRequest, messages.WatchResponse),
  authenticate: method('Auth/Authenticate', messages.AuthenticateRequest, messages.AuthenticateResponse),
  status: method('Maintenance/Status', messages.Empty, messages.StatusResponse),
} as const;
