import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';
import { freePorts } from '../support/free-ports.js';
import { LockServerProcess } from '../support/lock-server.js';
import { startRedis, type RedisServer } from '../support/services/index.js';
import { until } from './nest-support.js';

describe('a locked method of an application over a lock server', () => {
  let server: LockServerProcess;
  let redis: RedisServer;
  let child: Child;

  beforeAll(async () => {
    [server, redis] = await Promise.all([LockServerProcess.start(), startRedis()]);
    const ports = (await freePorts(2)).join(' ');
    child = await startCompiled('test/e2e/nest-callers.child.ts', {
      args: [`klock://${server.address}`, String(redis.port)],
      env: { KLOCK_TEST_PORTS: ports },
    });
  }, 90_000);
  afterAll(async () => {
    await child.kill();
    await Promise.all([server.kill(), redis.stop()]);
  });

  it('[B-061] runs the same from onModuleInit, before anything else of the application', async () => {
    expect(await child.call('init')).toBe('init true true no store');
  });

  it.each(['no store', 'of the application'])(
    '[B-061] runs the same from jobs, timers, messages, gRPC, events, queues and commands: %s',
    async (store) => {
      await child.call('store', store !== 'no store');
      for (const from of ['cron', 'timer', 'message', 'grpc', 'event', 'queue', 'command']) {
        expect(await child.call(from)).toBe(`${from} true true ${store}`);
      }
      expect(await child.call('talk')).toEqual(['1 true', '2 true']);
      await until('nothing left', async () => !(await child.call('locked')));
    },
    30_000,
  );

  it('[B-061] runs in a worker thread with an application of its own', async () => {
    expect(await child.call('worker')).toBe('worker true true no store');
  }, 30_000);

  it('[B-061] refuses to run in an object nobody gave to Nest, naming it and what to do, and takes no lock', async () => {
    const refusal = await child.call<string>('manual');
    expect(refusal).toMatch(/^NOT_INITIALIZED: Shared\.work was not run/);
    expect(refusal).toContain('KlockModule.forRoot(...)');
    expect(await child.call('locked')).toBe(false);
  });

  it('[B-068] keeps queue jobs of one key apart although the worker takes four at once, and worker events arrive', async () => {
    await until(
      'completed',
      async () => (await child.call<{ completed: number }>('queueFacts')).completed >= 12,
    );
    expect(await child.call('queueFacts')).toMatchObject({ most: 1 });
  });
});
