import { FakeClock, settle, SlotMap, type DriverHost, type RevokeReport } from '../../core/index.js';
import { FakeLink } from './fake-link.spec-support.js';
import { RedisGrant } from './redis-grant.js';
import { resolveRedisOptions } from './redis-options.js';
import type { RedisSession } from './redis-session.js';
import { revokeKey } from './revoke-call.js';
import { ScriptCalls } from './script-calls.js';
import { Sendings } from './sendings.js';
import { StoreTime } from './store-time.js';

/** As the script reports a holder of an L1, and of an L2. */
const whole = ['', 'r1', '40', 'batch', '', '1000', '9000'];
const part = (l2: string, fence: string): string[] => [l2, `r-${l2}`, fence, '', '', '5', '9000'];
const report = (...holders: string[][]): unknown[] => ['report', '0', holders, []];

describe('a revoke on its way to Redis', () => {
  let clock: FakeClock;
  let link: FakeLink;
  let session: RedisSession;
  let ended: unknown[];

  beforeEach(() => {
    clock = new FakeClock();
    link = new FakeLink();
    ended = [];
    const host = {
      clock,
      random: { fraction: () => 0.5 },
      settings: { releaseTimeoutMs: 1_000 },
      endGrant: ({ fence }: RedisGrant, reason: string, code: string) => ended.push([fence, reason, code]),
    } as unknown as DriverHost;
    const client = { on: () => 0, evalsha: () => 0, call: () => 0, duplicate: () => 0, status: 'ready' };
    const header = { channel: 'channel', label: '', fencing: 'required' } as const;
    const calls = new ScriptCalls(link, clock, new StoreTime(clock), header, {
      woken: () => undefined,
      reachable: () => undefined,
    });
    session = { host, options: resolveRedisOptions(client, {}), calls, grants: new SlotMap() } as never;
  });

  const dropped: unknown[] = [];
  const revoke = (options = {}): Promise<RevokeReport> =>
    revokeKey(session, ['k'], options, (grant) => dropped.push(grant));
  const answer = async (...results: unknown[]): Promise<void> => {
    await settle();
    link.last.answer(results);
    await settle();
  };
  const asked = (): string[] => link.last.operations.map((operation) => operation.split('\n')[0] ?? '');

  it.each(['absent', 'other'])(
    '[B-081] looks first and ends by the fences it found, so that a repeat after a lost answer ends nobody else (%s)',
    async (found) => {
      const revoking = revoke();
      await answer(report(whole));
      expect(asked()).toEqual(['revoke 40']);
      link.last.fail(new Error('the connection was reset'));
      await settle();
      await clock.advance(200);
      // The same fence again; the first copy was carried out.
      expect([link.calls.length, asked()]).toEqual([3, ['revoke 40']]);
      await answer(found);
      expect(await revoking).toMatchObject({
        endedCount: 1,
        ended: [{ key: ['k'], fence: 40n, client: 'batch' }],
      });
    },
  );

  it('[B-081] another grant in place of the one that was found is left alone', async () => {
    const revoking = revoke();
    await answer(report(whole));
    await answer('other');
    expect(await revoking).toEqual({ key: ['k'], ended: [], endedCount: 0 });
  });

  it('[B-081] a fence that was given is what is asked for, whatever stands there', async () => {
    const revoking = revoke({ fence: 41n });
    await answer(report(whole));
    expect(asked()).toEqual(['revoke 41']);
    await answer('revoked');
    expect((await revoking).endedCount).toBe(1);
  });

  it('[B-081] what is held below is ended only if that was asked for, all of it in one call', async () => {
    const without = revoke();
    await answer(report(part('a', '41'), part('b', '42')));
    expect(await without).toMatchObject({ endedCount: 0 });
    const withBelow = revoke({ below: true });
    await answer(report(part('a', '41'), part('b', '42')));
    expect(asked()).toEqual(['revoke 41', 'revoke 42']);
    await answer('revoked', 'revoked');
    expect(await withBelow).toMatchObject({
      endedCount: 2,
      ended: [{ key: ['k', 'a'] }, { key: ['k', 'b'] }],
    });
  });

  it('[B-081] a lock of this very client is lost with the answer, not with its next renewal', async () => {
    const lease = { id: 'lease', close: () => undefined };
    const grant = new RedisGrant({
      ...{ requestId: 'r1', key: ['k'], token: 't', fence: 40n, span: 1, lease: lease as never },
      ...{ tree: 'lock:{k}', sendings: new Sendings(), epoch: 0, ttlMs: 10_000 },
    });
    session.grants.set('lease', grant);
    const revoking = revoke();
    await answer(report(whole));
    expect(ended).toEqual([]);
    await answer('revoked');
    await revoking;
    expect([ended, dropped]).toEqual([[[40n, 'revoked', 'REVOKED']], [grant]]);
  });
});
