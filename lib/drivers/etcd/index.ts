import type { LockDriver } from '../../core/index.js';
import { HandoverDriver } from '../kit/index.js';
import { EtcdDriver } from './etcd-driver.js';
import { resolveEtcdOptions, type EtcdOptions } from './etcd-options.js';

export type { EtcdOptions, EtcdTlsOptions } from './etcd-options.js';

/**
 * Locks on an etcd cluster, for those who outgrow one machine. Nothing is contacted before the first lock or `ready()`.
 * Leases are whole seconds here: `ttlMs` must be a multiple of 1,000.
 * @throws InvalidOptionError naming the option and its value.
 */
export function etcdDriver(options: EtcdOptions): LockDriver {
  return new HandoverDriver(new EtcdDriver(resolveEtcdOptions(options)));
}
