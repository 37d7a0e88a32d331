import {
  escapeKeyPart,
  formatKey,
  isSameKey,
  keyCovers,
  keyId,
  keysConflict,
  lockKey,
  parseKey,
  type LockKey,
} from './lock-key.js';
import { isLockError } from './errors.js';

describe('parseKey', () => {
  it('[K-064] takes a string as an L1 and one or two segments as they are', () => {
    expect(parseKey('a')).toEqual(['a']);
    expect(parseKey(['a'])).toEqual(['a']);
    expect(parseKey(['a', 'b'])).toEqual(['a', 'b']);
  });

  it('[B-035] accepts 512 UTF-8 bytes a segment and refuses one more, naming the segment', () => {
    expect(parseKey('k'.repeat(512))).toHaveLength(1);
    expect(parseKey(['a', 'é'.repeat(256)])).toHaveLength(2);
    expect(() => parseKey('k'.repeat(513))).toThrow(/l1 must not exceed 512/);
    expect(() => parseKey(['a', 'é'.repeat(257)])).toThrow(/l2 must not exceed 512/);
  });

  it.each([
    [''],
    [[]],
    [['a', 'b', 'c']],
    [['a', '']],
    [7],
    [null],
    [undefined],
    [{}],
    ['\ud800'],
    [['a', 'x\udfff']],
  ])('[B-074] refuses %p before any I/O', (input) => {
    const attempt = (): unknown => parseKey(input as string);
    expect(attempt).toThrow();
    try {
      attempt();
    } catch (error) {
      expect(isLockError(error, 'INVALID_KEY')).toBe(true);
      expect((error as Error).message).toMatch(/^[\x20-\x7e]{1,400}$/);
    }
  });

  it('[B-053] keeps NUL, slashes and any well-formed Unicode apart', () => {
    const keys = ['a', 'a/b', 'a/', '/a', 'a\u0000', 'a\u00ff', 'ab', '😀'].map((key) =>
      keyId(parseKey(key)),
    );
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe('conflicts', () => {
  const l1: LockKey = ['t'];
  const a: LockKey = ['t', 'a'];
  const b: LockKey = ['t', 'b'];

  it('[K-001] [K-004] [K-005] an L1 conflicts with every L2 below it, L2 with themselves only', () => {
    expect([keysConflict(l1, a), keysConflict(a, l1), keysConflict(a, a), keysConflict(l1, l1)]).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([keysConflict(a, b), keysConflict(a, ['u', 'a']), keysConflict(l1, ['u'])]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('an L1 covers its L2, never the other way round', () => {
    expect([keyCovers(l1, a), keyCovers(a, a), keyCovers(a, l1), keyCovers(a, b)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('a key is the same as its equal only, and neither as the key below it nor as the one above', () => {
    const keys = [l1, a, b];
    expect(keys.map((one) => keys.map((other) => isSameKey(one, [...other])))).toEqual([
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ]);
  });

  it('[B-009] keyId differs for every different key, however the text is cut', () => {
    const keys: LockKey[] = [
      ['ab'],
      ['a', 'b'],
      ['2:ab', 'c'],
      ['1a'],
      ['a', 'b1'],
      ['21:ab'],
      ['ab', 'c'],
      ['a', 'bc'],
    ];
    expect(new Set(keys.map(keyId)).size).toBe(keys.length);
  });
});

describe('lockKey', () => {
  it('[B-009] escapes interpolated values only, so that different parts never collide', () => {
    expect(lockKey`user:${'a:b'}:${'c'}`).toBe('user:a%3Ab:c');
    expect(lockKey`user:${'a'}:${'b:c'}`).toBe('user:a:b%3Ac');
    expect(lockKey`${1}${'2'}`).toBe('12');
    expect(escapeKeyPart('100%/{x}')).toBe('100%25%2F%7Bx%7D');
  });

  it('[B-074] takes 0 and 10n, refuses undefined, null, empty, NaN, objects and symbols as KEY_UNRESOLVED', () => {
    expect(lockKey`user:${0}-${10n}`).toBe('user:0-10');
    for (const part of [undefined, null, '', NaN, Infinity, {}, [], true, Symbol('x')]) {
      let error: unknown;
      try {
        void lockKey`user:${part as string}`;
      } catch (caught) {
        error = caught;
      }
      expect(isLockError(error, 'KEY_UNRESOLVED')).toBe(true);
    }
  });

  it('[B-035] formats any key as short ASCII', () => {
    expect(formatKey(['ключ-😀\n', 'x'.repeat(500)])).toMatch(/^[\x20-\x7e]{1,200}$/);
  });
});
