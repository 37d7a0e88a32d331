import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createKlock } from '../../lib/core/index.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { LockServer } from '../../lib/server/index.js';
import { Bench, real, until } from '../support/client-rig.js';
import { NEVER } from '../support/scripted-lock-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const bench = new Bench();
afterEach(() => bench.end());

/** A port that accepts and never says a word. */
async function tarpit(port = 0): Promise<{ port: number; sockets: Set<Socket>; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.resume();
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port: (server.address() as AddressInfo).port, sockets, close };
}

async function freePort(): Promise<number> {
  const { port, close } = await tarpit();
  await close();
  return port;
}

describe('the connection of a client', () => {
  it('[B-027] gives up on a port that accepts and stays silent, and recovers with the same client', async () => {
    const trap = await tarpit();
    const { klock } = bench.rig(`klock://127.0.0.1:${trap.port}`, { driver: { connectTimeoutMs: 400 } });
    for (let round = 0; round < 3; round++) {
      const started = performance.now();
      await expect(klock.acquire('t', { waitMs: 600 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(performance.now() - started).toBeLessThan(1_600);
    }
    const started = performance.now();
    await expect(klock.tryAcquire('t')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(performance.now() - started).toBeLessThan(1_000);
    // What was given up on was closed: nothing piles up while the trap is there.
    await until(() => trap.sockets.size <= 1);
    const { port } = trap;
    await trap.close();
    await bench.server({ port });
    const recovering = performance.now();
    expect((await klock.acquire('t', { waitMs: 5_000 })).held).toBe(true);
    expect(performance.now() - recovering).toBeLessThan(5_000);
  }, 20_000);

  it('[B-027] gives up on a server that accepts the call and never answers it', async () => {
    const server = await bench.server();
    server.on('CreateSession', () => NEVER);
    const { klock } = bench.rig(server.url, { instance: { ttlMs: 600 } });
    await expect(klock.acquire('t', { waitMs: 1_000 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    server.on('CreateSession');
    expect((await klock.acquire('t', { waitMs: 5_000 })).held).toBe(true);
  });

  it('says LOCK_UNAVAILABLE with the reason where nobody listens, at once when it is asked not to wait', async () => {
    const port = await freePort();
    const { klock } = bench.rig(`klock://127.0.0.1:${port}`);
    const states: string[] = [];
    klock.on('store.unavailable', () => states.push('unavailable'));
    klock.on('store.available', () => states.push('available'));
    const started = performance.now();
    await expect(klock.tryAcquire('t')).rejects.toThrow(/ECONNREFUSED/);
    expect(performance.now() - started).toBeLessThan(500);
    await expect(klock.acquire('t', { waitMs: 300 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    const waiting = klock.acquire('t', { waitMs: 5_000 });
    await real(100);
    await bench.server({ port });
    expect((await waiting).held).toBe(true);
    expect(states).toEqual(['unavailable', 'available']);
  });

  it('[B-028] renews within 2 s after the server is back, however long it was called in vain', async () => {
    const server = await bench.server();
    const proxy = await TcpProxy.start({ target: { port: server.port } });
    bench.after(() => proxy.stop());
    const { klock, lost } = bench.rig(`klock://127.0.0.1:${proxy.port}`, { instance: { ttlMs: 6_000 } });
    const lock = await klock.acquire('k');
    await proxy.refuse();
    proxy.reset();
    const calls: Promise<unknown>[] = [];
    for (let round = 0; round < 30; round++) {
      calls.push(klock.tryAcquire('x').catch(() => undefined));
      await real(100);
    }
    const beats = server.seen('Heartbeat').length;
    const back = performance.now();
    await proxy.accept();
    await until(() => server.seen('Heartbeat').length > beats, 2_000);
    expect(performance.now() - back).toBeLessThan(2_000);
    await real(20);
    expect(lock.held).toBe(true);
    expect(lost).toHaveLength(0);
    await Promise.all(calls);
  }, 15_000);

  it('[B-022] loses in time in a silent partition with reason unreachable, and works again after it', async () => {
    const server = new LockServer({ address: '127.0.0.1:0', drainMs: 50 });
    await server.start();
    bench.after(() => server.close());
    const proxy = await TcpProxy.start({ target: { port: server.port } });
    bench.after(() => proxy.stop());
    const { klock, lost } = bench.rig(`klock://127.0.0.1:${proxy.port}`, { instance: { ttlMs: 1_500 } });
    const healthy = createKlock({ driver: klockDriver({ url: server.address }) });
    bench.after(() => healthy.close({ graceMs: 1 }));
    const lock = await klock.acquire('l');
    const confirmed = performance.now();
    let lostAt = 0;
    lock.signal.addEventListener('abort', () => (lostAt = performance.now()));
    proxy.silence('both', { lost: true });
    const granted = healthy.acquire('l', { waitMs: 8_000 }).then((next) => ({ next, at: performance.now() }));
    await until(() => lost.length === 1);
    expect(lost[0]).toMatchObject({ reason: 'unreachable', code: 'HEARTBEAT_CONSECUTIVE_FAILURE' });
    expect(lostAt - confirmed).toBeLessThanOrEqual(1_500);
    const { next, at } = await granted;
    expect(at).toBeGreaterThanOrEqual(lostAt);
    expect(next.fence).toBeGreaterThan(lock.fence);
    await real(500);
    const healed = performance.now();
    proxy.heal();
    expect(lock.held).toBe(false);
    const other = await klock.acquire('other', { waitMs: 5_000 });
    expect(performance.now() - healed).toBeLessThan(2_000);
    expect(other.held).toBe(true);
    expect(lost).toHaveLength(1);
  }, 15_000);

  it('[B-022] notices a connection that went dead by what is not answered, and takes another within the lease', async () => {
    const server = await bench.server();
    const dying = await TcpProxy.start({ target: { port: server.port } });
    bench.after(() => dying.stop());
    const { klock, lost } = bench.rig([`klock://127.0.0.1:${dying.port}`, server.url], {
      instance: { ttlMs: 4_500 },
      driver: { connectTimeoutMs: 300 },
    });
    const lock = await klock.acquire('k');
    dying.silence();
    await until(() => server.seen('Heartbeat').length > 0, 6_000);
    await real(1_500);
    expect(lock.held).toBe(true);
    expect(lost).toHaveLength(0);
  }, 15_000);

  it('tries several addresses in turn and stays with the one that works', async () => {
    const server = await bench.server();
    const dead = await freePort();
    const trap = await tarpit();
    bench.after(() => trap.close());
    const urls = [`klock://127.0.0.1:${dead}`, `klock://127.0.0.1:${trap.port}`, server.url];
    const { klock } = bench.rig(urls, { driver: { connectTimeoutMs: 200 } });
    expect((await klock.acquire('a', { waitMs: 3_000 })).held).toBe(true);
    const started = performance.now();
    expect((await klock.acquire('b')).held).toBe(true);
    expect(performance.now() - started).toBeLessThan(150);
  });

  it('refuses a second instance for one driver', () => {
    const driver = klockDriver({ url: 'localhost' });
    createKlock({ driver });
    expect(() => createKlock({ driver })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }) as Error,
    );
  });

  it('leaves no socket behind after the close', async () => {
    const server = await bench.server();
    const proxy = await TcpProxy.start({ target: { port: server.port } });
    bench.after(() => proxy.stop());
    const { klock } = bench.rig(`klock://127.0.0.1:${proxy.port}`);
    await klock.acquire('a');
    expect(proxy.connections).toBe(1);
    await klock.close({ graceMs: 1 });
    await until(() => proxy.connections === 0);
    expect(() => connect(proxy.port).destroy()).not.toThrow();
  });
});
