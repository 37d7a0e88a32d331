import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { LockServer } from '../../lib/server/index.js';
import { realPause, until, WireClient } from '../../lib/server/server.spec-support.js';
import { Child } from '../support/child.js';
import { LockServerProcess } from '../support/lock-server.js';
import { scaled, scaleNote } from '../support/scale.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const LONG = 60_000n;

describe('clients that vanish', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  const connect = (address: string): WireClient => {
    const client = new WireClient(address);
    cleanups.push(() => client.close());
    return client;
  };
  const behindProxy = async (port: number): Promise<TcpProxy> => {
    const proxy = await TcpProxy.start({ target: { port } });
    cleanups.push(() => proxy.stop());
    return proxy;
  };
  const startProcess = async (): Promise<LockServerProcess> => {
    const server = await LockServerProcess.start();
    cleanups.push(() => server.kill());
    return server;
  };
  const startHere = async (keepalive?: { timeMs: number; timeoutMs: number }): Promise<LockServer> => {
    const server = new LockServer(
      { address: '127.0.0.1:0', rateLimit: false },
      keepalive ? { keepalive } : {},
    );
    cleanups.push(() => server.close({ graceMs: 0 }));
    await server.start();
    return server;
  };

  it(`[B-029] waiters whose connections are reset as the lock is freed are passed over within a second${scaleNote(10)}`, async () => {
    const server = await startProcess();
    const [holder, live] = [connect(server.address), connect(server.address)];
    const [a, b] = [await holder.session(LONG), await live.session(LONG)];
    for (let round = 0; round < scaled(50, 10); round++) {
      const proxy = await behindProxy(server.facts.port);
      const { token } = await holder.acquire({ sessionId: a, p1: 'k' });
      await Promise.all(
        Array.from({ length: 40 }, async () => {
          const dying = connect(`127.0.0.1:${proxy.port}`);
          dying.acquiring({ sessionId: await dying.session(LONG), p1: 'k', timeoutMs: 0n });
        }),
      );
      await waitersAre(server, 40);
      const waiting = live.acquire({ sessionId: b, p1: 'k' });
      await waitersAre(server, 41);
      proxy.reset();
      const freedAt = performance.now();
      await holder.release({ sessionId: a, token });
      const grant = await waiting;
      expect(performance.now() - freedAt).toBeLessThan(1_000);
      await live.release({ sessionId: b, token: grant.token });
    }
    expect(server.uncaught).toEqual([]);
    await untilTrue(async () => (await server.stats()).locks === 0);
  }, 60_000);

  it(`[B-029] 200 waiters killed with SIGKILL as the lock is freed cost at most their lease, and the server nothing${scaleNote(25)}`, async () => {
    const server = await startProcess();
    const [holder, live] = [connect(server.address), connect(server.address)];
    for (let round = 0; round < scaled(50, 25); round++) {
      const [a, b] = [await holder.session(LONG), await live.session(LONG)];
      const p1 = `k${round}`;
      const { token } = await holder.acquire({ sessionId: a, p1 });
      const clients = await Child.start('test/support/wire-clients-child.mjs');
      cleanups.push(() => clients.kill());
      // A client that was told before it died holds until then: nobody can know that it has died.
      const leaseMs = 3_000;
      await clients.call('wait', server.address, p1, leaseMs, 200);
      await waitersAre(server, 200);
      const waiting = live.acquire({ sessionId: b, p1, timeoutMs: 20_000n });
      await waitersAre(server, 201);
      const freedAt = performance.now();
      await Promise.all([clients.kill(), holder.release({ sessionId: a, token })]);
      expect((await waiting).error).toBeUndefined();
      expect(performance.now() - freedAt).toBeLessThan(leaseMs + 1_000);
      await Promise.all([holder.closeSession(a), live.closeSession(b)]);
    }
    expect(server.uncaught).toEqual([]);
  }, 300_000);

  it('[B-029] waiters whose process had ended when the lock was freed are passed over within a second', async () => {
    const server = await startProcess();
    const [holder, live] = [connect(server.address), connect(server.address)];
    const [a, b] = [await holder.session(LONG), await live.session(LONG)];
    const { token } = await holder.acquire({ sessionId: a });
    const clients = await Child.start('test/support/wire-clients-child.mjs');
    cleanups.push(() => clients.kill());
    await clients.call('wait', server.address, 'p1', 60_000, 100);
    const waiting = live.acquire({ sessionId: b });
    await waitersAre(server, 101);
    const endedAt = performance.now();
    await clients.kill();
    // The server hears of the end from the kernel. A grant written before that is the dead client's until its lease is over:
    // nobody can tell whether it was read (the test above).
    await waitersAre(server, 1);
    await holder.release({ sessionId: a, token });
    expect((await waiting).error).toBeUndefined();
    expect(performance.now() - endedAt).toBeLessThan(1_000);
    expect(server.uncaught).toEqual([]);
  }, 30_000);

  it('[B-029] [K-089] a grant whose answer meets a broken connection is given back, unless its request comes again', async () => {
    const server = await startHere();
    const client = connect(server.address);
    const store = server.openLocalStore();
    for (const retried of [false, true]) {
      const relay = await startRelay(server.port);
      const dying = connect(`127.0.0.1:${relay.port}`);
      const sessionId = await dying.session(LONG);
      const key = ['p1'] as const;
      const own = { type: 'acquire', sessionId: 'own', key, waitUntilMs: 0 } as const;
      store.apply({ type: 'open-session', sessionId: 'own', leaseMs: 60_000 });
      const held = store.apply({ ...own, callId: 1, requestId: 'r' });
      dying.acquiring({ sessionId, requestId: 'remote', timeoutMs: 0n });
      await until(() => server.stats.waiters === 1);
      const token = held.type === 'granted' ? held.grant.token : '';
      relay.cut(() => {
        // The connection is gone for the kernel, and the server has not heard of it yet.
        store.apply({ type: 'close-session', sessionId: 'own', reason: 'client_close' });
        expect([token !== '', server.stats.locks, server.stats.waiters]).toEqual([true, 1, 0]);
      });
      const retry = retried ? await client.acquire({ sessionId, requestId: 'remote' }) : undefined;
      await realPause(1_000);
      expect(server.stats.locks).toBe(retried ? 1 : 0);
      expect(retry?.error).toBeUndefined();
      await client.closeSession(sessionId);
    }
  });

  it('[B-032] a cancelled waiter leaves at once; a silent one costs at most its lease and a second', async () => {
    const server = await startHere();
    const proxy = await behindProxy(server.port);
    const client = connect(server.address);
    const silent = connect(`127.0.0.1:${proxy.port}`);
    const [h, w1, w3] = [await client.session(LONG), await client.session(LONG), await client.session(LONG)];
    const w2 = await silent.session(1_000n);
    const { token } = await client.acquire({ sessionId: h });
    const first = client.acquiring({ sessionId: w1 });
    await until(() => server.stats.waiters === 1);
    silent.acquiring({ sessionId: w2 });
    await until(() => server.stats.waiters === 2);
    const third = client.acquire({ sessionId: w3 });
    await until(() => server.stats.waiters === 3);
    first.cancel();
    await until(() => server.stats.waiters === 2);
    await silent.heartbeat(w2);
    proxy.silence();
    const freedAt = performance.now();
    await client.release({ sessionId: h, token });
    expect((await third).error).toBeUndefined();
    expect(performance.now() - freedAt).toBeLessThan(2_000);
  }, 10_000);

  it('[B-032] a silent holder is freed at its lease, and its dead connection destroyed', async () => {
    const server = await startHere({ timeMs: 500, timeoutMs: 500 });
    const proxy = await behindProxy(server.port);
    const silent = connect(`127.0.0.1:${proxy.port}`);
    const client = connect(server.address);
    const [holder, waiter] = [await silent.session(1_000n), await client.session(LONG)];
    await silent.acquire({ sessionId: holder });
    const began = performance.now();
    proxy.silence();
    expect((await client.acquire({ sessionId: waiter })).error).toBeUndefined();
    const took = performance.now() - began;
    expect(took).toBeGreaterThan(900);
    expect(took).toBeLessThan(2_000);
    await until(() => server.connections === 1);
  }, 10_000);

  it('[B-031] a grant whose reply was late is the same grant for the retry, and runs out with its session', async () => {
    const server = await startHere();
    const proxy = await behindProxy(server.port);
    const slow = connect(`127.0.0.1:${proxy.port}`);
    const sessionId = await slow.session(2_000n);
    proxy.setWeather({ latencyMs: 1_000 }, 'down');
    const late = slow.acquire({ sessionId, requestId: 'r' }, { deadline: Date.now() + 400 });
    await expect(late).rejects.toMatchObject({ code: 4 });
    expect(server.stats.locks).toBe(1);
    proxy.setWeather({ latencyMs: 0 }, 'down');
    const retry = await slow.acquire({ sessionId, requestId: 'r' });
    expect(retry.error).toBeUndefined();
    expect(await slow.acquire({ sessionId, requestId: 'r' })).toEqual(retry);
    expect(server.stats.locks).toBe(1);
    await until(() => server.stats.locks === 0, 3_000);
  }, 10_000);

  it('[B-031] for a wait the server answers before the deadline of the call', async () => {
    const server = await startHere();
    const client = connect(server.address);
    const [a, b] = [await client.session(LONG), await client.session(LONG)];
    await client.acquire({ sessionId: a });
    const began = performance.now();
    const answer = await client.acquire({ sessionId: b, timeoutMs: 500n }, { deadline: Date.now() + 1_000 });
    expect(answer.error).toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(performance.now() - began).toBeGreaterThanOrEqual(499);
  });

  it('a client that floods odd bytes costs its own connection only', async () => {
    const server = await startProcess();
    for (const bytes of [
      'GET / HTTP/1.1\r\n\r\n',
      '\0'.repeat(100),
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxxxxxxxxxx',
    ]) {
      const socket = createConnection(server.facts.port, '127.0.0.1');
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.resume();
      socket.write(bytes);
      await closed;
    }
    expect((await connect(server.address).create()).error).toBeUndefined();
    expect(server.uncaught).toEqual([]);
  }, 20_000);

  /** Passes one connection on; `cut` resets the server's end and runs `then` before the server's event loop can notice. */
  async function startRelay(port: number) {
    const ends: Socket[] = [];
    const relay = createServer((socket) => {
      const upstream = createConnection(port, '127.0.0.1');
      ends.push(upstream, socket);
      for (const end of [socket, upstream]) end.on('error', () => undefined);
      socket.pipe(upstream).pipe(socket);
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => relay.close());
    const cut = (then: () => void): void => {
      // The public resetAndDestroy waits for the event loop, in which the server would hear of it first.
      const { _handle } = ends[0] as unknown as { _handle: { reset(done: () => void): void } };
      _handle.reset(() => undefined);
      for (const end of ends) end.destroy();
      then();
    };
    return { port: (relay.address() as AddressInfo).port, cut };
  }

  async function waitersAre(server: LockServerProcess, count: number): Promise<void> {
    await untilTrue(async () => (await server.stats()).waiters === count);
  }

  async function untilTrue(condition: () => Promise<boolean>): Promise<void> {
    for (const began = performance.now(); !(await condition()); await realPause(5)) {
      if (performance.now() - began > 10_000) throw new Error('not within 10 s');
    }
  }
});
