import { startCompiled } from '../support/compiled-child.js';
import { startRedis, type RedisServer } from '../support/services/index.js';

/**
 * A Map or Set from which entries come and go builds a new table every so often, and each old one points to the next. The
 * first that has become old keeps all that follow, and what stood in them, until the next full collection: it costs ten
 * times the time for young objects, and shows in no heap that is looked at after a full collection.
 */
describe('calls that are over', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  }, 60_000);
  afterAll(() => redis.stop());

  it.each(['memory', 'klock', 'redis'])(
    '[I12] keep nothing for a collection of old objects: %s',
    async (kind) => {
      const child = await startCompiled('test/e2e/young-garbage.child.ts', {
        args: [kind === 'redis' ? `redis:${redis.port}` : kind],
      });
      try {
        for (const load of ['keys of their own', 'keys below one L1', 'one key']) {
          const bytes = await child.call<number>('keptPerPair', load);
          expect({ load, bytes: Math.round(bytes), isLittle: bytes < 200 }).toMatchObject({ isLittle: true });
        }
      } finally {
        await child.kill();
      }
    },
    120_000,
  );
});
