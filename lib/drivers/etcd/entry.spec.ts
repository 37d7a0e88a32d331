import { KeySpace } from './key-space.js';
import { hashToken, leaseName, readEntry, writeEntry } from './entry.js';

const keys = new KeySpace('klock');
const kv = (value: Buffer, key = keys.entry(['a', 'b'], 'r1')) => ({
  key,
  value,
  create_revision: 5n,
  mod_revision: 7n,
  version: 2n,
  lease: 9n,
});

describe('an entry', () => {
  it('is read as it was written, with its place and revisions', () => {
    const facts = { state: 'held', tokenHash: 'h', queuedAtMs: 1, grantedAtMs: 2, client: 'c' } as const;
    expect(readEntry(kv(writeEntry(facts)), keys)).toEqual({
      ...facts,
      key: ['a', 'b'],
      requestId: 'r1',
      name: keys.entry(['a', 'b'], 'r1'),
      createRevision: 5n,
      modRevision: 7n,
      leaseId: 9n,
    });
  });

  it.each([
    '',
    'x',
    '7',
    'null',
    '{}',
    '{"format":"klock2","state":"held"}',
    '{"format":"klock1","state":"new"}',
    '{"format":"klock1","state":"waiting"}',
    '{"format":"klock1","state":"waiting","tokenHash":"h","queuedAtMs":"soon"}',
    '{"format":"klock1","state":"kept","tokenHash":"h","queuedAtMs":1,"grantRevision":"-1"}',
    '{"format":"klock1","state":"waiting","tokenHash":"h","queuedAtMs":1,"metadata":{"a":1}}',
  ])('at a name of klock counts as held, whatever a later version has written there: %s', (value) => {
    expect(readEntry(kv(Buffer.from(value)), keys)?.state).toBe('held');
  });

  it('[B-053] is none at a foreign name, whatever is written there', () => {
    const value = writeEntry({ state: 'held', tokenHash: '', queuedAtMs: 0 });
    expect(readEntry(kv(value, Buffer.from('klock/q/a/zzz')), keys)).toBeUndefined();
  });

  it('does not hold the token, only its hash', () => {
    expect(hashToken('lk_1')).not.toContain('lk_1');
    expect(hashToken('lk_1')).toBe(hashToken('lk_1'));
    expect(hashToken('lk_1')).not.toBe(hashToken('lk_2'));
  });

  it('names a lease by all of its 64 bits', () => {
    expect([leaseName(1n), leaseName(-1n)]).toEqual(['0000000000000001', 'ffffffffffffffff']);
  });
});
