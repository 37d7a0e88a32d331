import type { Bench } from '../bench.js';
import type { Child } from '../children/child.js';
import type { Workload } from './workload.js';

const WITH_GC = ['--expose-gc'];

/** The first ones pay for tables and buffers that the later ones share. */
const FIRST = 200;

export const memory: Workload = {
  name: 'memory',
  title: 'bytes kept for each idle session and each held lock, after a full collection of garbage',
  ratios: ['P13'],
  run: async (bench) => {
    await idleSession(bench);
    await heldLock(bench);
  },
};

async function idleSession(bench: Bench): Promise<void> {
  const head = {
    workload: 'memory',
    at: 'idle session, shared connection',
    contender: 'session',
    title: 'klock server, resident',
  };
  await bench.single(head, async () => {
    const { server, address } = await ownServer(bench);
    const crowd = bench.stage.newChild('servers/raw-sessions.js');
    const sessions = bench.pick(1_000, 5_000);
    try {
      await crowd.call('open', address, FIRST);
      const before = await server.call<number>('resident');
      await crowd.call('open', address, sessions);
      return { bytes: ((await server.call<number>('resident')) - before) / sessions };
    } finally {
      await crowd.close();
      await server.close();
    }
  });
}

async function heldLock(bench: Bench): Promise<void> {
  const locks = bench.pick(2_000, 20_000);
  let kept: ReturnType<typeof measureLocks> | undefined;
  for (const side of ['server', 'client'] as const) {
    const head = { workload: 'memory', at: 'held lock', contender: side, title: `klock ${side}, heap` };
    await bench.single(head, async () => ({ bytes: (await (kept ??= measureLocks(bench, locks)))[side] }));
  }
}

async function measureLocks(bench: Bench, locks: number): Promise<{ server: number; client: number }> {
  const { server, address } = await ownServer(bench);
  const client = bench.stage.newChild('load-child.js', ['klock'], WITH_GC);
  try {
    await client.call('open', 'klock', { klock: address });
    await client.call('hold', 0, FIRST);
    const before = { server: await server.call<number>('heap'), client: await client.call<number>('heap') };
    await client.call('hold', FIRST, locks);
    const after = { server: await server.call<number>('heap'), client: await client.call<number>('heap') };
    return {
      server: (after.server - before.server) / locks,
      client: (after.client - before.client) / locks,
    };
  } finally {
    await client.close();
    await server.close();
  }
}

async function ownServer(bench: Bench): Promise<{ server: Child; address: string }> {
  const server = bench.stage.newChild('servers/klock-server.js', [], WITH_GC);
  return { server, address: await server.call<string>('start') };
}
