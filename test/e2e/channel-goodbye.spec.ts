import { createKlock } from '../../lib/core/index.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { ChannelBench } from '../support/channel-bench.js';
import { until } from '../support/client-rig.js';
import { operationOf, RawChannel, RawChannelServer } from '../support/raw-channel.js';

const bench = new ChannelBench({ ttlMs: 60_000 });

describe('the end of a session on a channel', () => {
  it('[K-199] a client that closes says goodbye on its stream, ends it in order, and has the close confirmed', async () => {
    const server = await RawChannelServer.start();
    bench.onEnd(() => server.stop());
    const klock = bench.client(server.port);
    const waiting = klock.acquire('k', { waitMs: 60_000 }).catch((error: { code: string }) => error.code);
    await until(() => (server.streams[0]?.operations ?? 0) === 1);
    await klock.close({ graceMs: 1 });
    expect(await waiting).toBe('CLOSED');
    const [stream] = server.streams;
    await until(() => stream?.halfClosed === true);
    expect(stream?.frames.map(({ goodbye }) => goodbye).lastIndexOf(true)).toBe(
      (stream?.frames.length ?? 0) - 1,
    );
    expect(server.closed).toEqual(['sess_1']);
  });

  it('[K-199] an idle session that is given up says goodbye, too', async () => {
    const server = await bench.lockServer();
    const klock = createKlock({
      ttlMs: 60_000,
      driver: klockDriver({ url: `klock://127.0.0.1:${server.port}`, idleSessionMs: 100 }),
    });
    bench.onEnd(() => klock.close({ graceMs: 1 }));
    await (await klock.acquire('k')).release();
    expect(server.stats.sessions).toBe(1);
    await until(() => server.stats.sessions === 0);
    // And the next lock is had on a new one.
    await (await klock.acquire('k')).release();
  });

  it('goodbye alone frees what the session holds and ends its waits, at once', async () => {
    const server = await bench.lockServer();
    const leaving = new RawChannel(server.address);
    bench.onEnd(() => leaving.close());
    await leaving.welcomed();
    leaving.ask(1, [
      operationOf({ l1: 'held' }),
      operationOf({ l1: 'held', waitMs: 60_000 }),
      operationOf({ l1: 'other', l2: 'x' }),
    ]);
    await until(() => server.stats.locks === 2 && server.stats.waiters === 1);
    const next = bench.client(server.port).acquire('held', { waitMs: 30_000 });
    await until(() => server.stats.waiters === 2);
    const startedMs = performance.now();
    leaving.write({ goodbye: true });
    expect((await next).held).toBe(true);
    // Its lease would have lasted a minute.
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    await until(() => leaving.over);
    expect(server.stats).toMatchObject({ sessions: 1, locks: 1, waiters: 0 });
    expect(leaving.frames.at(-1)?.ended?.code).toBe('SESSION_GONE');
  });

  it('what is said before goodbye in the same frame is done before', async () => {
    const server = await bench.lockServer();
    const leaving = new RawChannel(server.address);
    bench.onEnd(() => leaving.close());
    await leaving.welcomed();
    leaving.ask(1, [operationOf({ l1: 'k' })]);
    await leaving.answer(1);
    leaving.write({
      firstOperation: 2,
      operations: [operationOf({ ask: 2, of: 1, keepMs: 30_000 })],
      goodbye: true,
    });
    await until(() => server.stats.sessions === 0);
    expect(server.stats).toMatchObject({ locks: 0, kept: 1 });
  });

  it('a client that closes while it holds hands the key to who waits, and leaves nothing behind', async () => {
    const server = await bench.lockServer();
    const [klock, other] = [bench.client(server.port), bench.client(server.port)];
    const lock = await klock.acquire('k');
    const next = other.acquire('k', { waitMs: 30_000 });
    await until(() => server.stats.waiters === 1);
    await klock.close({ graceMs: 1 });
    expect([lock.held, (await next).held]).toEqual([false, true]);
    expect(server.stats.sessions).toBe(1);
  });
});
