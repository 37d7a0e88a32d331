import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import * as messages from './messages.js';
import { METHODS } from './methods.js';
import { bytes, int64, message, repeated, text, type Message } from './wire.js';

const parsed = protobuf.parse(readFileSync('proto/etcd.proto', 'utf8'), { keepCase: true });
const scope = parsed.root.lookup('etcdserverpb') as protobuf.Namespace;

const ROOTS = {
  RangeRequest: messages.RangeRequest,
  RangeResponse: messages.RangeResponse,
  TxnRequest: messages.TxnRequest,
  TxnResponse: messages.TxnResponse,
  LeaseGrantRequest: messages.LeaseGrantRequest,
  LeaseGrantResponse: messages.LeaseGrantResponse,
  LeaseIdRequest: messages.LeaseIdRequest,
  LeaseTtlResponse: messages.LeaseTtlResponse,
  WatchRequest: messages.WatchRequest,
  WatchResponse: messages.WatchResponse,
  AuthenticateRequest: messages.AuthenticateRequest,
  AuthenticateResponse: messages.AuthenticateResponse,
  StatusResponse: messages.StatusResponse,
} as const;

const SCALARS: Record<string, unknown> = {
  int64: 0x1234_5678_9abc_def0n,
  int32: 300,
  string: 'klock/q/ключ 😀',
  bytes: Buffer.from([0, 1, 0xff]),
  bool: true,
};

/** Every field of a message set, messages nested three deep. */
function filled(type: protobuf.Type, depth = 0): Record<string, unknown> {
  const fields = type.fieldsArray.map((field) => {
    const nested = field.resolve().resolvedType;
    if (nested instanceof protobuf.Type && depth > 2) return [field.name, undefined];
    const value = nested instanceof protobuf.Type ? filled(nested, depth + 1) : SCALARS[field.type];
    return [field.name, field.repeated ? [value, value] : value];
  });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Record<string, unknown>;
}

const long = protobuf.util.Long as unknown as { fromString(text: string): unknown };

/** As protobufjs wants it: its 64-bit numbers are not bigints. */
function forProtobuf(value: unknown): unknown {
  if (typeof value === 'bigint') return long.fromString(value.toString());
  if (Array.isArray(value)) return value.map(forProtobuf);
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, forProtobuf(each)]));
}

describe('the messages of etcd', () => {
  it.each(Object.keys(ROOTS))('%s has the fields and numbers of proto/etcd.proto, both ways', (name) => {
    const own = ROOTS[name as keyof typeof ROOTS] as unknown as Message<object>;
    const type = scope.lookupType(name);
    const value = filled(type);
    const theirs = Buffer.from(type.encode(forProtobuf(value) as object).finish());
    expect(own.encode(value).toString('hex')).toBe(theirs.toString('hex'));
    expect(own.encode(own.decode(theirs)).toString('hex')).toBe(theirs.toString('hex'));
  });

  it.each(Object.values(METHODS).map(({ path }) => path))('%s is an RPC of proto/etcd.proto', (path) => {
    const [service, method] = path.replace('/etcdserverpb.', '').split('/') as [string, string];
    expect(scope.lookupService(service).methods[method]).toBeDefined();
  });
});

const Sample = message<{ a: bigint; b: Buffer; c: string; d: readonly { a: bigint }[] }>({
  a: int64(1),
  b: bytes(2),
  c: text(3),
  d: repeated(4, () => message<{ a: bigint }>({ a: int64(1) })),
});

describe('the wire format', () => {
  it('gives back every int64, text and list it was given', () => {
    const value = fc.record({
      a: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      b: fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each)),
      c: fc.string({ unit: 'grapheme' }),
      d: fc.array(fc.record({ a: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }) }), { maxLength: 5 }),
    });
    fc.assert(fc.property(value, (each) => expect(Sample.decode(Sample.encode(each))).toEqual(each)));
  });

  it('passes over fields of a later version', () => {
    const later = message<{ x: bigint; y: string }>({ x: int64(7), y: text(9) });
    const mixed = Buffer.concat([later.encode({ x: 5n, y: 'new' }), Sample.encode({ a: 1n })]);
    expect(Sample.decode(mixed)).toEqual({ a: 1n, b: Buffer.alloc(0), c: '', d: [] });
  });

  it('refuses bytes that are cut short or no message, and never reads past the end', () => {
    const whole = Sample.encode({ b: Buffer.alloc(200, 7) });
    expect(() => Sample.decode(whole.subarray(0, 150))).toThrow(RangeError);
    expect(() => Sample.decode(Buffer.alloc(11, 0xff))).toThrow(RangeError);
    expect(() => Sample.decode(Buffer.from([0x0b]))).toThrow(RangeError);
  });
});
