import { etcdDriver } from 'klock/etcd';
import { addressOf, type Contender } from './contender.js';
import { klockClient } from './klock-client.js';

export const contender: Contender = {
  title: 'klock etcd driver',
  family: 'klock',
  needs: 'etcd',
  open: (addresses) => klockClient(etcdDriver({ hosts: addressOf(addresses, 'etcd') })),
};
