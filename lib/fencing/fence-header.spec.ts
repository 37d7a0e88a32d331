import { isLockError, type FenceProof, type LockKey } from '../core/index.js';
import { random, seed } from '../../test/e2e/fencing-cases.js';
import { formatFenceHeader, parseFenceHeader } from './fence-header.js';
import { keyText } from './key-text.js';

const one: FenceProof = { fence: 42n, key: ['tenant-1', 'invoice-7'], store: 'klock:lock-1:8080' };

function refusal(value: unknown): string {
  try {
    parseFenceHeader(value);
    return 'accepted';
  } catch (error) {
    return isLockError(error) ? error.code : String(error);
  }
}

describe('Klock-Fence', () => {
  it('reads as the design says: decimal, key in quotes, store in quotes', () => {
    expect(formatFenceHeader([one])).toBe('42; key="tenant-1/invoice-7"; store="klock:lock-1:8080"');
  });

  it('[B-012] [K-027] carries every fence exactly, above 2^53 too', () => {
    for (const fence of [1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n]) {
      expect(parseFenceHeader(formatFenceHeader([{ ...one, fence }]))[0]?.fence).toBe(fence);
    }
  });

  it('several proofs come back in order, whatever their keys hold', () => {
    const proofs: FenceProof[] = [
      one,
      { fence: 7n, key: ['a, b; key="x"'], store: 'memory:1, "2"' },
      { fence: 8n, key: ['100%/€\0\r\n', '\u{1f512}\\'], store: 'Größe' },
    ];
    const header = formatFenceHeader(proofs);
    expect(header).toMatch(/^[\x20-\x7e]+$/);
    expect(parseFenceHeader(header)).toEqual(proofs);
  });

  it('different keys never read the same', () => {
    const keys: LockKey[] = [
      ['a/b'],
      ['a', 'b'],
      ['a%2Fb'],
      ['a%2F', 'b'],
      ['a', '/b'],
      ['a"'],
      ['a%22'],
      ['ä'],
      ['%C3%A4'],
    ];
    expect(new Set(keys.map(keyText)).size).toBe(keys.length);
  });

  it(`any keys come back unchanged (seed ${seed})`, () => {
    const next = random(seed);
    const alphabet = ['a', '/', '%', '"', '\\', ',', ';', '=', ' ', '\t', '\0', 'é', '\u{1f512}', '2', 'F'];
    const segment = (): string =>
      Array.from({ length: 1 + next(6) }, () => alphabet[next(alphabet.length)]).join('');
    for (let round = 0; round < 500; round++) {
      const key: LockKey = next(2) === 0 ? [segment()] : [segment(), segment()];
      const proofs = [{ fence: BigInt(1 + next(1_000)), key, store: segment() }];
      expect(parseFenceHeader(formatFenceHeader(proofs))).toEqual(proofs);
    }
  });

  it.each([
    ['no text', undefined],
    ['a list of texts', ['42; key="a"; store="s"']],
    ['nothing', ''],
    ['no key', '42'],
    ['no store', '42; key="a"'],
    ['zero, which is never issued', '0; key="a"; store="s"'],
    ['a leading zero', '042; key="a"; store="s"'],
    ['a sign', '-42; key="a"; store="s"'],
    ['an exponent', '4e1; key="a"; store="s"'],
    ['a fraction', '42.0; key="a"; store="s"'],
    ['a fence of 2^63', `${2n ** 63n}; key="a"; store="s"`],
    ['a fence of 20 digits', `${'9'.repeat(20)}; key="a"; store="s"`],
    ['no quotes', '42; key=a; store=s'],
    ['an open quote', '42; key="a"; store="s'],
    ['another order', '42; store="s"; key="a"'],
    ['an empty key', '42; key=""; store="s"'],
    ['an empty segment', '42; key="a/"; store="s"'],
    ['three levels', '42; key="a/b/c"; store="s"'],
    ['an empty store', '42; key="a"; store=""'],
    ['a broken escape', '42; key="a%2"; store="s"'],
    ['an escape that is no UTF-8', '42; key="a%FF"; store="s"'],
    ['an escape nobody needs', '42; key="%61"; store="s"'],
    ['an escape in lower case', '42; key="a%2fb"; store="s"'],
    ['letters that are not ASCII', '42; key="ä"; store="s"'],
    ['more behind it', '42; key="a"; store="s"; x="y"'],
    ['a comma at the end', '42; key="a"; store="s",'],
    ['a comma in front', ',42; key="a"; store="s"'],
    ['two entries without comma', '42; key="a"; store="s" 43; key="b"; store="s"'],
    ['a key of 513 bytes', `42; key="${'a'.repeat(513)}"; store="s"`],
    ['17 entries', Array.from({ length: 17 }, () => '42; key="a"; store="s"').join(', ')],
    ['more than 8,192 characters', '1'.repeat(8_193)],
  ])('refuses %s as an option error, never guessing', (_what, value) => {
    expect(refusal(value)).toBe('INVALID_OPTION');
  });

  it('reads 16 entries, and answers hostile text within milliseconds', () => {
    const entry = '42; key="a"; store="s"';
    expect(parseFenceHeader(Array.from({ length: 16 }, () => entry).join(','))).toHaveLength(16);
    const startedMs = performance.now();
    for (const hostile of [
      '"'.repeat(8_191),
      ','.repeat(8_192),
      '""'.repeat(4_096),
      ' '.repeat(8_192),
      '9'.repeat(8_192),
    ]) {
      expect(refusal(hostile)).toBe('INVALID_OPTION');
    }
    expect(performance.now() - startedMs).toBeLessThan(500);
  });

  it('writes no header that would not be read: none, too many, too long', () => {
    expect(() => formatFenceHeader([])).toThrow(/carries 1 to 16 fences/);
    expect(() => formatFenceHeader(Array.from({ length: 17 }, () => one))).toThrow(/not 17/);
    const long: FenceProof = { fence: 1n, key: ['\0'.repeat(512), '\0'.repeat(512)], store: 's' };
    expect(() => formatFenceHeader([long, long, long])).toThrow(/must not exceed 8192 characters/);
  });
});
