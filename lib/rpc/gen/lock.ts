// Written by proto/generate.mjs from proto/lock.proto: change that and run `npm run generate`.
import type { MethodDefinition } from '@grpc/grpc-js';
import { ClientFrame, ServerFrame } from '../channel-frame.js';
import { type Codec, codec } from '../codec.js';
import type { WireReader } from '../wire-reader.js';
import type { WireWriter } from '../wire-writer.js';

/** Why a request was refused. `status` is a number like those of HTTP, never a gRPC status. */
export interface ErrorStatus {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly serverId: string;
  readonly protocolVersion: string;
}

function writeErrorStatus(writer: WireWriter, message: ErrorStatus): void {
  writer.int32(8, message.status);
  writer.string(18, message.code);
  writer.string(26, message.message);
  writer.string(34, message.serverId);
  writer.string(42, message.protocolVersion);
}

function readErrorStatus(reader: WireReader): ErrorStatus {
  let status = 0;
  let code = '';
  let message = '';
  let serverId = '';
  let protocolVersion = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 8:
        status = reader.int32();
        break;
      case 18:
        code = reader.string();
        break;
      case 26:
        message = reader.string();
        break;
      case 34:
        serverId = reader.string();
        break;
      case 42:
        protocolVersion = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { status, code, message, serverId, protocolVersion };
}

export const ErrorStatus: Codec<ErrorStatus> = codec(writeErrorStatus, readErrorStatus);

export interface CreateSessionRequest {
  /** Wanted lease; 0 or less asks for the server's default. */
  readonly leaseMs: bigint;
  readonly protocolVersion: string;
  readonly expectedServer: string;
}

function writeCreateSessionRequest(writer: WireWriter, message: CreateSessionRequest): void {
  writer.int64(8, message.leaseMs);
  writer.string(18, message.protocolVersion);
  writer.string(26, message.expectedServer);
}

function readCreateSessionRequest(reader: WireReader): CreateSessionRequest {
  let leaseMs = 0n;
  let protocolVersion = '';
  let expectedServer = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 8:
        leaseMs = reader.int64();
        break;
      case 18:
        protocolVersion = reader.string();
        break;
      case 26:
        expectedServer = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { leaseMs, protocolVersion, expectedServer };
}

export const CreateSessionRequest: Codec<CreateSessionRequest> = codec(
  writeCreateSessionRequest,
  readCreateSessionRequest,
);

/** Answers CreateSession and Heartbeat. */
export interface SessionResponse {
  readonly sessionId: string;
  /** Granted lease, which may differ from the wanted one. */
  readonly leaseMs: bigint;
  /** RFC 3339, UTC, by the server's wall clock; for people, never for deciding whether a lock is held. */
  readonly expiresAt: string;
  readonly serverId: string;
  readonly protocolVersion: string;
  readonly error?: ErrorStatus;
}

function writeSessionResponse(writer: WireWriter, message: SessionResponse): void {
  writer.string(10, message.sessionId);
  writer.int64(16, message.leaseMs);
  writer.string(26, message.expiresAt);
  writer.string(34, message.serverId);
  writer.string(42, message.protocolVersion);
  if (message.error !== undefined) {
    const start6 = writer.begin(50);
    writeErrorStatus(writer, message.error);
    writer.end(start6);
  }
}

function readSessionResponse(reader: WireReader): SessionResponse {
  let sessionId = '';
  let leaseMs = 0n;
  let expiresAt = '';
  let serverId = '';
  let protocolVersion = '';
  let error: ErrorStatus | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        sessionId = reader.string();
        break;
      case 16:
        leaseMs = reader.int64();
        break;
      case 26:
        expiresAt = reader.string();
        break;
      case 34:
        serverId = reader.string();
        break;
      case 42:
        protocolVersion = reader.string();
        break;
      case 50:
        error = reader.nested(readErrorStatus);
        break;
      default:
        reader.skip(tag);
    }
  }
  return {
    sessionId,
    leaseMs,
    expiresAt,
    serverId,
    protocolVersion,
    ...(error === undefined ? undefined : { error }),
  };
}

export const SessionResponse: Codec<SessionResponse> = codec(writeSessionResponse, readSessionResponse);

export interface HeartbeatRequest {
  readonly sessionId: string;
  readonly protocolVersion: string;
  readonly expectedServer: string;
}

function writeHeartbeatRequest(writer: WireWriter, message: HeartbeatRequest): void {
  writer.string(10, message.sessionId);
  writer.string(18, message.protocolVersion);
  writer.string(26, message.expectedServer);
}

function readHeartbeatRequest(reader: WireReader): HeartbeatRequest {
  let sessionId = '';
  let protocolVersion = '';
  let expectedServer = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        sessionId = reader.string();
        break;
      case 18:
        protocolVersion = reader.string();
        break;
      case 26:
        expectedServer = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { sessionId, protocolVersion, expectedServer };
}

export const HeartbeatRequest: Codec<HeartbeatRequest> = codec(writeHeartbeatRequest, readHeartbeatRequest);

export interface LockRequest {
  /** "l1" locks p1 with everything below it, "l2" the pair of p1 and p2. */
  readonly scope: string;
  readonly p1: string;
  readonly p2: string;
  /** Bounds the wait on the server; 0 or less sets no bound. */
  readonly timeoutMs: bigint;
  readonly sessionId: string;
  /** One id for all attempts of one acquire: a repeat finds its place or its grant. */
  readonly requestId: string;
  readonly protocolVersion: string;
  readonly expectedServer: string;
}

function writeLockRequest(writer: WireWriter, message: LockRequest): void {
  writer.string(10, message.scope);
  writer.string(18, message.p1);
  writer.string(26, message.p2);
  writer.int64(32, message.timeoutMs);
  writer.string(42, message.sessionId);
  writer.string(50, message.requestId);
  writer.string(58, message.protocolVersion);
  writer.string(66, message.expectedServer);
}

function readLockRequest(reader: WireReader): LockRequest {
  let scope = '';
  let p1 = '';
  let p2 = '';
  let timeoutMs = 0n;
  let sessionId = '';
  let requestId = '';
  let protocolVersion = '';
  let expectedServer = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        scope = reader.string();
        break;
      case 18:
        p1 = reader.string();
        break;
      case 26:
        p2 = reader.string();
        break;
      case 32:
        timeoutMs = reader.int64();
        break;
      case 42:
        sessionId = reader.string();
        break;
      case 50:
        requestId = reader.string();
        break;
      case 58:
        protocolVersion = reader.string();
        break;
      case 66:
        expectedServer = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { scope, p1, p2, timeoutMs, sessionId, requestId, protocolVersion, expectedServer };
}

export const LockRequest: Codec<LockRequest> = codec(writeLockRequest, readLockRequest);

export interface LockResponse {
  /** Secret that proves ownership of this grant. */
  readonly token: string;
  /** Larger than the fence of every earlier grant that conflicts with this one. */
  readonly fence: bigint;
  readonly scope: string;
  readonly p1: string;
  readonly p2: string;
  readonly sessionId: string;
  readonly serverId: string;
  readonly protocolVersion: string;
  readonly error?: ErrorStatus;
}

function writeLockResponse(writer: WireWriter, message: LockResponse): void {
  writer.string(10, message.token);
  writer.uint64(16, message.fence);
  writer.string(26, message.scope);
  writer.string(34, message.p1);
  writer.string(42, message.p2);
  writer.string(50, message.sessionId);
  writer.string(58, message.serverId);
  writer.string(66, message.protocolVersion);
  if (message.error !== undefined) {
    const start9 = writer.begin(74);
    writeErrorStatus(writer, message.error);
    writer.end(start9);
  }
}

function readLockResponse(reader: WireReader): LockResponse {
  let token = '';
  let fence = 0n;
  let scope = '';
  let p1 = '';
  let p2 = '';
  let sessionId = '';
  let serverId = '';
  let protocolVersion = '';
  let error: ErrorStatus | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        token = reader.string();
        break;
      case 16:
        fence = reader.uint64();
        break;
      case 26:
        scope = reader.string();
        break;
      case 34:
        p1 = reader.string();
        break;
      case 42:
        p2 = reader.string();
        break;
      case 50:
        sessionId = reader.string();
        break;
      case 58:
        serverId = reader.string();
        break;
      case 66:
        protocolVersion = reader.string();
        break;
      case 74:
        error = reader.nested(readErrorStatus);
        break;
      default:
        reader.skip(tag);
    }
  }
  return {
    token,
    fence,
    scope,
    p1,
    p2,
    sessionId,
    serverId,
    protocolVersion,
    ...(error === undefined ? undefined : { error }),
  };
}

export const LockResponse: Codec<LockResponse> = codec(writeLockResponse, readLockResponse);

export interface ReleaseRequest {
  readonly sessionId: string;
  readonly token: string;
  /** One id for all attempts of one release. */
  readonly requestId: string;
  readonly protocolVersion: string;
  readonly expectedServer: string;
}

function writeReleaseRequest(writer: WireWriter, message: ReleaseRequest): void {
  writer.string(10, message.sessionId);
  writer.string(18, message.token);
  writer.string(26, message.requestId);
  writer.string(34, message.protocolVersion);
  writer.string(42, message.expectedServer);
}

function readReleaseRequest(reader: WireReader): ReleaseRequest {
  let sessionId = '';
  let token = '';
  let requestId = '';
  let protocolVersion = '';
  let expectedServer = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        sessionId = reader.string();
        break;
      case 18:
        token = reader.string();
        break;
      case 26:
        requestId = reader.string();
        break;
      case 34:
        protocolVersion = reader.string();
        break;
      case 42:
        expectedServer = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { sessionId, token, requestId, protocolVersion, expectedServer };
}

export const ReleaseRequest: Codec<ReleaseRequest> = codec(writeReleaseRequest, readReleaseRequest);

export interface ReleaseResponse {
  readonly ok: boolean;
  readonly serverId: string;
  readonly protocolVersion: string;
  readonly error?: ErrorStatus;
}

function writeReleaseResponse(writer: WireWriter, message: ReleaseResponse): void {
  writer.bool(8, message.ok);
  writer.string(18, message.serverId);
  writer.string(26, message.protocolVersion);
  if (message.error !== undefined) {
    const start4 = writer.begin(34);
    writeErrorStatus(writer, message.error);
    writer.end(start4);
  }
}

function readReleaseResponse(reader: WireReader): ReleaseResponse {
  let ok = false;
  let serverId = '';
  let protocolVersion = '';
  let error: ErrorStatus | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 8:
        ok = reader.bool();
        break;
      case 18:
        serverId = reader.string();
        break;
      case 26:
        protocolVersion = reader.string();
        break;
      case 34:
        error = reader.nested(readErrorStatus);
        break;
      default:
        reader.skip(tag);
    }
  }
  return { ok, serverId, protocolVersion, ...(error === undefined ? undefined : { error }) };
}

export const ReleaseResponse: Codec<ReleaseResponse> = codec(writeReleaseResponse, readReleaseResponse);

export interface CloseSessionRequest {
  readonly sessionId: string;
  readonly protocolVersion: string;
  readonly expectedServer: string;
}

function writeCloseSessionRequest(writer: WireWriter, message: CloseSessionRequest): void {
  writer.string(10, message.sessionId);
  writer.string(18, message.protocolVersion);
  writer.string(26, message.expectedServer);
}

function readCloseSessionRequest(reader: WireReader): CloseSessionRequest {
  let sessionId = '';
  let protocolVersion = '';
  let expectedServer = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        sessionId = reader.string();
        break;
      case 18:
        protocolVersion = reader.string();
        break;
      case 26:
        expectedServer = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { sessionId, protocolVersion, expectedServer };
}

export const CloseSessionRequest: Codec<CloseSessionRequest> = codec(
  writeCloseSessionRequest,
  readCloseSessionRequest,
);

export interface CloseSessionResponse {
  readonly closed: boolean;
  readonly serverId: string;
  readonly protocolVersion: string;
  readonly error?: ErrorStatus;
}

function writeCloseSessionResponse(writer: WireWriter, message: CloseSessionResponse): void {
  writer.bool(8, message.closed);
  writer.string(18, message.serverId);
  writer.string(26, message.protocolVersion);
  if (message.error !== undefined) {
    const start4 = writer.begin(34);
    writeErrorStatus(writer, message.error);
    writer.end(start4);
  }
}

function readCloseSessionResponse(reader: WireReader): CloseSessionResponse {
  let closed = false;
  let serverId = '';
  let protocolVersion = '';
  let error: ErrorStatus | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 8:
        closed = reader.bool();
        break;
      case 18:
        serverId = reader.string();
        break;
      case 26:
        protocolVersion = reader.string();
        break;
      case 34:
        error = reader.nested(readErrorStatus);
        break;
      default:
        reader.skip(tag);
    }
  }
  return { closed, serverId, protocolVersion, ...(error === undefined ? undefined : { error }) };
}

export const CloseSessionResponse: Codec<CloseSessionResponse> = codec(
  writeCloseSessionResponse,
  readCloseSessionResponse,
);

export interface ClientWatchMessage {
  readonly sessionId: string;
  readonly protocolVersion: string;
}

function writeClientWatchMessage(writer: WireWriter, message: ClientWatchMessage): void {
  writer.string(10, message.sessionId);
  writer.string(18, message.protocolVersion);
}

function readClientWatchMessage(reader: WireReader): ClientWatchMessage {
  let sessionId = '';
  let protocolVersion = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        sessionId = reader.string();
        break;
      case 18:
        protocolVersion = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { sessionId, protocolVersion };
}

export const ClientWatchMessage: Codec<ClientWatchMessage> = codec(
  writeClientWatchMessage,
  readClientWatchMessage,
);

export interface ServerEvent {
  /** WATCH_ESTABLISHED, SESSION_INVALIDATED or PROTOCOL_MISMATCH. */
  readonly type: string;
  readonly message: string;
  readonly code: string;
  readonly sessionId: string;
  readonly serverId: string;
  readonly protocolVersion: string;
}

function writeServerEvent(writer: WireWriter, message: ServerEvent): void {
  writer.string(10, message.type);
  writer.string(18, message.message);
  writer.string(26, message.code);
  writer.string(34, message.sessionId);
  writer.string(42, message.serverId);
  writer.string(50, message.protocolVersion);
}

function readServerEvent(reader: WireReader): ServerEvent {
  let type = '';
  let message = '';
  let code = '';
  let sessionId = '';
  let serverId = '';
  let protocolVersion = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        type = reader.string();
        break;
      case 18:
        message = reader.string();
        break;
      case 26:
        code = reader.string();
        break;
      case 34:
        sessionId = reader.string();
        break;
      case 42:
        serverId = reader.string();
        break;
      case 50:
        protocolVersion = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { type, message, code, sessionId, serverId, protocolVersion };
}

export const ServerEvent: Codec<ServerEvent> = codec(writeServerEvent, readServerEvent);

export interface RevokeRequest {
  readonly scope: string;
  readonly p1: string;
  readonly p2: string;
  /** Only the grant that covers this fence; 0: whichever there is. */
  readonly fence: bigint;
  /** With scope "l1": also every grant below it. */
  readonly below: boolean;
  /** Who asks, a label for the server's log. */
  readonly client: string;
  readonly protocolVersion: string;
  readonly expectedServer: string;
}

function writeRevokeRequest(writer: WireWriter, message: RevokeRequest): void {
  writer.string(10, message.scope);
  writer.string(18, message.p1);
  writer.string(26, message.p2);
  writer.uint64(32, message.fence);
  writer.bool(40, message.below);
  writer.string(50, message.client);
  writer.string(58, message.protocolVersion);
  writer.string(66, message.expectedServer);
}

function readRevokeRequest(reader: WireReader): RevokeRequest {
  let scope = '';
  let p1 = '';
  let p2 = '';
  let fence = 0n;
  let below = false;
  let client = '';
  let protocolVersion = '';
  let expectedServer = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        scope = reader.string();
        break;
      case 18:
        p1 = reader.string();
        break;
      case 26:
        p2 = reader.string();
        break;
      case 32:
        fence = reader.uint64();
        break;
      case 40:
        below = reader.bool();
        break;
      case 50:
        client = reader.string();
        break;
      case 58:
        protocolVersion = reader.string();
        break;
      case 66:
        expectedServer = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { scope, p1, p2, fence, below, client, protocolVersion, expectedServer };
}

export const RevokeRequest: Codec<RevokeRequest> = codec(writeRevokeRequest, readRevokeRequest);

export interface RevokeResponse {
  /** The first of them; empty: nothing that is meant was held. */
  readonly ended: readonly HeldLock[];
  /** All of them. */
  readonly endedCount: bigint;
  readonly serverId: string;
  readonly protocolVersion: string;
  readonly error?: ErrorStatus;
}

function writeRevokeResponse(writer: WireWriter, message: RevokeResponse): void {
  for (const item of message.ended) {
    const start1 = writer.begin(10);
    writeHeldLock(writer, item);
    writer.end(start1);
  }
  writer.uint64(16, message.endedCount);
  writer.string(26, message.serverId);
  writer.string(34, message.protocolVersion);
  if (message.error !== undefined) {
    const start5 = writer.begin(42);
    writeErrorStatus(writer, message.error);
    writer.end(start5);
  }
}

function readRevokeResponse(reader: WireReader): RevokeResponse {
  const ended: HeldLock[] = [];
  let endedCount = 0n;
  let serverId = '';
  let protocolVersion = '';
  let error: ErrorStatus | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        ended.push(reader.nested(readHeldLock));
        break;
      case 16:
        endedCount = reader.uint64();
        break;
      case 26:
        serverId = reader.string();
        break;
      case 34:
        protocolVersion = reader.string();
        break;
      case 42:
        error = reader.nested(readErrorStatus);
        break;
      default:
        reader.skip(tag);
    }
  }
  return { ended, endedCount, serverId, protocolVersion, ...(error === undefined ? undefined : { error }) };
}

export const RevokeResponse: Codec<RevokeResponse> = codec(writeRevokeResponse, readRevokeResponse);

export interface ListHoldersRequest {
  /** Only grants with a larger fence: the last one of the page before; 0: from the beginning. */
  readonly afterFence: bigint;
  /** At most so many; 0: as many as the server likes, which also may answer fewer. */
  readonly limit: number;
  readonly protocolVersion: string;
  readonly expectedServer: string;
}

function writeListHoldersRequest(writer: WireWriter, message: ListHoldersRequest): void {
  writer.uint64(8, message.afterFence);
  writer.int32(16, message.limit);
  writer.string(26, message.protocolVersion);
  writer.string(34, message.expectedServer);
}

function readListHoldersRequest(reader: WireReader): ListHoldersRequest {
  let afterFence = 0n;
  let limit = 0;
  let protocolVersion = '';
  let expectedServer = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 8:
        afterFence = reader.uint64();
        break;
      case 16:
        limit = reader.int32();
        break;
      case 26:
        protocolVersion = reader.string();
        break;
      case 34:
        expectedServer = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { afterFence, limit, protocolVersion, expectedServer };
}

export const ListHoldersRequest: Codec<ListHoldersRequest> = codec(
  writeListHoldersRequest,
  readListHoldersRequest,
);

export interface ListHoldersResponse {
  readonly holders: readonly HeldLock[];
  /** There are more behind the last of these. */
  readonly more: boolean;
  readonly serverId: string;
  readonly protocolVersion: string;
  readonly error?: ErrorStatus;
}

function writeListHoldersResponse(writer: WireWriter, message: ListHoldersResponse): void {
  for (const item of message.holders) {
    const start1 = writer.begin(10);
    writeHeldLock(writer, item);
    writer.end(start1);
  }
  writer.bool(16, message.more);
  writer.string(26, message.serverId);
  writer.string(34, message.protocolVersion);
  if (message.error !== undefined) {
    const start5 = writer.begin(42);
    writeErrorStatus(writer, message.error);
    writer.end(start5);
  }
}

function readListHoldersResponse(reader: WireReader): ListHoldersResponse {
  const holders: HeldLock[] = [];
  let more = false;
  let serverId = '';
  let protocolVersion = '';
  let error: ErrorStatus | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        holders.push(reader.nested(readHeldLock));
        break;
      case 16:
        more = reader.bool();
        break;
      case 26:
        serverId = reader.string();
        break;
      case 34:
        protocolVersion = reader.string();
        break;
      case 42:
        error = reader.nested(readErrorStatus);
        break;
      default:
        reader.skip(tag);
    }
  }
  return { holders, more, serverId, protocolVersion, ...(error === undefined ? undefined : { error }) };
}

export const ListHoldersResponse: Codec<ListHoldersResponse> = codec(
  writeListHoldersResponse,
  readListHoldersResponse,
);

export interface HeldLock {
  readonly l1: string;
  /** Empty: the L1 itself. */
  readonly l2: string;
  readonly fence: bigint;
  /** First characters of the session id. */
  readonly session: string;
  readonly client: string;
  /** Where it runs, as its client says or by the address it called from. */
  readonly host: string;
  readonly metadata: readonly HeldLabel[];
  readonly heldMs: bigint;
  readonly leaseLeftMs: bigint;
  /** Who waits for its key, or for something that conflicts with it; in a listing only. */
  readonly waiters: bigint;
}

function writeHeldLock(writer: WireWriter, message: HeldLock): void {
  writer.string(10, message.l1);
  writer.string(18, message.l2);
  writer.uint64(24, message.fence);
  writer.string(34, message.session);
  writer.string(42, message.client);
  writer.string(50, message.host);
  for (const item of message.metadata) {
    const start7 = writer.begin(58);
    writeHeldLabel(writer, item);
    writer.end(start7);
  }
  writer.uint64(64, message.heldMs);
  writer.uint64(72, message.leaseLeftMs);
  writer.uint64(80, message.waiters);
}

function readHeldLock(reader: WireReader): HeldLock {
  let l1 = '';
  let l2 = '';
  let fence = 0n;
  let session = '';
  let client = '';
  let host = '';
  const metadata: HeldLabel[] = [];
  let heldMs = 0n;
  let leaseLeftMs = 0n;
  let waiters = 0n;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        l1 = reader.string();
        break;
      case 18:
        l2 = reader.string();
        break;
      case 24:
        fence = reader.uint64();
        break;
      case 34:
        session = reader.string();
        break;
      case 42:
        client = reader.string();
        break;
      case 50:
        host = reader.string();
        break;
      case 58:
        metadata.push(reader.nested(readHeldLabel));
        break;
      case 64:
        heldMs = reader.uint64();
        break;
      case 72:
        leaseLeftMs = reader.uint64();
        break;
      case 80:
        waiters = reader.uint64();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { l1, l2, fence, session, client, host, metadata, heldMs, leaseLeftMs, waiters };
}

export const HeldLock: Codec<HeldLock> = codec(writeHeldLock, readHeldLock);

export interface HeldLabel {
  readonly name: string;
  readonly value: string;
}

function writeHeldLabel(writer: WireWriter, message: HeldLabel): void {
  writer.string(10, message.name);
  writer.string(18, message.value);
}

function readHeldLabel(reader: WireReader): HeldLabel {
  let name = '';
  let value = '';
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        name = reader.string();
        break;
      case 18:
        value = reader.string();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { name, value };
}

export const HeldLabel: Codec<HeldLabel> = codec(writeHeldLabel, readHeldLabel);

/** Full name of the service, as in every method path. */
export const lockServiceName = 'klock.v1.LockService';

/** Locks with leases: a session is opened and kept alive, locks are held on it. */
export const lockService = {
  /** Opens a session; its locks live no longer than it does. */
  CreateSession: {
    path: '/klock.v1.LockService/CreateSession',
    requestStream: false,
    responseStream: false,
    requestSerialize: CreateSessionRequest.encode,
    requestDeserialize: CreateSessionRequest.decode,
    responseSerialize: SessionResponse.encode,
    responseDeserialize: SessionResponse.decode,
    originalName: 'createSession',
  } satisfies MethodDefinition<CreateSessionRequest, SessionResponse>,
  /** Moves the end of a session to now + its lease. */
  Heartbeat: {
    path: '/klock.v1.LockService/Heartbeat',
    requestStream: false,
    responseStream: false,
    requestSerialize: HeartbeatRequest.encode,
    requestDeserialize: HeartbeatRequest.decode,
    responseSerialize: SessionResponse.encode,
    responseDeserialize: SessionResponse.decode,
    originalName: 'heartbeat',
  } satisfies MethodDefinition<HeartbeatRequest, SessionResponse>,
  /** Waits for a lock, until it is granted, the wait or the call ends, or the session does. */
  Acquire: {
    path: '/klock.v1.LockService/Acquire',
    requestStream: false,
    responseStream: false,
    requestSerialize: LockRequest.encode,
    requestDeserialize: LockRequest.decode,
    responseSerialize: LockResponse.encode,
    responseDeserialize: LockResponse.decode,
    originalName: 'acquire',
  } satisfies MethodDefinition<LockRequest, LockResponse>,
  /** Gives one lock back. */
  Release: {
    path: '/klock.v1.LockService/Release',
    requestStream: false,
    responseStream: false,
    requestSerialize: ReleaseRequest.encode,
    requestDeserialize: ReleaseRequest.decode,
    responseSerialize: ReleaseResponse.encode,
    responseDeserialize: ReleaseResponse.decode,
    originalName: 'release',
  } satisfies MethodDefinition<ReleaseRequest, ReleaseResponse>,
  /** Ends a session and frees all its locks. */
  CloseSession: {
    path: '/klock.v1.LockService/CloseSession',
    requestStream: false,
    responseStream: false,
    requestSerialize: CloseSessionRequest.encode,
    requestDeserialize: CloseSessionRequest.decode,
    responseSerialize: CloseSessionResponse.encode,
    responseDeserialize: CloseSessionResponse.decode,
    originalName: 'closeSession',
  } satisfies MethodDefinition<CloseSessionRequest, CloseSessionResponse>,
  /** Tells the end of one session. The client sends one message and keeps its side open for as long as it watches. */
  WatchSession: {
    path: '/klock.v1.LockService/WatchSession',
    requestStream: true,
    responseStream: true,
    requestSerialize: ClientWatchMessage.encode,
    requestDeserialize: ClientWatchMessage.decode,
    responseSerialize: ServerEvent.encode,
    responseDeserialize: ServerEvent.decode,
    originalName: 'watchSession',
  } satisfies MethodDefinition<ClientWatchMessage, ServerEvent>,
  /** Carries one session: everything the five calls above do, without a call for each. See ClientFrame. */
  Channel: {
    path: '/klock.v1.LockService/Channel',
    requestStream: true,
    responseStream: true,
    requestSerialize: ClientFrame.encode,
    requestDeserialize: ClientFrame.decode,
    responseSerialize: ServerFrame.encode,
    responseDeserialize: ServerFrame.decode,
    originalName: 'channel',
  } satisfies MethodDefinition<ClientFrame, ServerFrame>,
  /** For operators: ends what is held of a key, whoever holds it, and says what that was. */
  Revoke: {
    path: '/klock.v1.LockService/Revoke',
    requestStream: false,
    responseStream: false,
    requestSerialize: RevokeRequest.encode,
    requestDeserialize: RevokeRequest.decode,
    responseSerialize: RevokeResponse.encode,
    responseDeserialize: RevokeResponse.decode,
    originalName: 'revoke',
  } satisfies MethodDefinition<RevokeRequest, RevokeResponse>,
  /** For operators: who holds anything at all, in pages, the longest held first. */
  ListHolders: {
    path: '/klock.v1.LockService/ListHolders',
    requestStream: false,
    responseStream: false,
    requestSerialize: ListHoldersRequest.encode,
    requestDeserialize: ListHoldersRequest.decode,
    responseSerialize: ListHoldersResponse.encode,
    responseDeserialize: ListHoldersResponse.decode,
    originalName: 'listHolders',
  } satisfies MethodDefinition<ListHoldersRequest, ListHoldersResponse>,
} as const;
