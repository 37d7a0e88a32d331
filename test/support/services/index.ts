export { startEtcd, type EtcdCluster, type EtcdMember, type EtcdOptions } from './etcd.js';
export { startPostgres, type PostgresServer } from './postgres.js';
export { startRedis, type RedisOptions, type RedisServer } from './redis.js';
export type { StoreProcess } from './store.js';
export {
  startRedisCluster,
  startRedisSentinels,
  type RedisCluster,
  type RedisSentinels,
} from './redis-topologies.js';
