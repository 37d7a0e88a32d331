import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { etcdDriver } from 'klock/etcd';
import { driverContract } from 'klock/testing';
import { startEtcd, type EtcdCluster } from '../support/services/index.js';

/** The contract suite on a cluster of this many members: [D-64] [H-25]. */
export function etcdContract(members: 1 | 3): void {
  let etcd: EtcdCluster;
  driverContract(
    {
      name: `[D-64] [H-25] etcd, ${members} member${members === 1 ? '' : 's'}`,
      // The shortest lease that etcd grants.
      ttlMs: 1_000,
      capabilities: etcdDriver({ hosts: 'localhost' }).capabilities,
      start: async () => {
        etcd = await startEtcd({ members });
      },
      open: () => etcdDriver({ hosts: etcd.endpoints }),
      stop: async () => await etcd.stop(),
    },
    { describe, it, beforeAll, afterAll },
  );
}
