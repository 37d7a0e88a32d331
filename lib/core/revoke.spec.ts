import { createKlock, MAX_FENCE, type KlockInstance, type RevokeOptions } from './index.js';
import { FakeClock } from './fake-clock.js';
import { ScriptedDriver } from './scripted-driver.js';

describe('klock.revoke', () => {
  let driver: ScriptedDriver & { revoke?: KlockInstance['driver']['revoke'] };
  let klock: KlockInstance;
  let asked: unknown[];

  beforeEach(() => {
    asked = [];
    driver = new ScriptedDriver({ revoke: true });
    driver.revoke = (key, options) => {
      asked.push([key, options]);
      return Promise.resolve({ key, ended: [], endedCount: 0 });
    };
    klock = createKlock({ driver, clock: new FakeClock(), namespace: 'shop' });
  });
  afterEach(() => klock.close());

  it('[B-081] asks for the whole key: namespace and prefix are put before it', async () => {
    await klock.revoke('k');
    await klock.view('eu').revoke(['k', 'x'], { fence: 7n });
    expect(asked).toEqual([
      [['shop/k'], { below: false }],
      [['shop/eu/k', 'x'], { fence: 7n, below: false }],
    ]);
  });

  it.each<[unknown, unknown, string]>([
    ['', {}, 'INVALID_KEY'],
    [['a', 'b', 'c'], {}, 'INVALID_KEY'],
    ['k', { fence: 7 }, 'INVALID_OPTION'],
    ['k', { fence: 0n }, 'INVALID_OPTION'],
    ['k', { fence: MAX_FENCE + 1n }, 'INVALID_OPTION'],
    ['k', { fence: undefined }, 'INVALID_OPTION'],
    ['k', { below: 'yes' }, 'INVALID_OPTION'],
    [['k', 'x'], { below: true }, 'INVALID_OPTION'],
    ['k', { fense: 7n }, 'INVALID_OPTION'],
    ['k', null, 'INVALID_OPTION'],
  ])('[B-081] refuses %j with %j before anything is asked', async (key, options, code) => {
    await expect(klock.revoke(key as string, options as RevokeOptions)).rejects.toMatchObject({ code });
    expect(asked).toEqual([]);
  });

  it('[B-081] takes the largest fence there is', async () => {
    await klock.revoke('k', { fence: MAX_FENCE });
    expect(asked).toHaveLength(1);
  });

  it('[B-081] says so where the driver cannot, and after close', async () => {
    const other = createKlock({ driver: new ScriptedDriver(), clock: new FakeClock() });
    await expect(other.revoke('k')).rejects.toMatchObject({
      code: 'BACKEND_MISCONFIGURED',
      operation: 'revoke',
      message: 'the scripted driver cannot revoke',
    });
    await other.close();
    await expect(other.revoke('k')).rejects.toMatchObject({ code: 'CLOSED', operation: 'revoke' });
  });

  it('[B-081] a grant that ends before its answer is read is never handed out', async () => {
    driver.onAcquire = async (request) => {
      const grant = driver.grant(request);
      driver.host.endGrant(grant, 'revoked', 'REVOKED');
      await Promise.resolve();
      return grant;
    };
    const lost: string[] = [];
    klock.on('lock.lost', ({ reason, code }) => lost.push(`${reason} ${code}`));
    await expect(klock.acquire('k')).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect([lost, driver.released]).toEqual([['revoked REVOKED'], ['token-1']]);
  });
});
