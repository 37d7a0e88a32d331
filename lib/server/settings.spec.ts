import { isLockError } from '../core/index.js';
import { parseBindAddress } from './bind-address.js';
import { checkLog } from './open-server-log.js';
import { LockServer, serverOptionsFromEnv, type ServerOptions } from './index.js';
import { resolveLogSettings } from './log-settings.js';
import { Problems } from './problems.js';
import { resolveServerOptions } from './server-settings.js';

const token = { LOCK_SERVER_AUTH_TOKEN: 't' };
const fromEnv = (env: Record<string, string>) => resolveServerOptions(serverOptionsFromEnv(env));
const logFromEnv = (env: Record<string, string>) =>
  resolveLogSettings(serverOptionsFromEnv(env).log as object, new Problems());

function message(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (isLockError(error, 'INVALID_OPTION')) return error.message;
  }
  return 'nothing was refused';
}

describe('settings from the environment', () => {
  it('[K-132] every variable has its default', () => {
    expect(fromEnv(token)).toMatchObject({
      host: undefined,
      port: 8_080,
      defaultLeaseMs: 8_000,
      maxLeaseMs: 60_000,
      minLeaseMs: 1,
      rateLimit: { rps: 1_000, burst: 2_000 },
      idempotencyEntries: 65_536,
      idempotencyTtlMs: 3_600_000,
      acceptRawToken: false,
      stateDir: undefined,
      firstStart: false,
      drainMs: 10_000,
    });
    expect(fromEnv({})).toMatchObject({ host: '127.0.0.1', port: 8_080, authToken: undefined });
    expect(logFromEnv({})).toEqual({
      level: 'info',
      format: 'json',
      output: 'stdout',
      console: true,
      maxSizeMb: 100,
      maxBackups: 10,
      maxAgeDays: 30,
      compress: true,
    });
  });

  it('[K-132] every variable is honoured', () => {
    const env = {
      LOCK_SERVER_ADDR: '127.0.0.1:9000',
      LOCK_SERVER_SHARDS: '0',
      LOCK_SERVER_DEFAULT_LEASE_MS: '5000',
      LOCK_SERVER_MIN_LEASE_MS: '100',
      LOCK_SERVER_MAX_LEASE_MS: '30000',
      LOCK_SERVER_AUTH_TOKEN: ' secret\n',
      LOCK_SERVER_AUTH_ACCEPT_RAW: 'true',
      LOCK_SERVER_RATE_LIMIT_RPS: '5',
      LOCK_SERVER_RATE_LIMIT_BURST: '6',
      LOCK_SERVER_IDEMPOTENCY_ENTRIES: '7',
      LOCK_SERVER_IDEMPOTENCY_TTL_MS: '0',
      LOCK_SERVER_STATE_DIR: '/var/lib/klock',
      LOCK_SERVER_FIRST_START: '1',
      LOCK_SERVER_DRAIN_MS: '0',
    };
    expect(fromEnv(env)).toMatchObject({
      host: '127.0.0.1',
      port: 9_000,
      defaultLeaseMs: 5_000,
      minLeaseMs: 100,
      maxLeaseMs: 30_000,
      authToken: 'secret',
      acceptRawToken: true,
      rateLimit: { rps: 5, burst: 6 },
      idempotencyEntries: 7,
      idempotencyTtlMs: 0,
      stateDir: '/var/lib/klock',
      firstStart: true,
      drainMs: 0,
    });
    expect(fromEnv({ LOCK_SERVER_ADDR: ':1', LOCK_SERVER_ALLOW_INSECURE_BIND: 'yes' }).host).toBeUndefined();
  });

  it('[K-133] every log variable is honoured', () => {
    const env = {
      LOCK_SERVER_LOG_LEVEL: 'WARN',
      LOCK_SERVER_LOG_FORMAT: 'console',
      LOCK_SERVER_LOG_OUTPUT: 'logs/server.log',
      LOCK_SERVER_LOG_CONSOLE: 'false',
      LOCK_SERVER_LOG_MAX_SIZE: '1',
      LOCK_SERVER_LOG_MAX_BACKUPS: '0',
      LOCK_SERVER_LOG_MAX_AGE: '0',
      LOCK_SERVER_LOG_COMPRESS: '0',
    };
    expect(logFromEnv(env)).toEqual({
      level: 'warn',
      format: 'console',
      output: 'logs/server.log',
      console: false,
      maxSizeMb: 1,
      maxBackups: 0,
      maxAgeDays: 0,
      compress: false,
    });
  });

  it.each([
    ['LOCK_SERVER_LOG_LEVEL', 'loud'],
    ['LOCK_SERVER_LOG_LEVEL', ''],
    ['LOCK_SERVER_LOG_FORMAT', 'xml'],
    ['LOCK_SERVER_LOG_OUTPUT', ''],
    ['LOCK_SERVER_LOG_OUTPUT', '  '],
    ['LOCK_SERVER_LOG_MAX_SIZE', '0'],
    ['LOCK_SERVER_LOG_MAX_SIZE', '-1'],
    ['LOCK_SERVER_LOG_MAX_BACKUPS', '-1'],
    ['LOCK_SERVER_LOG_MAX_AGE', '-1'],
    ['LOCK_SERVER_LOG_COMPRESS', 'maybe'],
    ['LOCK_SERVER_SHARDS', '-1'],
    ['LOCK_SERVER_ADDR', 'nonsense'],
    ['LOCK_SERVER_ADDR', '0.0.0.0:8080'],
    ['LOCK_SERVER_DEFAULT_LEASE_MS', '8s'],
    ['LOCK_SERVER_DEFAULT_LEASE_MS', '60001'],
    ['LOCK_SERVER_DEFAULT_LEASE_MS', '123.45'],
    ['LOCK_SERVER_MAX_LEASE_MS', '1e3'],
    ['LOCK_SERVER_RATE_LIMIT_RPS', 'fast'],
    ['LOCK_SERVER_IDEMPOTENCY_ENTRIES', '99999999999'],
    ['LOCK_SERVER_AUTH_TOKEN', 's\u00e9cret'],
  ])('[K-134] [K-132] %s=%j fails the start, naming the variable', (variable, value) => {
    expect(message(() => serverOptionsFromEnv({ [variable]: value }))).toContain(variable);
  });

  it('[K-132] one error lists everything that is wrong', () => {
    const text = message(() =>
      serverOptionsFromEnv({
        LOCK_SERVER_ADDR: 'nowhere',
        LOCK_SERVER_ALLOW_INSECURE_BIND: 'perhaps',
        LOCK_SERVER_DEFAULT_LEASE_MS: 'soon',
        LOCK_SERVER_LOG_LEVEL: 'loud',
        LOCK_SERVER_RATE_LIMIT_BURST: '1.5',
      }),
    );
    expect(text).toContain('5 settings are wrong');
    for (const part of [
      'LOCK_SERVER_ADDR',
      'LOCK_SERVER_ALLOW_INSECURE_BIND',
      'LOCK_SERVER_DEFAULT_LEASE_MS',
      '"soon"',
      'LOCK_SERVER_LOG_LEVEL',
      'LOCK_SERVER_RATE_LIMIT_BURST',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('[K-126] RPS=off switches the limit off; an empty variable counts as not set', () => {
    expect(fromEnv({ LOCK_SERVER_RATE_LIMIT_RPS: ' OFF ' }).rateLimit).toBeUndefined();
    expect(fromEnv({ LOCK_SERVER_RATE_LIMIT_RPS: '', LOCK_SERVER_ADDR: '' }).rateLimit?.rps).toBe(1_000);
    expect(
      fromEnv({ LOCK_SERVER_RATE_LIMIT_RPS: '0', LOCK_SERVER_RATE_LIMIT_BURST: '-1' }).rateLimit,
    ).toEqual({
      rps: 200,
      burst: 400,
    });
  });

  it('[K-132] [K-126] a wrong burst is told beside RPS=off too, and rules name variables', () => {
    expect(
      message(() =>
        serverOptionsFromEnv({ LOCK_SERVER_RATE_LIMIT_RPS: 'off', LOCK_SERVER_RATE_LIMIT_BURST: 'many' }),
      ),
    ).toContain('LOCK_SERVER_RATE_LIMIT_BURST');
    expect(message(() => serverOptionsFromEnv({ LOCK_SERVER_DEFAULT_LEASE_MS: '70000' }))).toContain(
      'LOCK_SERVER_DEFAULT_LEASE_MS must be at most LOCK_SERVER_MAX_LEASE_MS, 60000, got 70000',
    );
    expect(message(() => serverOptionsFromEnv({ LOCK_SERVER_ADDR: '0.0.0.0:80' }))).toContain(
      'unless LOCK_SERVER_AUTH_TOKEN is set or LOCK_SERVER_ALLOW_INSECURE_BIND is true',
    );
  });

  it('the value of a token is never shown', () => {
    expect(message(() => serverOptionsFromEnv({ LOCK_SERVER_AUTH_TOKEN: 'geheimnis\u00e9' }))).not.toContain(
      'geheim',
    );
  });
});

describe('options in code', () => {
  it.each<[string, ServerOptions]>([
    ['server.adress', { adress: ':1' } as ServerOptions],
    ['defaultLeaseMs', { defaultLeaseMs: NaN }],
    ['defaultLeaseMs', { defaultLeaseMs: 123.45 }],
    ['maxLeaseMs', { maxLeaseMs: Infinity }],
    ['minLeaseMs', { minLeaseMs: 0 }],
    ['minLeaseMs', { minLeaseMs: 70_000 }],
    ['defaultLeaseMs', { minLeaseMs: 9_000 }],
    ['drainMs', { drainMs: -1 }],
    ['maxSessions', { maxSessions: 0 }],
    ['rateLimit', { rateLimit: true as unknown as false }],
    ['rateLimit.rate', { rateLimit: { rate: 5 } as object }],
    ['stateDir', { stateDir: '' }],
    ['authToken', { authToken: 5 as unknown as string }],
    ['maxLeaseMs', { production: true, maxLeaseMs: 0 }],
  ])('a wrong %s is refused by name before anything starts', (option, options) => {
    expect(message(() => new LockServer(options))).toContain(option);
  });

  it.each([
    'address',
    'allowInsecurePublicBind',
    'authToken',
    'acceptRawToken',
    'defaultLeaseMs',
    'minLeaseMs',
    'maxLeaseMs',
    'rateLimit',
    'idempotencyEntries',
    'idempotencyTtlMs',
    'shards',
    'stateDir',
    'firstStart',
    'drainMs',
    'maxSessions',
    'maxWaiters',
    'maxWaitersPerKey',
    'maxLocksPerSession',
    'maxConnections',
    'production',
    'clock',
    'random',
    'log',
  ])('[K-132] %s: null is refused by name, never taken for the default', (option) => {
    expect(message(() => new LockServer({ [option]: null }))).toMatch(new RegExp(`${option} must be`));
  });

  it('[K-132] [K-133] what is no options at all is refused, and null inside a group of them', () => {
    for (const nothing of [null, 5, 'x'])
      expect(message(() => new LockServer(nothing as ServerOptions))).toContain('options must be an object');
    expect(message(() => new LockServer({ rateLimit: { rps: null } } as object))).toContain('rateLimit.rps');
    expect(message(() => new LockServer({ log: { level: null } } as object))).toContain('log.level');
    expect(message(() => new LockServer({ log: 1 } as object))).toContain('log must be');
  });

  it('[K-134] wrong log settings are refused before anything starts', () => {
    expect(message(() => new LockServer({ log: { level: 'loud' as 'info', maxSizeMb: 0 } }))).toMatch(
      /log.level.*log.maxSizeMb/,
    );
    expect(message(() => checkLog({ colour: true } as object))).toContain('log.colour');
  });

  it.each([
    ['127.0.0.1:1', '127.0.0.1', 1],
    [' :8080 ', undefined, 8_080],
    ['[::1]:0', '::1', 0],
    ['lock.example:65535', 'lock.example', 65_535],
  ])('reads the address %j', (text, host, port) => {
    expect(parseBindAddress(text)).toEqual({ host, port });
  });

  it.each(['', '8080', 'host', 'host:', '::1:80', '[::g]:80', 'host:65536', 'host:-1', 'a:b:1'])(
    'refuses the address %j',
    (text) => {
      expect(parseBindAddress(text)).toBeUndefined();
    },
  );
});
