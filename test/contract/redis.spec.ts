import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { redisDriver } from 'klock/redis';
import { driverContract } from 'klock/testing';
import { connectIoredis, connectNodeRedis, type TestClient } from '../support/redis-clients.js';
import { startRedis, type RedisServer } from '../support/services/index.js';

for (const [library, connect] of [
  ['ioredis', connectIoredis],
  ['node-redis', connectNodeRedis],
] as const) {
  let redis: RedisServer;
  let shared: TestClient;
  driverContract(
    {
      name: `redis, ${library}`,
      ttlMs: 300,
      capabilities: redisDriver(connectIoredis.lazy()).capabilities,
      start: async () => {
        redis = await startRedis();
        shared = await connect(redis.port);
      },
      // Every client of the suite over one connection, as the instances of one application are.
      open: () => redisDriver(shared.client),
      stop: async () => {
        await shared.end();
        await redis.stop();
      },
    },
    { describe, it, beforeAll, afterAll },
  );
}
