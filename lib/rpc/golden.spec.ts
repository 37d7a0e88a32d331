import {
  ClientWatchMessage,
  CloseSessionRequest,
  CloseSessionResponse,
  type Codec,
  CreateSessionRequest,
  ErrorStatus,
  HeartbeatRequest,
  LockRequest,
  LockResponse,
  ReleaseRequest,
  ReleaseResponse,
  ServerEvent,
  SessionResponse,
  lockService,
  lockServiceName,
} from './index.js';

interface Golden<T> {
  readonly name: string;
  readonly codec: Codec<T>;
  readonly message: T;
  readonly hex: string;
}

/** Bytes written out by hand from the field table, not by this encoder. */
function golden<T>(name: string, codec: Codec<T>, message: T, ...parts: readonly string[]): Golden<unknown> {
  const hex = parts.join('').replaceAll(' ', '');
  return { name, codec, message, hex };
}

const error = { status: 409, code: 'LOCK_TIMEOUT', message: 'busy', serverId: 'srv_1', protocolVersion: '1' };
/** 409 = 0x199: 7-bit groups 0011001, 11 -> 99 03. */
const errorHex = '08 9903  12 0c 4c4f434b5f54494d454f5554  1a 04 62757379  22 05 7372765f31  2a 01 31';
const errorLength = '21';

const goldens: readonly Golden<unknown>[] = [
  golden('ErrorStatus', ErrorStatus, error, errorHex),
  golden(
    'CreateSessionRequest',
    CreateSessionRequest,
    { leaseMs: 8_000n, protocolVersion: '1', expectedServer: 's' },
    '08 c03e', // 8000 = 0x1f40
    '12 01 31',
    '1a 01 73',
  ),
  golden(
    'SessionResponse',
    SessionResponse,
    {
      sessionId: 'a',
      leaseMs: 60_000n,
      expiresAt: 'Z',
      serverId: 's',
      protocolVersion: '1',
      error,
    },
    '0a 01 61',
    '10 e0d403', // 60000 = 0xea60
    '1a 01 5a',
    '22 01 73',
    '2a 01 31',
    '32',
    errorLength,
    errorHex,
  ),
  golden(
    'HeartbeatRequest',
    HeartbeatRequest,
    { sessionId: 'a', protocolVersion: '1', expectedServer: 's' },
    '0a 01 61  12 01 31  1a 01 73',
  ),
  golden(
    'LockRequest',
    LockRequest,
    {
      scope: 'l2',
      p1: 'p',
      p2: '\u00e9',
      timeoutMs: -1n,
      sessionId: 'a',
      requestId: 'r',
      protocolVersion: '1',
      expectedServer: 's',
    },
    '0a 02 6c32',
    '12 01 70',
    '1a 02 c3a9',
    '20 ffffffffffffffffff01',
    '2a 01 61',
    '32 01 72',
    '3a 01 31',
    '42 01 73',
  ),
  golden(
    'LockResponse',
    LockResponse,
    {
      token: 't',
      fence: 18_446_744_073_709_551_615n,
      scope: 'l1',
      p1: 'p',
      p2: '',
      sessionId: 'a',
      serverId: 's',
      protocolVersion: '1',
      error,
    },
    '0a 01 74',
    '10 ffffffffffffffffff01',
    '1a 02 6c31',
    '22 01 70',
    '32 01 61',
    '3a 01 73',
    '42 01 31',
    '4a',
    errorLength,
    errorHex,
  ),
  golden(
    'ReleaseRequest',
    ReleaseRequest,
    { sessionId: 'a', token: 't', requestId: 'r', protocolVersion: '1', expectedServer: 's' },
    '0a 01 61  12 01 74  1a 01 72  22 01 31  2a 01 73',
  ),
  golden(
    'ReleaseResponse',
    ReleaseResponse,
    { ok: true, serverId: 's', protocolVersion: '1' },
    '08 01  12 01 73  1a 01 31',
  ),
  golden(
    'CloseSessionRequest',
    CloseSessionRequest,
    { sessionId: 'a', protocolVersion: '1', expectedServer: '' },
    '0a 01 61  12 01 31',
  ),
  golden(
    'CloseSessionResponse',
    CloseSessionResponse,
    { closed: false, serverId: 's', protocolVersion: '1', error },
    '12 01 73  1a 01 31',
    '22',
    errorLength,
    errorHex,
  ),
  golden(
    'ClientWatchMessage',
    ClientWatchMessage,
    { sessionId: 'a', protocolVersion: '1' },
    '0a 01 61  12 01 31',
  ),
  golden(
    'ServerEvent',
    ServerEvent,
    {
      type: 'T',
      message: 'm',
      code: 'C',
      sessionId: 'a',
      serverId: 's',
      protocolVersion: '1',
    },
    '0a 01 54  12 01 6d  1a 01 43  22 01 61  2a 01 73  32 01 31',
  ),
];

describe('golden bytes', () => {
  it.each(goldens)('[K-026] [K-041] $name encodes with the field numbers and types of the table', (one) => {
    expect(one.codec.encode(one.message).toString('hex')).toBe(one.hex);
  });

  it.each(goldens)('[K-026] [K-041] $name decodes from those bytes', (one) => {
    expect(one.codec.decode(Buffer.from(one.hex, 'hex'))).toEqual(one.message);
  });

  it('[K-026] defaults are not written, and come back as defaults', () => {
    const empty = LockResponse.create();
    expect(LockResponse.encode(empty).length).toBe(0);
    expect(LockResponse.decode(Buffer.alloc(0))).toEqual(empty);
    expect('error' in empty).toBe(false);
  });

  it('[K-026] an empty error message is present, unlike an absent one', () => {
    const bytes = Buffer.from('2200', 'hex');
    expect(ReleaseResponse.decode(bytes).error).toEqual(ErrorStatus.create());
  });
});

describe('service definition', () => {
  it('[K-025] names the nine methods under their exact paths and kinds', () => {
    const table = Object.values(lockService).map((method) => [
      method.path,
      method.requestStream,
      method.responseStream,
    ]);
    expect(lockServiceName).toBe('klock.v1.LockService');
    expect(table).toEqual([
      ['/klock.v1.LockService/CreateSession', false, false],
      ['/klock.v1.LockService/Heartbeat', false, false],
      ['/klock.v1.LockService/Acquire', false, false],
      ['/klock.v1.LockService/Release', false, false],
      ['/klock.v1.LockService/CloseSession', false, false],
      ['/klock.v1.LockService/WatchSession', true, true],
      ['/klock.v1.LockService/Channel', true, true],
      ['/klock.v1.LockService/Revoke', false, false],
      ['/klock.v1.LockService/ListHolders', false, false],
    ]);
  });
});
