import { bool, bytes, int, int64, message, nested, repeated, text, type Message } from './wire.js';

// The part of etcd's v3 API that this driver uses. proto/etcd.proto says what each message is for, and a test
// compares the two. Fields of requests may be left out; replies have them all.

export interface ResponseHeader {
  readonly cluster_id: bigint;
  readonly member_id: bigint;
  readonly revision: bigint;
  readonly raft_term: bigint;
}

export interface KeyValue {
  readonly key: Buffer;
  readonly create_revision: bigint;
  readonly mod_revision: bigint;
  readonly version: bigint;
  readonly value: Buffer;
  readonly lease: bigint;
}

export interface RangeRequest {
  readonly key?: Buffer;
  readonly range_end?: Buffer;
  readonly limit?: bigint;
  readonly sort_order?: number;
  readonly sort_target?: number;
  readonly keys_only?: boolean;
  readonly count_only?: boolean;
  readonly max_create_revision?: bigint;
}

export interface RangeResponse {
  readonly header: ResponseHeader | undefined;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: bigint;
}

export interface PutRequest {
  readonly key?: Buffer;
  readonly value?: Buffer;
  readonly lease?: bigint;
}

export interface DeleteRangeRequest {
  readonly key?: Buffer;
}

export interface DeleteRangeResponse {
  readonly deleted: bigint;
}

export interface Compare {
  readonly result?: number;
  readonly target?: number;
  readonly key?: Buffer;
  readonly create_revision?: bigint;
  readonly mod_revision?: bigint;
  readonly range_end?: Buffer;
}

export interface RequestOp {
  readonly request_range?: RangeRequest;
  readonly request_put?: PutRequest;
  readonly request_delete_range?: DeleteRangeRequest;
  readonly request_txn?: TxnRequest;
}

export interface ResponseOp {
  readonly response_range: RangeResponse | undefined;
  readonly response_delete_range: DeleteRangeResponse | undefined;
  readonly response_txn: TxnResponse | undefined;
}

export interface TxnRequest {
  readonly compare?: readonly Compare[];
  readonly success?: readonly RequestOp[];
  readonly failure?: readonly RequestOp[];
}

export interface TxnResponse {
  readonly header: ResponseHeader | undefined;
  readonly succeeded: boolean;
  readonly responses: readonly ResponseOp[];
}

export interface LeaseGrantRequest {
  readonly TTL?: bigint;
}

export interface LeaseGrantResponse {
  readonly ID: bigint;
  readonly TTL: bigint;
}

export interface LeaseIdRequest {
  readonly ID?: bigint;
}

export interface LeaseTtlResponse {
  readonly ID: bigint;
  readonly TTL: bigint;
}

export interface WatchCreateRequest {
  readonly key?: Buffer;
  readonly start_revision?: bigint;
  /** Packed list of kinds of events left out. */
  readonly filters?: Buffer;
  readonly watch_id?: bigint;
}

export interface WatchRequest {
  readonly create_request?: WatchCreateRequest;
  readonly cancel_request?: { readonly watch_id?: bigint };
  readonly progress_request?: object;
}

export interface WatchEvent {
  readonly type: number;
}

export interface WatchResponse {
  readonly header: ResponseHeader | undefined;
  readonly watch_id: bigint;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compact_revision: bigint;
  readonly cancel_reason: string;
  readonly events: readonly WatchEvent[];
}

export interface AuthenticateRequest {
  readonly name?: string;
  readonly password?: string;
}

export interface AuthenticateResponse {
  readonly token: string;
}

export interface StatusResponse {
  readonly version: string;
}

/** For {@link RangeRequest.sort_order}. */
export const DESCEND = 2;
export const ASCEND = 1;
/** For {@link RangeRequest.sort_target}. */
export const BY_CREATE_REVISION = 2;
/** For {@link Compare.target}. */
export const CREATE_REVISION = 1;
export const MOD_REVISION = 2;
/** For {@link Compare.result}. */
export const GREATER = 1;
/** For {@link WatchCreateRequest.filters}: no news of writes. */
export const NO_PUT = Buffer.from([0]);
/** For {@link WatchEvent.type}. */
export const DELETED = 1;

const ResponseHeader = message<ResponseHeader>({
  cluster_id: int64(1),
  member_id: int64(2),
  revision: int64(3),
  raft_term: int64(4),
});
const KeyValue = message<KeyValue>({
  key: bytes(1),
  create_revision: int64(2),
  mod_revision: int64(3),
  version: int64(4),
  value: bytes(5),
  lease: int64(6),
});
export const RangeRequest = message<RangeRequest>({
  key: bytes(1),
  range_end: bytes(2),
  limit: int64(3),
  sort_order: int(5),
  sort_target: int(6),
  keys_only: bool(8),
  count_only: bool(9),
  max_create_revision: int64(13),
});
export const RangeResponse = message<RangeResponse>({
  header: nested(1, () => ResponseHeader),
  kvs: repeated(2, () => KeyValue),
  more: bool(3),
  count: int64(4),
});
export const PutRequest = message<PutRequest>({ key: bytes(1), value: bytes(2), lease: int64(3) });
export const DeleteRangeRequest = message<DeleteRangeRequest>({ key: bytes(1) });
const DeleteRangeResponse = message<DeleteRangeResponse>({ deleted: int64(2) });
const Compare = message<Compare>({
  result: int(1),
  target: int(2),
  key: bytes(3),
  create_revision: int64(5),
  mod_revision: int64(6),
  range_end: bytes(64),
});
const RequestOp: Message<RequestOp> = message<RequestOp>({
  request_range: nested(1, () => RangeRequest),
  request_put: nested(2, () => PutRequest),
  request_delete_range: nested(3, () => DeleteRangeRequest),
  request_txn: nested(4, () => TxnRequest),
});
const ResponseOp: Message<ResponseOp> = message<ResponseOp>({
  response_range: nested(1, () => RangeResponse),
  response_delete_range: nested(3, () => DeleteRangeResponse),
  response_txn: nested(4, () => TxnResponse),
});
export const TxnRequest: Message<TxnRequest> = message<TxnRequest>({
  compare: repeated(1, () => Compare),
  success: repeated(2, () => RequestOp),
  failure: repeated(3, () => RequestOp),
});
export const TxnResponse: Message<TxnResponse> = message<TxnResponse>({
  header: nested(1, () => ResponseHeader),
  succeeded: bool(2),
  responses: repeated(3, () => ResponseOp),
});
export const LeaseGrantRequest = message<LeaseGrantRequest>({ TTL: int64(1) });
export const LeaseGrantResponse = message<LeaseGrantResponse>({ ID: int64(2), TTL: int64(3) });
export const LeaseIdRequest = message<LeaseIdRequest>({ ID: int64(1) });
export const LeaseTtlResponse = message<LeaseTtlResponse>({ ID: int64(2), TTL: int64(3) });
const WatchCreateRequest = message<WatchCreateRequest>({
  key: bytes(1),
  start_revision: int64(3),
  filters: bytes(5),
  watch_id: int64(7),
});
const WatchCancelRequest = message<{ readonly watch_id?: bigint }>({ watch_id: int64(1) });
const WatchEvent = message<WatchEvent>({ type: int(1) });
/** Has no fields, or none that the driver reads. */
export const Empty = message<object>({});
export const WatchRequest = message<WatchRequest>({
  create_request: nested(1, () => WatchCreateRequest),
  cancel_request: nested(2, () => WatchCancelRequest),
  progress_request: nested(3, () => Empty),
});
export const WatchResponse = message<WatchResponse>({
  header: nested(1, () => ResponseHeader),
  watch_id: int64(2),
  created: bool(3),
  canceled: bool(4),
  compact_revision: int64(5),
  cancel_reason: text(6),
  events: repeated(11, () => WatchEvent),
});
export const AuthenticateRequest = message<AuthenticateRequest>({ name: text(1), password: text(2) });
export const AuthenticateResponse = message<AuthenticateResponse>({ token: text(2) });
export const StatusResponse = message<StatusResponse>({ version: text(2) });
