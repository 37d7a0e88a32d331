import { isTooOld, mayRevokeRenewed, parseVersion, type StoreVersion } from './store-version.js';

const version = (text: string): StoreVersion => parseVersion(text)!;

describe('the version of etcd', () => {
  it.each([
    ['3.3.27', true],
    ['2.9.0', true],
    ['3.4.0', false],
    ['4.0.0', false],
  ])('%s is too old: %s', (text, old) => {
    expect(isTooOld(version(text))).toBe(old);
  });

  it.each([
    ['3.4.23', true],
    ['3.4.30', true],
    ['3.4.31', false],
    ['3.5.12', true],
    ['3.5.13', false],
    ['3.6.0-rc.1', false],
    ['4.0.0', false],
  ])('%s may let a stalled old leader revoke renewed leases: %s', (text, may) => {
    expect(mayRevokeRenewed(version(text))).toBe(may);
  });

  it('is not guessed from other text', () => {
    expect(parseVersion('main')).toBeUndefined();
  });
});
