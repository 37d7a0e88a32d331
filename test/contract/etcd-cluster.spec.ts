import { etcdContract } from './etcd-contract.js';

etcdContract(3);
