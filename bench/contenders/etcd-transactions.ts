import type { Contender } from './contender.js';
import { etcd3 } from './etcd3-client.js';

/** The least that a lock on etcd can be: one transaction that puts where nothing is, one delete, one lease for all. */
export const contender: Contender = {
  title: 'etcd, put + delete',
  family: 'bare',
  needs: 'etcd',
  open: async (addresses) => {
    const client = etcd3(addresses);
    const lease = client.lease(60);
    const leaseId = await lease.grant();
    return {
      section: async ([key], held) => {
        const name = `bare:${key}`;
        const put = client.put(name).value('').lease(leaseId);
        const { succeeded } = await client.if(name, 'Create', '==', 0).then(put).commit();
        if (!succeeded) throw new Error(`${name} was there`);
        held();
        await client.delete().key(name).exec();
      },
      close: async () => {
        await lease.revoke();
        client.close();
      },
    };
  },
};
