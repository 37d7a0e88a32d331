import { Redis, type RedisOptions } from 'ioredis';
import type { RedisClientLike } from 'klock/redis';
import { createClient } from 'redis';

/** A connected client and how to end it. */
export interface TestClient {
  readonly client: RedisClientLike;
  /** One command, its reply as it comes. */
  command(...words: readonly string[]): Promise<unknown>;
  end(): Promise<void>;
}

/** A client of ioredis that comes back quickly after a lost connection. */
export async function connectIoredis(port: number, options: RedisOptions = {}): Promise<TestClient> {
  const client = new Redis({
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    retryStrategy: () => 50,
    ...options,
  });
  client.on('error', () => undefined);
  await client.connect();
  return {
    client,
    command: (name = '', ...words) => client.call(name, ...words),
    end: () => {
      client.disconnect();
      return Promise.resolve();
    },
  };
}

/** A client that was never connected: for what needs none. */
connectIoredis.lazy = (): Redis => new Redis({ lazyConnect: true });

/** A client of node-redis that comes back quickly after a lost connection. */
export async function connectNodeRedis(port: number): Promise<TestClient> {
  const client = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: () => 50 } });
  client.on('error', () => undefined);
  await client.connect();
  return {
    client,
    command: (...words) => client.sendCommand([...words]),
    end: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
}
