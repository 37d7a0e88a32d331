import {
  FakeClock,
  LATER,
  LinkedList,
  SlotMap,
  settle,
  type DriverBusy,
  type DriverGrant,
  type DriverHost,
  type LeaseTerms,
} from '../../core/index.js';
import { Acquaintance } from './acquaintance.js';
import { AcquireCall } from './acquire-call.js';
import { Background } from './background.js';
import { FakeLink } from './fake-link.spec-support.js';
import type { RedisSession } from './redis-session.js';
import { resolveRedisOptions } from './redis-options.js';
import { ScriptCalls } from './script-calls.js';
import { StoreTime } from './store-time.js';
import { WaitingRoom } from './waiting-room.js';

const PROBE = ['probe', 'noeviction', '0', 'master', '7.0.15', ''];

interface Asked {
  readonly requestId?: string;
  readonly waitMs?: number;
  readonly ttlMs?: number;
  readonly signal?: AbortSignal;
}

interface Rig {
  readonly clock: FakeClock;
  readonly link: FakeLink;
  readonly session: RedisSession;
  readonly leases: LeaseTerms[];
  fraction: number;
  readonly acquire: (options?: Asked) => Promise<DriverGrant | DriverBusy>;
}

async function setUp(): Promise<Rig> {
  const clock = new FakeClock();
  const link = new FakeLink();
  const leases: LeaseTerms[] = [];
  let ids = 0;
  const rig = { fraction: 0.5 };
  const host = {
    clock,
    random: { id: () => `id${++ids}`, fraction: () => rig.fraction },
    settings: { marginMs: (ms: number) => Math.max(10, ms / 10), releaseTimeoutMs: 1_000 },
    openLease: (terms: LeaseTerms) => {
      leases.push(terms);
      return { id: terms.id, alive: true, close: () => undefined };
    },
    storeState: () => undefined,
    warn: () => undefined,
  } as unknown as DriverHost;
  const client = { on: () => 0, evalsha: () => 0, call: () => 0, duplicate: () => 0, status: 'ready' };
  const options = resolveRedisOptions(client, {});
  const waiting = new WaitingRoom(link, host, 'channel');
  const header = { channel: 'channel', label: '', fencing: 'required' } as const;
  const calls = new ScriptCalls(link, clock, new StoreTime(clock), header, {
    woken: (woken) => waiting.wake(woken),
    reachable: () => undefined,
  });
  const session: RedisSession = {
    host,
    options,
    calls,
    acquaintance: new Acquaintance(calls, host, options),
    waiting,
    background: new Background(() => undefined),
    unsettled: new LinkedList(),
    grants: new SlotMap(),
  };
  void session.acquaintance.meet('lock:{k}', clock.monoMs() + 1_000, {});
  await settle();
  link.last.answer([PROBE]);
  await settle();
  const acquire: Rig['acquire'] = ({ requestId = 'request', waitMs = 60_000, ttlMs = 10_000, signal } = {}) =>
    new Promise((told, fail) => {
      const reply = new AcquireCall(session, {
        requestId,
        key: ['k'],
        ttlMs,
        waitMs,
        attemptMs: 20_000,
        renew: true,
        ...(signal && { signal }),
        settle: told,
        fail,
      }).run();
      if (reply !== LATER) told(reply);
    });
  return Object.assign(rig, { clock, link, session, leases, acquire });
}

const lastWords = (link: FakeLink): string => link.last.operations[0] as string;

describe('an acquire', () => {
  it('[L-21] [H-24] in line asks again by itself after half a second to a second, by chance, and sooner only where the holder ends sooner', async () => {
    const rig = await setUp();
    const { clock, link } = rig;
    void rig.acquire();
    await settle();
    for (const [fraction, askAgainMs, dueMs] of [
      [0, '-1', 500],
      [0.5, '9000', 750],
      [0.999, '-1', 1_000],
      [0, '40', 42],
      [1, '40', 52],
    ] as const) {
      rig.fraction = fraction;
      const sent = link.calls.length;
      link.last.answer([['queued', '1800000000000000', askAgainMs]]);
      await clock.advance(dueMs - 2);
      expect(link.calls).toHaveLength(sent);
      await clock.advance(2);
      expect(link.calls).toHaveLength(sent + 1);
    }
  });

  it('[B-049] woken while it was asking asks once more; and once when messages begin to arrive', async () => {
    const { link, acquire } = await setUp();
    void acquire();
    await settle();
    link.last.answer([['queued', '1800000000000000', '-1']]);
    await settle();
    const sent = link.calls.length;
    link.subscriber!.up();
    await settle();
    expect(link.calls).toHaveLength(sent + 1);
    link.subscriber!.message('request');
    link.last.answer([['queued', '1800000000000000', '-1']]);
    await settle();
    expect(link.calls).toHaveLength(sent + 2);
    link.last.answer([['queued', '1800000000000000', '-1']]);
    await settle();
    link.subscriber!.message('somebody,else');
    await settle();
    expect(link.calls).toHaveLength(sent + 2);
  });

  it('[B-049] woken before it has read that it stands in line asks at once', async () => {
    const { link, acquire } = await setUp();
    void acquire({ requestId: 'other' });
    await settle();
    link.last.answer(['queued 1800000000000000 -1']);
    await settle();
    link.subscriber!.up();
    await settle();
    link.last.answer(['queued 1800000000000000 -1']);
    void acquire();
    await settle();
    const sent = link.calls.length;
    // Over a connection of its own, which may be read first.
    link.subscriber!.message('request');
    link.last.answer(['queued 1800000000000001 -1']);
    await settle();
    expect(link.calls).toHaveLength(sent + 1);
    link.last.answer(['1800000000000002']);
    await settle();
    expect(link.calls).toHaveLength(sent + 1);
  });

  it('keeps the number of its arrival, and at the end of its wait asks once more, to leave', async () => {
    const { clock, link, acquire } = await setUp();
    const outcome = acquire({ waitMs: 700 });
    await settle();
    expect(lastWords(link)).toMatch(/ queue 0 1\nlk_id\d+ request\n\n$/);
    link.last.answer([['queued', '1800000000000123', '-1']]);
    await clock.advance(700);
    expect(lastWords(link)).toMatch(/ leave 1800000000000123 1\nlk_id\d+ request\n/);
    link.last.answer([['busy', 'worker-1', '400']]);
    expect(await outcome).toEqual({ granted: false, holder: 'worker-1' });
    await settle();
    // Every question was answered over one connection: there is nothing to take back.
    expect(lastWords(link)).toMatch(/^acquire/);
    expect(clock.timers).toBeLessThanOrEqual(1);
  });

  it('[B-017] counts its lease from the sending whose reply granted, a repeated one with what the store has left', async () => {
    const { clock, link, acquire, leases } = await setUp();
    const granting = acquire();
    await settle();
    link.last.answer([['queued', '1800000000000000', '-1']]);
    await clock.advance(750);
    const sentAt = clock.now();
    await clock.advance(30);
    link.last.answer([['granted', '1800000000000777', '1', '9000']]);
    expect(await granting).toMatchObject({ granted: true, fence: 1_800_000_000_000_777n, span: 1 });
    expect(leases).toEqual([
      expect.objectContaining({ sentAt, askedMs: 10_000, grantedMs: 9_000, fullMs: 10_000 }),
    ]);
  });

  it('[D4] whose question was not answered within its ttl is given up under this id: taken back, and asked anew', async () => {
    const { clock, link, acquire } = await setUp();
    const outcome = acquire({ ttlMs: 1_000 });
    await clock.advance(900);
    expect(await outcome).toEqual({ granted: false, conflict: true });
    await settle();
    expect(lastWords(link)).toMatch(/^release 0 18000000059\d\d\nlk_id\d+ request\n/);
  });

  it('[D4] executed after its time is asked again, but not for ever', async () => {
    const { link, acquire } = await setUp();
    const outcome = acquire().catch((error: unknown) => error);
    await settle();
    for (let turn = 0; turn < 6; turn++) {
      link.last.answer([['expired']]);
      await settle();
    }
    expect(await outcome).toMatchObject({ code: 'LOCK_UNAVAILABLE', storeCode: 'EXECUTED_LATE' });
  });

  it('[B-020] aborted before it was sent sends nothing; aborted while it is asked is taken back with a tombstone', async () => {
    const { link, acquire } = await setUp();
    const early = new AbortController();
    const first = acquire({ signal: early.signal }).catch((error: unknown) => error);
    early.abort();
    expect(await first).toMatchObject({ code: 'LOCK_ABORTED' });
    await settle();
    expect(link.calls).toHaveLength(1);
    const late = new AbortController();
    const second = acquire({ signal: late.signal }).catch((error: unknown) => error);
    await settle();
    const asked = link.last;
    late.abort();
    expect(await second).toMatchObject({ code: 'LOCK_ABORTED' });
    await settle();
    expect(lastWords(link)).toMatch(/^release 0 [1-9]\d+\nlk_id\d+ request\n/);
    asked.answer(['1800000000000001']);
    await settle();
  });

  it('[B-020] aborted in the moment it is granted is either handed out or taken back, never neither', async () => {
    for (let turns = 0; turns < 6; turns++) {
      const { link, acquire, session } = await setUp();
      const gone = new AbortController();
      const outcome = acquire({ signal: gone.signal }).then(
        (grant) => grant as DriverGrant,
        () => undefined,
      );
      await settle();
      link.last.answer(['1800000000000001']);
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      gone.abort();
      const grant = await outcome;
      await settle();
      const isTakenBack = link.calls.some(({ operations }) => operations[0]?.startsWith('release'));
      expect({ turns, isTakenBack, held: session.grants.size }).toEqual({
        turns,
        isTakenBack: grant === undefined,
        held: grant === undefined ? 0 : 1,
      });
    }
  });

  it('meets the server again after a reconnect before it asks: another clock may answer there', async () => {
    const { link, acquire } = await setUp();
    link.change('connecting');
    link.change('ready');
    void acquire();
    await settle();
    expect(lastWords(link)).toMatch(/^probe/);
    link.last.answer([PROBE]);
    await settle();
    expect(lastWords(link)).toMatch(/^acquire/);
  });
});

describe('a server once met', () => {
  it('[D6] is asked for its time again before 30 s are over', async () => {
    const { clock, link } = await setUp();
    const sent = link.calls.length;
    await clock.advance(25_000);
    expect(link.calls).toHaveLength(sent + 1);
    expect(lastWords(link)).toMatch(/^probe/);
  });

  it('[B-047] and found to evict keys when asked again is no more trusted: the next acquire is refused', async () => {
    const { clock, link, acquire } = await setUp();
    await clock.advance(25_000);
    link.last.answer([['probe', 'allkeys-lru', '1000000', 'master', '7.0.15', '']]);
    await settle();
    const refused = acquire().catch((error: unknown) => error);
    await settle();
    expect(lastWords(link)).toMatch(/^probe/);
    link.last.answer([['probe', 'allkeys-lru', '1000000', 'master', '7.0.15', '']]);
    expect(await refused).toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
  });
});
