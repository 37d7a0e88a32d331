import { Redis } from 'ioredis';
import { redisFenceStore, type FenceStore } from 'klock/fencing';
import { createClient } from 'redis';
import { startRedis, type RedisServer } from '../support/services/index.js';
import {
  Oracle,
  STORE,
  fenceStoreCases,
  proof,
  random,
  randomWrite,
  seed,
  verdict,
} from './fencing-cases.js';

const SLOW_MS = 60_000;
let server: RedisServer;
let redis: Redis;
let nodeRedis: ReturnType<typeof createClient>;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  redis.on('error', () => undefined);
  nodeRedis = createClient({ url: server.url });
  nodeRedis.on('error', () => undefined);
  await nodeRedis.connect();
}, SLOW_MS);

afterAll(async () => {
  redis.disconnect();
  nodeRedis.destroy();
  await server.stop();
});

describe('the fence store in Redis, by ioredis', () => {
  fenceStoreCases((space, options) => redisFenceStore(redis, { ...options, prefix: `io:${space}:` }));
});

describe('the fence store in Redis, by node-redis', () => {
  fenceStoreCases((space, options) => redisFenceStore(nodeRedis, { ...options, prefix: `node:${space}:` }));
});

describe('the fence store in Redis', () => {
  let count = 0;
  const make = (options = {}): FenceStore & Disposable =>
    redisFenceStore(redis, { prefix: `own:${count++}:`, ...options });

  it('is one for all processes: what one accepted, another refuses to undercut', async () => {
    using a = redisFenceStore(redis, { prefix: 'shared:' });
    using b = redisFenceStore(nodeRedis, { prefix: 'shared:' });
    await a.accept(proof(10n, 'k'));
    expect(await verdict(b, proof(9n, 'k', 'x'))).toBe('STALE_FENCE');
  });

  it('keeps all marks of an L1 under one key, which expires after the last write', async () => {
    using store = make({ prefix: 'keys:', keepMs: 60_000 });
    await store.accept(proof(10n, 'a/{b}', 'x'));
    await store.accept(proof(11n, 'a/{b}'));
    expect(await redis.keys('keys:*')).toEqual(['keys:a%2F{b}']);
    const left = await redis.pttl('keys:a%2F{b}');
    expect(left).toBeGreaterThan(50_000);
    expect(left).toBeLessThanOrEqual(60_000);
  });

  it('with keepMs Infinity keeps marks for ever, those written under another setting too', async () => {
    using brief = make({ prefix: 'ever:', keepMs: 60_000 });
    using ever = make({ prefix: 'ever:', keepMs: Infinity });
    await brief.accept(proof(1n, 'k'));
    await ever.accept(proof(2n, 'k'));
    expect(await redis.pttl('ever:k')).toBe(-1);
  });

  it(
    '[I12] folds L2 marks beyond 4,096 of one L1, and refuses what any of them would have refused',
    async () => {
      using store = make({ prefix: 'fold:' });
      for (let start = 1; start <= 5_000; start += 500) {
        const writes = Array.from({ length: 500 }, (_, i) => proof(BigInt(start + i), 't', `r${start + i}`));
        await Promise.all(writes.map((write) => store.accept(write)));
      }
      expect(await redis.hlen('fold:t')).toBeLessThanOrEqual(4_096 + 4);
      for (const leaf of [1, 2, 1_000, 2_048]) {
        expect(await verdict(store, proof(BigInt(leaf) - 1n || 1n, 't', `r${leaf + 1}`))).toBe('STALE_FENCE');
      }
      expect(await verdict(store, proof(4_999n, 't', 'r5000'))).toBe('STALE_FENCE');
      expect(await verdict(store, proof(4_999n, 't'))).toBe('STALE_FENCE');
      expect(await verdict(store, proof(5_001n, 't', 'r1'))).toBe('accepted');
    },
    SLOW_MS,
  );

  it(`[I4] decides one at a time however many ask at once (seed ${seed})`, async () => {
    const next = random(seed);
    const stores = [
      redisFenceStore(redis, { prefix: 'race:' }),
      redisFenceStore(nodeRedis, { prefix: 'race:' }),
    ];
    const writes = Array.from({ length: 400 }, () => randomWrite(next, 2, 3));
    const verdicts = await Promise.all(writes.map((write, i) => verdict(stores[i % 2] as FenceStore, write)));
    // What was accepted must have an order in which the rule allows it: rising fences are one.
    const accepted = writes
      .filter((_, i) => verdicts[i] === 'accepted')
      .sort((a, b) => (a.fence < b.fence ? -1 : 1));
    const oracle = new Oracle();
    for (const write of accepted) {
      expect(oracle.allows(write)).toBe(true);
      oracle.note(write);
    }
    const marks = await redis.hgetall('race:t0');
    const largest = accepted.filter(({ key }) => key[0] === 't0').at(-1)?.fence ?? 0n;
    expect(BigInt(marks.any ?? '0')).toBe(largest);
    for (const store of stores) store[Symbol.dispose]();
  });

  it('a script the server has forgotten is sent again', async () => {
    using store = make();
    await store.accept(proof(10n, 'k'));
    await redis.script('FLUSH');
    expect(await verdict(store, proof(9n, 'k'))).toBe('STALE_FENCE');
  });

  it('a key that holds something else is BACKEND_STATE, and nothing is accepted', async () => {
    using store = make({ prefix: 'wrong:' });
    await redis.set('wrong:k', 'text');
    expect(await verdict(store, proof(1n, 'k'))).toBe('BACKEND_STATE');
  });

  it('a Redis that does not answer is LOCK_UNAVAILABLE within timeoutMs, not an accepted write', async () => {
    using store = make({ timeoutMs: 100 });
    server.pause();
    try {
      const startedMs = performance.now();
      expect(await verdict(store, proof(1n, 'k'))).toBe('LOCK_UNAVAILABLE');
      expect(performance.now() - startedMs).toBeLessThan(2_000);
    } finally {
      server.resume();
    }
    expect(await verdict(store, proof(1n, 'k'))).toBe('accepted');
  });

  it('refuses clients and options it does not know, contacting nothing', () => {
    expect(() => redisFenceStore({} as never)).toThrow(/redis must be a client of ioredis/);
    expect(() => redisFenceStore(redis, { keepMs: 0 })).toThrow(/keepMs must be a whole number/);
    expect(() => redisFenceStore(redis, { store: STORE } as never)).toThrow(/no option "store"/);
  });
});
