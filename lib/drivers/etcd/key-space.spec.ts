import fc from 'fast-check';
import { keyId, keysConflict, type LockKey } from '../../core/index.js';
import { KeySpace, type KeyRange } from './key-space.js';

const keys = new KeySpace('klock');
const inside = (name: Buffer, { key, end }: KeyRange): boolean =>
  name.compare(key) >= 0 && name.compare(end) < 0;

const segment = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
  fc.constantFrom(
    'a',
    'a/b',
    'a/b/c',
    'ab',
    'a/',
    '/a',
    '1',
    '2',
    'a/1',
    'a/2/b',
    '%',
    '%2F',
    '/',
    'q',
    'a\u0000',
    'a\u00ff',
  ),
);
const anyKey = fc.oneof(fc.tuple(segment), fc.tuple(segment, segment)) as fc.Arbitrary<LockKey>;

describe('the names of entries', () => {
  it('[D-47] [B-053] an entry stands in the range of a key exactly if the two keys conflict', () => {
    fc.assert(
      fc.property(anyKey, anyKey, (mine, other) => {
        const name = keys.entry(other, 'r');
        const found = keys.conflicting(mine).filter((range) => inside(name, range)).length;
        expect(found).toBe(keysConflict(mine, other) ? 1 : 0);
        expect(inside(name, keys.own(mine))).toBe(keyId(mine) === keyId(other));
      }),
      { numRuns: 3_000 },
    );
  });

  it('[D-56] [B-053] prefixes that begin alike share no name, whatever is in them', () => {
    const prefixes = ['app', 'app2', 'app/', 'app/q', 'a', 'app%2Fq'];
    for (const mine of prefixes) {
      for (const other of prefixes.filter((each) => each !== mine)) {
        const name = new KeySpace(other).entry(['x'], 'r');
        expect(inside(name, new KeySpace(mine).all)).toBe(false);
        expect(new KeySpace(mine).parse(name)).toBeUndefined();
      }
    }
  });

  it('are read back as they were written', () => {
    fc.assert(
      fc.property(anyKey, fc.uuid(), (key, requestId) => {
        expect(keys.parse(keys.entry(key, requestId))).toEqual({ key, requestId });
      }),
    );
  });

  it.each([
    'klock/q/a/zzz',
    'klock/q/a',
    'klock/q/a/3/x',
    'klock/q/a/1/',
    'klock/q//1/x',
    'klock/q/a/1/x/y',
    'klock/q/a/2/b/x/y',
    'klock/q/%zz/1/x',
    'klock/q/a:b/1/x',
    'klock/g/x',
    'other/q/a/1/x',
  ])("[B-053] a name that klock does not give is nobody's entry: %s", (name) => {
    expect(keys.parse(Buffer.from(name))).toBeUndefined();
  });

  it('a guard stands in no range of entries', () => {
    expect(inside(keys.guard('r'), keys.all)).toBe(false);
  });
});
