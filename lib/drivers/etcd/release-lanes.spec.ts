import { FakeClock, settle } from '../../core/index.js';
import { CallError } from '../../../test/support/etcd-transport.js';
import { RELEASE_LANES, RELEASE_WAITS_MS, RELEASES_A_CALL } from './bounds.js';
import { StoreRefusal, Unanswered } from './call-failure.js';
import { KeySpace } from './key-space.js';
import type { Method } from './methods.js';
import type { TxnRequest } from './messages.js';
import { ReleaseLanes, type Returned } from './release-lanes.js';
import type { Answer, CallOptions } from './store-calls.js';
import { Transactions } from './transactions.js';

interface Call {
  readonly request: TxnRequest;
  readonly releases: number;
  /** What each release found, in order. */
  answer(...freed: boolean[]): void;
  fail(error: unknown): void;
}

const clock = new FakeClock();
const transactions = new Transactions(new KeySpace('klock/'));
let calls: Call[];
let lanes: ReleaseLanes;

function call<Req, Res>(
  _method: Method<Req, Res>,
  asked: Partial<Req>,
  { sending }: CallOptions,
): Promise<Answer<Res>> {
  sending?.();
  const request = asked as TxnRequest;
  const alone = request.compare !== undefined;
  return new Promise((resolve, reject) => {
    calls.push({
      request,
      releases: alone ? 1 : (request.success?.length ?? 0),
      answer: (...freed) => {
        const responses = alone
          ? []
          : freed.map((succeeded) => ({ response_txn: { succeeded, responses: [] } }));
        resolve({ reply: { succeeded: alone ? freed[0] : true, responses } as Res, sentAt: clock.now() });
      },
      fail: reject,
    });
  });
}

let copies = 0;
let revision = 1n;
function give(): Promise<boolean> {
  const seat = transactions.seat(['a', `${revision}`], `r${revision}`, 7n);
  const grant: Returned = { seat, revision: revision++ };
  return lanes.release(grant, () => copies++);
}
const many = (count: number): Promise<boolean>[] => Array.from({ length: count }, give);
/** Fills every lane with a call of its own. */
async function fillLanes(): Promise<Promise<boolean>[]> {
  const each: Promise<boolean>[] = [];
  for (let lane = 0; lane < RELEASE_LANES; lane++) {
    each.push(give());
    await settle();
  }
  return each;
}

beforeEach(() => {
  calls = [];
  copies = 0;
  lanes = new ReleaseLanes(clock, { call }, transactions);
});

describe('releases on their way to etcd', () => {
  it('one goes at once, by itself; those of one turn share a call, and each hears what it found', async () => {
    const alone = give();
    await settle();
    expect(calls.map(({ releases }) => releases)).toEqual([1]);
    const three = many(3);
    await settle();
    expect(calls.map(({ releases }) => releases)).toEqual([1, 3]);
    calls[1]?.answer(true, false, true);
    calls[0]?.answer(false);
    expect(await Promise.all([alone, ...three])).toEqual([false, true, false, true]);
    expect(copies).toBe(4);
  });

  it('what comes while every lane is under way shares the call that goes when one is answered', async () => {
    const first = await fillLanes();
    const later = many(5);
    await settle();
    expect(calls).toHaveLength(RELEASE_LANES);
    calls[0]?.answer(true);
    await settle();
    expect(calls.slice(RELEASE_LANES).map(({ releases }) => releases)).toEqual([5]);
    for (const each of calls.slice(1)) each.answer(...Array.from({ length: each.releases }, () => true));
    expect(await Promise.all([...first, ...later])).not.toContain(false);
  });

  it('waits for no slow call longer than a bound', async () => {
    for (const each of await fillLanes()) void each;
    void give();
    await clock.advance(RELEASE_WAITS_MS - 1);
    expect(calls).toHaveLength(RELEASE_LANES);
    await clock.advance(1);
    expect(calls).toHaveLength(RELEASE_LANES + 1);
  });

  it('no call carries more than etcd takes', async () => {
    for (const each of many(RELEASES_A_CALL * 2 + 1)) void each;
    await settle();
    expect(calls.map(({ releases }) => releases)).toEqual([RELEASES_A_CALL, RELEASES_A_CALL, 1]);
  });

  it('a refused call is made again for each alone, so that only what is refused fails', async () => {
    const [bad, good] = many(2);
    await settle();
    const refusal = new StoreRefusal('refused', new CallError(7, 'no', 0));
    calls[0]?.fail(refusal);
    await settle();
    expect(calls.slice(1).map(({ releases }) => releases)).toEqual([1, 1]);
    calls[1]?.fail(refusal);
    calls[2]?.answer(true);
    await expect(bad).rejects.toBe(refusal);
    expect(await good).toBe(true);
  });

  it('nobody answered: all of the call hear of it, and the lane is free again', async () => {
    const [one, two] = many(2);
    await settle();
    const silence = new Unanswered(undefined);
    calls[0]?.fail(silence);
    await expect(one).rejects.toBe(silence);
    await expect(two).rejects.toBe(silence);
    for (const each of await fillLanes()) void each;
    expect(calls).toHaveLength(1 + RELEASE_LANES);
  });
});
