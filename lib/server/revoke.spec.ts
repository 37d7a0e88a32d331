import { lockService, Outcome, RevokeRequest } from '../rpc/index.js';
import { operationOf, RawChannel } from '../../test/support/raw-channel.js';
import { endRigs, rig, until, type Rig, type WireClient } from './server.spec-support.js';

const revoke = (client: WireClient, fields: Partial<RevokeRequest>) => {
  const scope = fields.p2 === undefined ? 'l1' : 'l2';
  const request = RevokeRequest.create({ scope, p1: 'k', protocolVersion: '1', ...fields });
  return client.unary(lockService.Revoke, request).answer;
};

describe('Revoke', () => {
  const channels: RawChannel[] = [];
  afterEach(async () => {
    for (const channel of channels.splice(0)) channel.close();
    await endRigs();
  });

  async function channelOf({ server }: Rig, client = ''): Promise<RawChannel> {
    const channel = new RawChannel(server.address, { client, host: 'worker:7' });
    channels.push(channel);
    await channel.welcomed();
    return channel;
  }

  it('[B-081] [I10] tells the old holder on its channel before the next one is told of its grant', async () => {
    const at = await rig();
    const [holder, waiter] = [await channelOf(at, 'batch'), await channelOf(at)];
    holder.ask(1, [operationOf({ l1: 'k' })]);
    const { fence } = await holder.answer(1);
    waiter.ask(1, [operationOf({ l1: 'k', waitMs: 60_000 })]);
    await until(() => at.server.stats.waiters === 1);
    const told: string[] = [];
    for (const [name, channel] of [
      ['old', holder],
      ['next', waiter],
    ] as const) {
      const { push } = channel.answers;
      channel.answers.push = (...answers) => {
        told.push(...answers.map(({ outcome }) => `${name} ${outcome}`));
        return push.apply(channel.answers, answers);
      };
    }
    const { ended, endedCount, error } = await revoke(at.client, { fence, client: 'op' });
    expect(error).toBeUndefined();
    expect([ended, endedCount]).toMatchObject([
      [{ l1: 'k', l2: '', fence, client: 'batch', host: 'worker:7', metadata: [] }],
      1n,
    ]);
    expect((await waiter.answer(1)).fence).toBeGreaterThan(fence);
    await until(() => told.length === 2);
    expect(told).toEqual([`old ${Outcome.Revoked}`, `next ${Outcome.Granted}`]);
    expect(holder.answers.at(-1)).toMatchObject({ operation: 1, token: '', fence: 0n });
  });

  it('[B-081] tells a holder whose stream is broken as soon as it resumes', async () => {
    const at = await rig();
    const first = await channelOf(at);
    first.ask(1, [operationOf({ l1: 'k' })]);
    await first.answer(1);
    first.cut();
    await until(() => first.over);
    expect((await revoke(at.client, {})).endedCount).toBe(1n);
    const resumed = new RawChannel(
      at.server.address,
      { sessionId: first.sessionId, incarnation: 2, leaseMs: 0 },
      1,
    );
    channels.push(resumed);
    expect(await resumed.answer(1)).toMatchObject({ outcome: Outcome.Revoked });
    resumed.ask(2, [operationOf({ ask: 2, of: 1 })], 2);
    expect(await resumed.answer(2)).toMatchObject({ outcome: Outcome.NotHeld });
  });

  it('[B-081] a client of the six calls finds it out as a lost lock: its release is refused, its request id used up, its session lives', async () => {
    const at = await rig();
    const sessionId = await at.client.session();
    const { token } = await at.client.acquire({ sessionId, p1: 'k', requestId: 'acq' });
    expect((await revoke(at.client, {})).endedCount).toBe(1n);
    const beat = await at.client.heartbeat(sessionId);
    const release = await at.client.release({ sessionId, token });
    const again = await at.client.acquire({ sessionId, p1: 'k', requestId: 'acq' });
    expect([beat.error, release.error?.code, again.error?.code]).toEqual([
      undefined,
      'LOCK_NOT_FOUND',
      'IDEMPOTENCY_CONFLICT',
    ]);
    expect((await at.client.acquire({ sessionId, p1: 'k' })).error).toBeUndefined();
  });

  it('[B-081] the host of a client of the six calls is the address it called from', async () => {
    const at = await rig();
    const sessionId = await at.client.session();
    await at.client.acquire({ sessionId, p1: 'k' });
    expect((await revoke(at.client, {})).ended[0]?.host).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it.each<[Partial<RevokeRequest>, string]>([
    [{ protocolVersion: '2' }, 'PROTOCOL_MISMATCH'],
    [{ expectedServer: 'srv_other' }, 'SERVER_INSTANCE_MISMATCH'],
    [{ p1: '' }, 'BAD_REQUEST'],
    [{ p1: 'k'.repeat(513) }, 'BAD_REQUEST'],
    [{ scope: 'l3' }, 'BAD_REQUEST'],
    [{ scope: 'l2' }, 'BAD_REQUEST'],
    [{ fence: 2n ** 63n }, 'BAD_REQUEST'],
    [{ p2: 'x', below: true }, 'BAD_REQUEST'],
    [{ client: 'c'.repeat(129) }, 'BAD_REQUEST'],
  ])('[B-081] refuses %j', async (fields, code) => {
    const at = await rig();
    const sessionId = await at.client.session();
    await at.client.acquire({ sessionId, p1: 'k' });
    expect((await revoke(at.client, fields)).error?.code).toBe(code);
    expect(at.server.stats.locks).toBe(1);
  });

  it('[B-081] a report that does not fit into a message names the first and counts all', async () => {
    const at = await rig();
    const sessionId = await at.client.session();
    for (let n = 0; n < 60; n++)
      await at.client.acquire({ sessionId, p1: 'k', p2: `${String(n).padStart(3, '0')}${'ü'.repeat(250)}` });
    const { ended, endedCount } = await revoke(at.client, { below: true });
    expect([ended.length < 60, endedCount]).toEqual([true, 60n]);
    expect(ended[0]?.l2).toMatch(/^000/);
  });

  it('[B-081] works while the server drains, and its rate is limited like that of other calls', async () => {
    const at = await rig({ rateLimit: { rps: 1, burst: 2 } });
    const sessionId = await at.client.session();
    await at.client.acquire({ sessionId, p1: 'k' });
    void at.server.drain({ limitMs: 60_000 });
    expect((await revoke(at.client, {})).endedCount).toBe(1n);
    expect((await revoke(at.client, {})).endedCount).toBe(0n);
    await expect(revoke(at.client, {})).rejects.toMatchObject({ code: 8 });
  });
});
