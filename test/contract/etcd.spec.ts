import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { etcdDriver } from 'klock/etcd';
import { driverContract } from 'klock/testing';
import { startEtcd, type EtcdCluster } from '../support/services/index.js';

for (const members of [1, 3] as const) {
  let etcd: EtcdCluster;
  driverContract(
    {
      name: `etcd, ${members} member${members === 1 ? '' : 's'}`,
      // The shortest that etcd grants: 1 s, made 2 s by the election timeout of a default member.
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
