import { StaleFenceError } from '../core/index.js';
import { fenceTable } from './fence-table.js';
import { fencedRow } from './fenced-row.js';
import { SqlFragment } from './sql-fragment.js';

const proof = { fence: 2n ** 53n + 1n, key: ['account', '1'] as const, store: 's' };

describe('SQL fragments', () => {
  const fragment = new SqlFragment(['a = ', ' AND b = ', ''], [1n, 'x']);

  it('come in the form of each library, with values apart from the text', () => {
    expect(fragment.numbered()).toEqual({ text: 'a = $1 AND b = $2', values: [1n, 'x'] });
    expect(fragment.numbered(3).text).toBe('a = $3 AND b = $4');
    expect(fragment.positional()).toEqual({ sql: 'a = ? AND b = ?', bindings: [1n, 'x'] });
    expect(fragment.named()).toEqual({
      text: 'a = :fence_0 AND b = :fence_1',
      parameters: { fence_0: 1n, fence_1: 'x' },
    });
    expect(fragment.named('f').text).toBe('a = :f_0 AND b = :f_1');
    expect(() => fragment.named('f; --')).toThrow(/prefix must be letters/);
  });

  it('are what a template tag takes: one more text than values', () => {
    const tag = (strings: readonly string[], ...values: unknown[]): string =>
      String.raw({ raw: strings }, ...values);
    expect(tag(fragment.strings, ...fragment.values)).toBe('a = 1 AND b = x');
  });
});

describe('a row with a fence of its own', () => {
  it('[B-080] is set and compared in the update itself, exact to the last bit', () => {
    const row = fencedRow(proof);
    expect(row.set.numbered(2)).toEqual({ text: 'fence = $2', values: [9007199254740993n] });
    expect(row.where.numbered(4)).toEqual({ text: 'fence <= $4', values: [9007199254740993n] });
  });

  it('takes quoted and qualified columns, and refuses what is no name', () => {
    const row = fencedRow(proof, { column: 'a."lastFence"' });
    expect(row.where.positional().sql).toBe('a."lastFence" <= ?');
    expect(row.set.positional().sql).toBe('"lastFence" = ?');
    for (const column of [
      '',
      'a b',
      'fence; DROP TABLE x',
      'a--',
      '"a',
      '"a"b"',
      'a.b.c.d',
      'fence = 0 OR fence',
      7,
    ]) {
      expect(() => fencedRow(proof, { column: column as string })).toThrow(/column must be a name/);
    }
  });

  it('a quoted column with a dot in it stays whole', () => {
    expect(fencedRow(proof, { column: 't."a.b"' }).set.positional().sql).toBe('"a.b" = ?');
  });

  it('no changed row is a stale fence; a driver that does not count is an error, not a success', () => {
    const row = fencedRow(proof);
    expect(() => row.check(1)).not.toThrow();
    expect(() => row.check(0)).toThrow(StaleFenceError);
    for (const unknown of [null, undefined, NaN, -1, '1' as never]) {
      expect(() => row.check(unknown)).toThrow(/changedRows must be the number of rows/);
    }
  });
});

describe('the high-water table', () => {
  it('puts no value into its text, and each value in once', () => {
    const { text, values } = fenceTable('app.fences')
      .accept({ ...proof, key: ["x'y", '$1'] })
      .numbered();
    expect(values).toEqual(["x'y", '$1', 's', proof.fence]);
    expect(text.match(/\$\d/g)).toEqual(['$1', '$2', '$3', '$4']);
    expect(text).not.toContain("x'y");
    expect(() => fenceTable('fences; DROP TABLE x')).toThrow(/table must be a name/);
  });
});
