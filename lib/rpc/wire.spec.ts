import fc from 'fast-check';
import {
  LockRequest,
  LockResponse,
  MalformedMessageError,
  MAX_STATUS_TEXT_BYTES,
  SessionResponse,
  durationFromWire,
  durationToWire,
  errorStatus,
  statusText,
} from './index.js';
import { WireReader } from './wire-reader.js';
import { WireWriter } from './wire-writer.js';
import { chosenSeed } from '../../test/support/seed.js';

const decodeHex = (hex: string): LockRequest =>
  LockRequest.decode(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

describe('fences on the wire', () => {
  it.each([
    0n,
    1n,
    127n,
    128n,
    2n ** 32n,
    2n ** 49n - 1n,
    2n ** 49n,
    2n ** 53n - 1n,
    2n ** 53n + 1n,
    2n ** 63n,
    2n ** 64n - 2n,
    2n ** 64n - 1n,
  ])('[K-027] [B-012] %s survives a round trip exactly, as a bigint', (fence) => {
    const { fence: back } = LockResponse.decode(LockResponse.encode(LockResponse.create({ fence })));
    expect(typeof back).toBe('bigint');
    expect(back).toBe(fence);
  });

  it.each([-1n, 2n ** 64n])('[K-027] [B-012] %s is refused instead of wrapped', (fence) => {
    expect(() => LockResponse.encode(LockResponse.create({ fence }))).toThrow(RangeError);
  });

  it('[B-012] a message can be cloned and logged with its fence in decimal', () => {
    const message = LockResponse.create({ fence: 2n ** 64n - 1n });
    expect(structuredClone(message).fence).toBe(2n ** 64n - 1n);
  });
});

describe('durations on the wire', () => {
  it.each([
    [0n, 0],
    [-5n, 0],
    [-(2n ** 63n), 0],
    [1n, 1],
    [2_147_483_647n, 2_147_483_647],
    [2_147_483_648n, 2_147_483_647],
    [2n ** 63n - 1n, 2_147_483_647],
  ])('[K-070] %s ms becomes %s, never a wrapped value', (wire, ms) => {
    expect(durationFromWire(wire)).toBe(ms);
  });

  it('[K-070] durations are rounded up and bounded on their way out', () => {
    expect([durationToWire(0.2), durationToWire(-3), durationToWire(Infinity)]).toEqual([
      1n,
      0n,
      2_147_483_647n,
    ]);
  });

  it.each([2n ** 63n - 1n, -(2n ** 63n)])('int64 %s survives a round trip', (leaseMs) => {
    const message = SessionResponse.create({ leaseMs });
    expect(SessionResponse.decode(SessionResponse.encode(message))).toEqual(message);
  });
});

describe('decoding what others sent', () => {
  it('passes over unknown fields of every wire type', () => {
    const known = LockRequest.encode(LockRequest.create({ p1: 'p', requestId: 'r' })).toString('hex');
    const unknown = ['f80101', 'f9010102030405060708', 'fa0103616263', 'fd0101020304'].join('');
    expect(decodeHex(unknown + known + unknown)).toEqual(LockRequest.create({ p1: 'p', requestId: 'r' }));
  });

  it('takes the last of two values of one field, in any order of fields', () => {
    expect(decodeHex('32 01 72  12 01 61  12 01 62')).toEqual(
      LockRequest.create({ p1: 'b', requestId: 'r' }),
    );
  });

  it('passes over a known number with another wire type', () => {
    expect(decodeHex('10 05  12 01 70').p1).toBe('p');
  });

  it.each([
    ['a field cut short', '12 05 61'],
    ['a tag without value', '12'],
    ['an endless number', '20 ffffffffffffffffffffff'],
    ['field number 0', '00 01'],
    ['a group', '13'],
    ['a fixed field cut short', 'f901 0102'],
  ])('refuses %s', (_what, hex) => {
    expect(() => decodeHex(hex)).toThrow(MalformedMessageError);
  });

  it('refuses text that is not UTF-8, since two keys could become one by replacement', () => {
    expect(() => decodeHex('12 02 c328')).toThrow(MalformedMessageError);
    expect(decodeHex('12 03 efbfbd').p1).toBe('\ufffd');
  });

  it('refuses a nested message that reaches past its parent', () => {
    expect(() => SessionResponse.decode(Buffer.from('32040805', 'hex'))).toThrow(MalformedMessageError);
    expect(() => SessionResponse.decode(Buffer.from('3202120561', 'hex'))).toThrow(MalformedMessageError);
  });
});

describe('round trips', () => {
  const seed = chosenSeed(1_000_000);
  const text = fc.string({ unit: 'grapheme', maxLength: 300 });

  it(`every request comes back as it was (seed ${seed})`, () => {
    const request = fc.record({
      scope: text,
      p1: text,
      p2: text,
      timeoutMs: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      sessionId: text,
      requestId: text,
      protocolVersion: text,
      expectedServer: text,
    });
    fc.assert(
      fc.property(request, (message) => {
        expect(LockRequest.decode(LockRequest.encode(message))).toEqual(message);
      }),
      { seed, numRuns: 300 },
    );
  });

  it('writes texts and nested messages beyond one length byte and beyond the first buffer', () => {
    const message = SessionResponse.create({
      sessionId: 'x'.repeat(10_000),
      error: { ...errorStatus('INTERNAL', 'y'.repeat(900), 's'), code: '\u00e9'.repeat(20_000) },
    });
    expect(SessionResponse.decode(SessionResponse.encode(message))).toEqual(message);
  });

  it('texts of every length and counters of every size come back as they were', () => {
    const numbers = Array.from({ length: 53 }, (_, bit) => [2 ** bit, 2 ** (bit + 1) - 1]).flat();
    const texts = Array.from({ length: 150 }, (_, length) =>
      ['x', 'é', '漢', '😀'].map((unit) => 'a'.repeat(length) + unit),
    ).flat();
    const writer = new WireWriter();
    for (const number of numbers) writer.number(8, number);
    for (const text of texts) writer.string(18, text);
    const reader = new WireReader(writer.take());
    expect(numbers.map(() => (reader.tag(), reader.number()))).toEqual(numbers);
    expect(texts.map(() => (reader.tag(), reader.string()))).toEqual(texts);
    expect(reader.tag()).toBe(0);
  });

  it('carries every other field type of the format', () => {
    const writer = new WireWriter().reset();
    writer.bytes(10, Buffer.from([1, 2, 3]));
    writer.bool(16, true);
    writer.int32(24, -2);
    writer.uint32(32, 4_294_967_295);
    const reader = new WireReader(writer.take());
    expect([reader.tag(), reader.bytes()]).toEqual([10, Buffer.from([1, 2, 3])]);
    expect([reader.tag(), reader.bool()]).toEqual([16, true]);
    expect([reader.tag(), reader.int32()]).toEqual([24, -2]);
    expect([reader.tag(), reader.uint32(), reader.tag()]).toEqual([32, 4_294_967_295, 0]);
  });
});

describe('error text', () => {
  it('[B-035] is printable ASCII whatever key or text it mentions', () => {
    expect(statusText('key \u043a\u043b\u044e\u0447-\u{1f600}\n')).toBe(
      'key \\u043a\\u043b\\u044e\\u0447-\\ud83d\\ude00\\u000a',
    );
  });

  it.each([1_024, 1_025, 20_000])('[B-035] %i characters stay within 1 KiB', (length) => {
    expect(statusText('k'.repeat(length)).length).toBeLessThanOrEqual(MAX_STATUS_TEXT_BYTES);
    expect(statusText('\u{1f600}'.repeat(length)).length).toBeLessThanOrEqual(MAX_STATUS_TEXT_BYTES);
  });

  it('[K-030] an error status is always complete', () => {
    expect(errorStatus('LOCK_TIMEOUT', 'busy', 'srv_1')).toEqual({
      status: 409,
      code: 'LOCK_TIMEOUT',
      message: 'busy',
      serverId: 'srv_1',
      protocolVersion: '1',
    });
  });
});
