import { WireClient } from '../../lib/server/server.spec-support.js';
import { LockServerProcess } from '../support/lock-server.js';
import { scaled, scaleNote } from '../support/scale.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const FACTOR = 25;
const BEAT_FACTOR = 100;

describe('a server over many clients', () => {
  let server: LockServerProcess;
  let proxy: TcpProxy;

  beforeEach(async () => {
    // Short leases: those cut off without a word must be over by the end.
    server = await LockServerProcess.start({ maxLeaseMs: 500, defaultLeaseMs: 500 });
    proxy = await TcpProxy.start({ target: { port: server.facts.port } });
  });
  afterEach(async () => {
    await proxy.stop();
    await server.kill();
  });

  const settled = async (): Promise<void> => {
    for (
      let stats = await server.stats();
      stats.sessions > 0 || stats.detached > 0;
      stats = await server.stats()
    ) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };

  const visit = async (turn: number): Promise<void> => {
    const client = new WireClient(`127.0.0.1:${proxy.port}`);
    const sessionId = await client.session(500n);
    const { token } = await client.acquire({ sessionId, p1: `key${turn}` });
    if (turn % 2 === 0) {
      await client.release({ sessionId, token });
      await client.closeSession(sessionId);
    } else {
      proxy.reset();
    }
    client.close();
  };

  it(`[B-034] tables are empty and memory is back after clients came and went, half of them cut off${scaleNote(FACTOR)}`, async () => {
    const rounds = scaled(10_000, FACTOR);
    const warm = Math.ceil(rounds / 4);
    let before = 0;
    for (let turn = 0; turn < rounds; turn++) {
      if (turn === warm) {
        await settled();
        before = await server.child.call<number>('heap');
      }
      await visit(turn);
    }
    await settled();
    expect(await server.stats()).toMatchObject({
      sessions: 0,
      locks: 0,
      waiters: 0,
      detached: 0,
      trees: 0,
      remembered: 0,
    });
    const after = await server.child.call<number>('heap');
    // Ended sessions are remembered for ten minutes, at well under 1 KiB each.
    expect(after - before).toBeLessThan(before * 0.05 + rounds * 1_024);
    expect(server.uncaught).toEqual([]);
  }, 600_000);

  it(`[B-034] half a million heartbeats of one session leave nothing behind${scaleNote(BEAT_FACTOR)}`, async () => {
    const client = new WireClient(server.address);
    const sessionId = await client.session(500n);
    const beats = scaled(500_000, BEAT_FACTOR);
    let before = 0;
    // Code that has run a while is compiled: that grows the heap, too, and once.
    const warm = Math.max(1_000, beats / 10);
    for (let beat = 0; beat < beats; beat += 50) {
      if (beat === warm) before = await server.child.call<number>('heap');
      await Promise.all(Array.from({ length: 50 }, () => client.heartbeat(sessionId)));
    }
    const after = await server.child.call<number>('heap');
    expect(after).toBeLessThan(before * 1.05 + 262_144);
    client.close();
  }, 600_000);
});
