import type { DriverGrant, DriverHost, LockDriver, LockKey } from '../../lib/core/index.js';
import { LockClient, resolveClientOptions, type ClientOptions } from '../../lib/client/index.js';

/** The klock driver as it is against a server without the channel, on a server that has one. */
export function sixCallsDriver(options: ClientOptions): LockDriver {
  const resolved = resolveClientOptions(options);
  let client: LockClient | undefined;
  const attached = (): LockClient => {
    if (client === undefined) throw new Error('not attached');
    return client;
  };
  const unsupported = (key: LockKey): Promise<never> =>
    Promise.reject(new Error(`not over six calls: ${key.join('/')}`));
  return {
    name: 'klock',
    store: 'klock:six-calls',
    capabilities: {
      fence: 'durable',
      fair: true,
      wakeUp: 'push',
      hierarchy: true,
      extend: 'renew',
      lease: 'session',
      leaseUnitMs: 1,
      byToken: 'session',
      inspect: 'none',
      atLeast: false,
      revoke: false,
      survivesRestart: false,
    },
    attach: (host: DriverHost) => void (client = new LockClient(resolved, host)),
    ready: async (timeoutMs) => void (await attached().reach(timeoutMs)),
    health: () => Promise.resolve({ state: 'ok' }),
    acquire: (request) => attached().acquire(request),
    release: (grant: DriverGrant) => attached().release(grant),
    renew: (leases, timeoutMs) => attached().renew(leases, timeoutMs),
    abandon: (lease, code) => attached().abandon(lease, code),
    inspect: unsupported,
    releaseToken: unsupported,
    extendToken: unsupported,
    close: (timeoutMs) => client?.close(timeoutMs) ?? Promise.resolve(true),
  };
}
