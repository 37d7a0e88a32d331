export { etcdDriver, type EtcdOptions, type EtcdTlsOptions } from '../drivers/etcd/index.js';
