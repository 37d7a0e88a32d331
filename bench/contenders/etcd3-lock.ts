import type { Contender } from './contender.js';
import { etcd3 } from './etcd3-client.js';

/** The lock of the etcd3 client. It does not wait: only for keys nobody else wants. */
export const contender: Contender = {
  title: 'etcd3, its lock',
  family: 'etcd-library',
  needs: 'etcd',
  open: (addresses) => {
    const client = etcd3(addresses);
    return Promise.resolve({
      section: async ([key], held) => {
        const lock = await client.lock(`etcd3:${key}`).acquire();
        held();
        await lock.release();
      },
      close: () => Promise.resolve(client.close()),
    });
  },
};
