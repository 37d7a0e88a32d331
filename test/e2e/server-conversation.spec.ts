import { Client, credentials, type ClientDuplexStream } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { FakeClock } from '../../lib/core/fake-clock.js';
import { LockServer } from '../../lib/server/index.js';

/** The field table of the contract, written out a second time for a codec that is not ours. */
const TABLE = `
  syntax = "proto3"; package klock.v1;
  message ErrorStatus { int32 status = 1; string code = 2; string message = 3; string server_id = 4; string protocol_version = 5; }
  message CreateSessionRequest { int64 lease_ms = 1; string protocol_version = 2; string expected_server = 3; }
  message SessionResponse { string session_id = 1; int64 lease_ms = 2; string expires_at = 3; string server_id = 4; string protocol_version = 5; ErrorStatus error = 6; }
  message HeartbeatRequest { string session_id = 1; string protocol_version = 2; string expected_server = 3; }
  message LockRequest { string scope = 1; string p1 = 2; string p2 = 3; int64 timeout_ms = 4; string session_id = 5; string request_id = 6; string protocol_version = 7; string expected_server = 8; }
  message LockResponse { string token = 1; uint64 fence = 2; string scope = 3; string p1 = 4; string p2 = 5; string session_id = 6; string server_id = 7; string protocol_version = 8; ErrorStatus error = 9; }
  message ReleaseRequest { string session_id = 1; string token = 2; string request_id = 3; string protocol_version = 4; string expected_server = 5; }
  message ReleaseResponse { bool ok = 1; string server_id = 2; string protocol_version = 3; ErrorStatus error = 4; }
  message CloseSessionRequest { string session_id = 1; string protocol_version = 2; string expected_server = 3; }
  message CloseSessionResponse { bool closed = 1; string server_id = 2; string protocol_version = 3; ErrorStatus error = 4; }
  message ClientWatchMessage { string session_id = 1; string protocol_version = 2; }
  message ServerEvent { string type = 1; string message = 2; string code = 3; string session_id = 4; string server_id = 5; string protocol_version = 6; }`;

const foreign = protobuf.parse(TABLE, { keepCase: true }).root;
const encode = (type: string, fields: object): Buffer => {
  const message = foreign.lookupType(`klock.v1.${type}`);
  return Buffer.from(message.encode(message.fromObject(fields)).finish());
};
const decode = (type: string, bytes: Buffer): Record<string, unknown> => {
  const message = foreign.lookupType(`klock.v1.${type}`);
  return message.toObject(message.decode(bytes), { longs: String });
};

const same = (bytes: Buffer): Buffer => bytes;
const S = 'sess_00000000000000000000000000000002';
const T = 'lk_00000000000000000000000000000003';
const SERVER = 'srv_0000000000000000';
const V = { protocol_version: '1' };
const from = { server_id: SERVER, ...V };

type Line = readonly [rpc: string, request: readonly [string, object], answer: readonly [string, object]];

/** What was said, in order; the answers are what a client of the reference server would get. */
const RECORDED: readonly Line[] = [
  [
    'CreateSession',
    ['CreateSessionRequest', { lease_ms: 5_000, ...V }],
    ['SessionResponse', { session_id: S, lease_ms: '5000', expires_at: '2027-01-15T08:00:05Z', ...from }],
  ],
  [
    'Acquire',
    [
      'LockRequest',
      { scope: 'l2', p1: 'tenant', p2: 'res', timeout_ms: 1_000, session_id: S, request_id: 'acq_1', ...V },
    ],
    [
      'LockResponse',
      { token: T, fence: '1800000000000001', scope: 'l2', p1: 'tenant', p2: 'res', session_id: S, ...from },
    ],
  ],
  [
    'Acquire',
    ['LockRequest', { scope: 'l1', p1: 'tenant', session_id: S, request_id: 'acq_1', ...V }],
    [
      'LockResponse',
      {
        error: {
          status: 409,
          code: 'IDEMPOTENCY_CONFLICT',
          message: 'the request id of lock "tenant" stands for something else or has had its end',
          ...from,
        },
      },
    ],
  ],
  [
    'Heartbeat',
    ['HeartbeatRequest', { session_id: S, ...V, expected_server: SERVER }],
    ['SessionResponse', { session_id: S, lease_ms: '5000', expires_at: '2027-01-15T08:00:05Z', ...from }],
  ],
  [
    'Heartbeat',
    ['HeartbeatRequest', { session_id: S, protocol_version: '2' }],
    [
      'SessionResponse',
      {
        error: {
          status: 409,
          code: 'PROTOCOL_MISMATCH',
          message: 'protocol_version must be "1", got "2"',
          ...from,
        },
      },
    ],
  ],
  [
    'Release',
    ['ReleaseRequest', { session_id: S, token: T, request_id: 'rel_1', ...V }],
    ['ReleaseResponse', { ok: true, ...from }],
  ],
  [
    'Release',
    ['ReleaseRequest', { session_id: S, token: T, request_id: 'rel_2', ...V }],
    [
      'ReleaseResponse',
      {
        error: {
          status: 404,
          code: 'LOCK_NOT_FOUND',
          message: 'the session holds no lock with this token',
          ...from,
        },
      },
    ],
  ],
  [
    'CloseSession',
    ['CloseSessionRequest', { session_id: S, ...V }],
    ['CloseSessionResponse', { closed: true, ...from }],
  ],
  [
    'CloseSession',
    ['CloseSessionRequest', { session_id: S, ...V }],
    [
      'CloseSessionResponse',
      { ...from, error: { status: 404, code: 'SESSION_NOT_FOUND', message: 'no such session', ...from } },
    ],
  ],
];

describe('a conversation with a client that is not ours', () => {
  let server: LockServer;
  let client: Client;

  beforeEach(async () => {
    let ids = 0;
    const random = { id: () => (ids++).toString(16).padStart(32, '0'), fraction: () => 0.5 };
    server = new LockServer({ address: '127.0.0.1:0', clock: new FakeClock(), random });
    // The server took id 0 for itself, so the first session is given number 2 and the first token 3.
    random.id();
    await server.start();
    client = new Client(server.address, credentials.createInsecure());
  });
  afterEach(async () => {
    client.close();
    await server.close({ graceMs: 0 });
  });

  const say = (rpc: string, request: Buffer): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(`/klock.v1.LockService/${rpc}`, same, same, request, (error, answer) =>
        error === null ? resolve(answer!) : reject(error),
      );
    });

  it('[K-041] [K-026] [K-025] goes as recorded, byte for byte in both directions', async () => {
    for (const [rpc, [requestType, request], [answerType, answer]] of RECORDED) {
      const bytes = await say(rpc, encode(requestType, request));
      expect(decode(answerType, bytes)).toEqual(answer);
      expect(bytes.toString('hex')).toBe(encode(answerType, answer).toString('hex'));
    }
  });

  it('[K-041] a watch goes as recorded', async () => {
    await say('CreateSession', encode('CreateSessionRequest', { lease_ms: 5_000, ...V }));
    const stream: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
      '/klock.v1.LockService/WatchSession',
      same,
      same,
    );
    const events: unknown[] = [];
    const ended = new Promise<number>((resolve) => stream.on('status', ({ code }) => resolve(code)));
    stream.on('data', (bytes: Buffer) => {
      events.push(decode('ServerEvent', bytes));
      if (events.length === 1)
        void say('CloseSession', encode('CloseSessionRequest', { session_id: S, ...V }));
    });
    stream.write(encode('ClientWatchMessage', { session_id: S, ...V }));
    expect(await ended).toBe(0);
    expect(events).toEqual([
      { type: 'WATCH_ESTABLISHED', session_id: S, ...from },
      {
        type: 'SESSION_INVALIDATED',
        message: 'the session has ended: client_close',
        code: 'SESSION_GONE',
        session_id: S,
        ...from,
      },
    ]);
  });
});
