import { Redis } from 'ioredis';
import { redisDriver } from 'klock/redis';
import { addressOf, type Contender } from './contender.js';
import { klockClient } from './klock-client.js';

export const contender: Contender = {
  title: 'klock Redis driver',
  family: 'klock',
  needs: 'redis',
  open: (addresses) => {
    const redis = new Redis(`redis://${addressOf(addresses, 'redis')}`);
    return klockClient(redisDriver(redis), {}, () => redis.disconnect());
  },
};
