import { execFile } from 'node:child_process';
import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';
import { LockServerProcess } from '../support/lock-server.js';

interface Listed {
  readonly key: readonly string[];
  readonly fence: string;
  readonly client: string;
  readonly host: string;
  readonly since: string;
}

/** `npx klock`, from the build, in a process of its own. */
function klock(...words: string[]): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['dist/esm/cli/main.js', ...words], (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr });
    });
  });
}

describe('an operator and two replicas whose handlers hold through @Locked, with leases of 30 s', () => {
  let server: LockServerProcess;
  let url: string;
  const replicas: Child[] = [];

  beforeAll(async () => {
    server = await LockServerProcess.start();
    url = `klock://${server.address}`;
    const start = (): Promise<Child> =>
      startCompiled('test/e2e/nest-revoke.child.ts', { args: [url, 'run 7'] });
    replicas.push(...(await Promise.all([start(), start()])));
  }, 60_000);
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.kill()));
    await server.kill();
  });

  it('[B-081] klock who names the holder; klock revoke aborts the handler’s signal as revoked, and the next handler runs under a larger fence', async () => {
    const [first, second] = replicas as [Child, Child];
    await first.call('run', 1);
    const held = (await first.event('holds')).data as { readonly fence: string };
    await second.call('run', 2);
    let waiters = 0;
    for (let look = 0; waiters === 0 && look < 100; look++) {
      const { output } = await klock('who', url, 'billing', 'run 7', '--json');
      waiters = (JSON.parse(output) as { waiterCount: number }).waiterCount;
    }
    const listed = await klock('who', url, '--json');
    const [holder] = (JSON.parse(listed.output) as { holders: readonly Listed[] }).holders;
    expect(holder).toMatchObject({
      key: ['billing', 'run 7'],
      fence: held.fence,
      client: 'billing',
      host: expect.stringMatching(new RegExp(`:${first.pid}$`)) as string,
      waiters: 1,
    });
    expect(Date.parse(holder?.since ?? '')).toBeLessThanOrEqual(Date.now());

    const revoked = await klock('revoke', url, 'billing', 'run 7', '--fence', held.fence);
    expect(revoked).toMatchObject({
      code: 0,
      output: expect.stringContaining(`under fence ${held.fence}`) as string,
    });
    expect((await first.event('told')).data).toEqual({
      turn: 1,
      name: 'LockLostError',
      why: 'revoked',
      held: false,
    });
    expect((await first.event('ended')).data).toEqual({
      turn: 1,
      code: 'LOCK_LOST',
      reason: 'revoked',
      result: 'turn 1 stopped',
    });
    expect((await first.event('event')).data).toEqual({ reason: 'revoked', code: 'REVOKED' });
    const next = (await second.event('holds')).data as { readonly turn: number; readonly fence: string };
    expect(next.turn).toBe(2);
    expect(BigInt(next.fence)).toBeGreaterThan(BigInt(held.fence));

    const again = await klock('revoke', url, 'billing', 'run 7', '--fence', held.fence);
    expect(again).toMatchObject({ code: 3, output: expect.stringContaining('Nothing was held') as string });
    expect(second.events.filter(({ event }) => event === 'told')).toEqual([]);
  }, 60_000);

  it('[B-081] a holder that is stopped cannot hear it: the next one holds all the same, and the stopped one is told when it runs again', async () => {
    // The replica that was next above holds now.
    const [next, stopped] = replicas as [Child, Child];
    const { fence } = (await stopped.event('holds')).data as { readonly fence: string };
    stopped.pause();
    await next.call('run', 3);
    expect(await klock('revoke', url, 'billing', 'run 7', '--fence', fence)).toMatchObject({ code: 0 });
    const isThird = (data: unknown): boolean => (data as { readonly turn: number }).turn === 3;
    const held = (await next.event('holds', isThird)).data as { readonly fence: string };
    // Both believe it now, and the fence tells them apart.
    expect(stopped.events.filter(({ event }) => event === 'told')).toEqual([]);
    expect(BigInt(held.fence)).toBeGreaterThan(BigInt(fence));
    stopped.resume();
    expect((await stopped.event('told')).data).toMatchObject({ turn: 2, why: 'revoked', held: false });
    expect(await klock('revoke', url, 'billing', 'run 7')).toMatchObject({ code: 0 });
    expect((await next.event('told', isThird)).data).toMatchObject({ why: 'revoked' });
  }, 60_000);
});
