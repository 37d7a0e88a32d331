import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePorts } from '../free-ports.js';
import { OwnedProcess } from '../owned-process.js';
import { startRedis, type RedisServer } from './redis.js';
import { dataFolder, startStore, type StoreProcess } from './store.js';
import { storeProgram } from './store-program.js';

const SLOTS = 16_384;

export interface RedisCluster {
  readonly masters: readonly RedisServer[];
  stop(): Promise<void>;
}

/** A Cluster of masters without replicas, which serves what slots it has; resolves when each of them says that it is whole. */
export async function startRedisCluster(size = 3): Promise<RedisCluster> {
  const busPorts = await freePorts(size);
  const masters = await Promise.all(
    busPorts.map((bus) =>
      startRedis({
        args: [
          '--cluster-enabled',
          'yes',
          '--cluster-port',
          String(bus),
          '--cluster-node-timeout',
          '1000',
          '--cluster-require-full-coverage',
          'no',
        ],
      }),
    ),
  );
  const stop = async (): Promise<void> => void (await Promise.all(masters.map((each) => each.stop())));
  try {
    await form(masters, busPorts);
  } catch (error) {
    await stop();
    throw error;
  }
  return { masters, stop };
}

async function form(masters: readonly RedisServer[], busPorts: readonly number[]): Promise<void> {
  const clients = masters.map(({ port }) => new Redis({ host: '127.0.0.1', port }));
  try {
    const share = Math.ceil(SLOTS / clients.length);
    for (const [at, client] of clients.entries()) {
      const last = Math.min(SLOTS, (at + 1) * share) - 1;
      await client.call('CLUSTER', 'ADDSLOTSRANGE', at * share, last);
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
      for (const [other, { port }] of masters.entries()) {
        if (other !== at) await client.call('CLUSTER', 'MEET', '127.0.0.1', port, String(busPorts[other]));
      }
    }
    await until(async () => {
      const states = await Promise.all(
        clients.map((client) => client.call('CLUSTER', 'INFO') as Promise<string>),
      );
      return states.every(
        (state) =>
          state.includes('cluster_state:ok') && state.includes(`cluster_known_nodes:${clients.length}`),
      );
    });
  } finally {
    for (const client of clients) client.disconnect();
  }
}

export interface RedisSentinels {
  readonly name: string;
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  readonly primary: RedisServer;
  readonly replica: RedisServer;
  stop(): Promise<void>;
}

/** A primary, a replica and three Sentinels; resolves when every Sentinel knows all of them. */
export async function startRedisSentinels(): Promise<RedisSentinels> {
  const primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
  const started: StoreProcess[] = [primary];
  const stop = async (): Promise<void> => void (await Promise.all(started.map((each) => each.stop())));
  try {
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
    started.push(replica);
    const sentinels = await Promise.all(
      (await freePorts(3)).map((port) => startSentinel(port, primary.port)),
    );
    started.push(...sentinels);
    await Promise.all(sentinels.map(({ port }) => knowsAll(port)));
    const places = sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
    return { name: 'mymaster', sentinels: places, primary, replica, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startSentinel(port: number, primaryPort: number): Promise<StoreProcess> {
  const program = await storeProgram('redis');
  const folder = dataFolder('sentinel');
  const config = join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `sentinel monitor mymaster 127.0.0.1 ${primaryPort} 2`,
    'sentinel down-after-milliseconds mymaster 500',
    'sentinel failover-timeout mymaster 2000',
    'sentinel parallel-syncs mymaster 1',
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  return await startStore({
    port,
    folder,
    launch: () => OwnedProcess.start(program, [config, '--sentinel'], { cwd: folder }),
    probe: async () => (await ask(port, 'PING')) === 'PONG',
  });
}

async function knowsAll(port: number): Promise<void> {
  await until(async () => {
    const facts = (await ask(port, 'SENTINEL', 'MASTER', 'mymaster')) as string[] | Record<string, string>;
    const text = JSON.stringify(facts);
    return /num-slaves"[,:]"1"/.test(text) && /num-other-sentinels"[,:]"2"/.test(text);
  });
}

async function ask(port: number, ...words: readonly string[]): Promise<unknown> {
  const client = new Redis({ host: '127.0.0.1', port, retryStrategy: () => null, enableReadyCheck: false });
  client.on('error', () => undefined);
  try {
    const [name = '', ...rest] = words;
    return await client.call(name, ...rest);
  } finally {
    client.disconnect();
  }
}

async function until(what: () => Promise<boolean>, ms = 20_000): Promise<void> {
  const end = performance.now() + ms;
  while (!(await what().catch(() => false))) {
    if (performance.now() > end) throw new Error(`the Redis servers did not find each other within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
