import { createKlock } from './front-end.js';
import { isLockError, type InvalidOptionError } from './errors.js';
import { FakeClock } from './fake-clock.js';
import { ScriptedDriver } from './scripted-driver.js';
import { optionsFromEnv } from './options-from-env.js';
import type { InstanceOptions } from './options.js';

function refusal(options: InstanceOptions): InvalidOptionError {
  try {
    createKlock({ ...options, driver: new ScriptedDriver(), clock: new FakeClock() });
  } catch (error) {
    if (isLockError(error, 'INVALID_OPTION')) return error as InvalidOptionError;
    throw error;
  }
  throw new Error(`accepted ${JSON.stringify(options)}`);
}

describe('instance options', () => {
  it.each([0, -1, NaN, Infinity, 123.45, '5000', null, 1e21, 10n, true, 2 ** 31])(
    '[B-005] refuses ttlMs %p, naming the field and the value',
    (value) => {
      const error = refusal({ ttlMs: value as number });
      expect(error.option).toBe('ttlMs');
      expect(error.message).toContain('ttlMs must be a whole number of milliseconds');
    },
  );

  it('accepts both ends of the range', () => {
    expect(() => createKlock({ driver: new ScriptedDriver(), ttlMs: 2 ** 31 - 1, waitMs: 0 })).not.toThrow();
    expect(() => createKlock({ driver: new ScriptedDriver(), ttlMs: 11, waitMs: Infinity })).not.toThrow();
  });

  it('[WK-08] refuses combinations in which the client could outlive its lease', () => {
    expect(refusal({ ttlMs: 10 }).message).toContain('above the safety margin of 10 ms');
    expect(refusal({ ttlMs: 1_000, marginMs: 1_000 }).option).toBe('ttlMs');
    expect(refusal({ ttlMs: 1_000, localTtlMs: 901 }).message).toContain('at most ttlMs - marginMs (900 ms)');
    expect(refusal({ ttlMs: 1_000, renewEveryMs: 900 }).option).toBe('renewEveryMs');
    expect(refusal({ ttlMs: 1_000, renewTimeoutMs: 900 }).option).toBe('renewTimeoutMs');
    expect(() =>
      createKlock({ driver: new ScriptedDriver(), ttlMs: 1_000, localTtlMs: 900, renewEveryMs: 899 }),
    ).not.toThrow();
  });

  it('refuses options nobody knows, listing those it knows', () => {
    const error = refusal({ ttl: 5 } as InstanceOptions);
    expect(error.message).toContain('has no option "ttl"');
    expect(error.message).toContain('ttlMs');
  });

  it('refuses a namespace that could run into a key, labels too long or not printable', () => {
    expect(refusal({ namespace: 'a/b' }).option).toBe('namespace');
    expect(refusal({ namespace: '' }).option).toBe('namespace');
    expect(refusal({ clientName: 'x'.repeat(129) }).option).toBe('clientName');
    expect(refusal({ clientName: 'a\nb' }).option).toBe('clientName');
  });

  it('refuses leases finer than the store can keep', () => {
    const coarse = new ScriptedDriver({ leaseUnitMs: 1_000 });
    expect(() => createKlock({ driver: coarse, ttlMs: 1_500 })).toThrow(/multiple of 1000 ms/);
  });

  it('[B-005] refuses what is no options, a listener of a type that never comes, and half a character in metadata', async () => {
    const klock = createKlock({ driver: new ScriptedDriver(), clock: new FakeClock() });
    await expect(klock.close(null as never)).rejects.toMatchObject({ code: 'INVALID_OPTION', value: null });
    await expect(klock.close(5 as never)).rejects.toMatchObject({ code: 'INVALID_OPTION', value: 5 });
    expect(() => klock.on('lock.lots' as 'lock.lost', () => undefined)).toThrow(
      /^type must be .*'lock.lost'.*, got "lock.lots"$/,
    );
    for (const metadata of [{ a: '\ud800' }, { 'b\udc00': 'x' }] as Record<string, string>[]) {
      await expect(klock.acquire('k', { metadata })).rejects.toMatchObject({ option: 'metadata' });
    }
    await klock.close();
  });

  it('refuses anything that is no driver', () => {
    expect(() => createKlock({ driver: undefined as never })).toThrow(/driver must be a lock driver/);
    expect(() => createKlock(undefined as never)).toThrow(/driver must be a lock driver/);
  });
});

describe('optionsFromEnv', () => {
  it('reads every kind of value', () => {
    expect(
      optionsFromEnv({
        KLOCK_URL: 'klock://a:1, klock://b:2',
        KLOCK_TTL_MS: '5000',
        KLOCK_WAIT_MS: 'Infinity',
        KLOCK_RENEW: 'false',
        KLOCK_NAMESPACE: 'shop',
        KLOCK_SERVICE_HOST: '10.0.0.1',
      }),
    ).toEqual({
      url: ['klock://a:1', 'klock://b:2'],
      ttlMs: 5_000,
      waitMs: Infinity,
      renew: false,
      namespace: 'shop',
    });
    expect(optionsFromEnv({ KLOCK_DRIVER: 'memory' })).toEqual({ driver: 'memory' });
  });

  it('[D-08] laid over what an application read from its files, the environment wins and the rest stays', () => {
    const fromFile = { url: 'klock://a:1', ttlMs: 8_000, waitMs: 300 };
    const env = { KLOCK_URL: 'klock://b:2', KLOCK_TTL_MS: '5000' };
    expect({ ...fromFile, ...optionsFromEnv(env) }).toEqual({
      url: ['klock://b:2'],
      ttlMs: 5_000,
      waitMs: 300,
    });
  });

  it('[WK-43] lists everything that is wrong instead of falling back to defaults', () => {
    const attempt = (): unknown =>
      optionsFromEnv({ KLOCK_TTL_MS: '5s', KLOCK_RENEW: 'yes', KLOCK_NAMESPACE: '' });
    expect(attempt).toThrow(/4 problems/);
    expect(attempt).toThrow(
      /KLOCK_TTL_MS must be a whole number of milliseconds from 1 to 2147483647, got "5s"/,
    );
    expect(attempt).toThrow(/KLOCK_RENEW must be 'true' or 'false', got "yes"/);
    expect(attempt).toThrow(/KLOCK_NAMESPACE is set but empty/);
    expect(attempt).toThrow(/KLOCK_URL is not set/);
  });

  it('[K-138] takes an address of any length, refuses a gap in the list, and shows no part of an address', () => {
    const long = `klocks://${'a'.repeat(200)}.example:8080`;
    expect(optionsFromEnv({ KLOCK_URL: ` ${long} ` })).toEqual({ url: [long] });
    for (const env of [
      { KLOCK_URL: 'klock://me:secret@a:1,,b:2' },
      { KLOCK_URL: 'klock://me:secret@a:1', KLOCK_DRIVER: 'memory' },
    ]) {
      let error: unknown;
      try {
        optionsFromEnv(env);
      } catch (caught) {
        error = caught;
      }
      expect(isLockError(error, 'INVALID_OPTION')).toBe(true);
      expect(`${(error as Error).message} ${JSON.stringify(error)}`).not.toContain('secret');
    }
  });
});
