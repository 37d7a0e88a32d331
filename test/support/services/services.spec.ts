import { Redis } from 'ioredis';
import pg from 'pg';
import { startEtcd, startPostgres, startRedis, type StoreProcess } from './index.js';

const SLOW = 60_000;

/** Fails after 300 ms, so that a paused store shows as no answer. */
function within300(answer: Promise<unknown>): Promise<string> {
  const silence = new Promise<string>((resolve) => setTimeout(() => resolve('no answer'), 300));
  return Promise.race([answer.then(() => 'answer'), silence]);
}

async function expectSilentWhilePaused(store: StoreProcess, ask: () => Promise<unknown>): Promise<void> {
  store.pause();
  const question = ask();
  expect(await within300(question)).toBe('no answer');
  store.resume();
  await question;
}

describe('a Redis started by a test', () => {
  it(
    'answers, is silent while paused, and comes back on its port after being killed',
    async () => {
      const store = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
      const redis = new Redis(store.url, { retryStrategy: () => 20 });
      redis.on('error', () => undefined);
      try {
        await redis.set('a', '1');
        await expectSilentWhilePaused(store, () => redis.get('a'));
        await store.kill();
        await store.restart();
        expect(await redis.get('a')).toBe('1');
      } finally {
        redis.disconnect();
        await store.stop();
      }
    },
    SLOW,
  );
});

async function put(endpoint: string, key: string): Promise<number> {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const response = await fetch(`http://${endpoint}/v3/kv/put`, {
    method: 'POST',
    body: JSON.stringify({ key: encode(key), value: encode('v') }),
    signal: AbortSignal.timeout(5_000),
  });
  const { header } = (await response.json()) as { header: { revision: string } };
  return Number(header.revision);
}

describe('an etcd started by a test', () => {
  it(
    'of one member takes writes and keeps its revision over a kill',
    async () => {
      const etcd = await startEtcd();
      try {
        const before = await put(etcd.endpoints[0]!, 'a');
        await etcd.members[0]!.restart();
        expect(await put(etcd.endpoints[0]!, 'a')).toBe(before + 1);
      } finally {
        await etcd.stop();
      }
    },
    SLOW,
  );

  it(
    'of three members takes writes while one of them is dead',
    async () => {
      const etcd = await startEtcd({ members: 3 });
      try {
        await put(etcd.endpoints[0]!, 'a');
        await etcd.members[2]!.kill();
        // the dead member may have been the leader: until the election is over a write is refused
        const until = Date.now() + 10_000;
        let revision: number | undefined;
        while (revision === undefined && Date.now() < until) {
          revision = await put(etcd.endpoints[0]!, 'b').catch(() => undefined);
        }
        expect(revision).toBeGreaterThan(1);
      } finally {
        await etcd.stop();
      }
    },
    SLOW,
  );
});

describe('a PostgreSQL started by a test', () => {
  it(
    'answers, is silent while paused, and keeps committed rows over a kill',
    async () => {
      const store = await startPostgres();
      const connect = async (): Promise<pg.Client> => {
        const client = new pg.Client({ connectionString: store.url });
        client.on('error', () => undefined);
        await client.connect();
        return client;
      };
      try {
        const first = await connect();
        await first.query('create table t (n int)');
        await first.query('insert into t values (7)');
        await expectSilentWhilePaused(store, () => first.query('select 1'));
        await store.kill();
        await first.end().catch(() => undefined);
        await store.restart();
        const second = await connect();
        const { rows } = await second.query<{ n: number }>('select n from t');
        await second.end();
        expect(rows).toEqual([{ n: 7 }]);
      } finally {
        await store.stop();
      }
    },
    SLOW,
  );
});
