import { FakeClock } from '../../core/fake-clock.js';
import { isLockError } from '../../core/index.js';
import { CallError, ScriptedTransport } from '../../../test/support/etcd-transport.js';
import { StoreRefusal, Unanswered, failureKind, storeError } from './call-failure.js';
import { METHODS } from './methods.js';
import { StoreCalls } from './store-calls.js';

const user = { name: 'u', password: 'p' };
let clock: FakeClock;
let transport: ScriptedTransport;
let states: string[];

function calls(members = 3, login?: typeof user): StoreCalls {
  clock = new FakeClock();
  transport = new ScriptedTransport(members);
  states = [];
  const random = { id: () => 'r', fraction: () => 0 };
  const host = { clock, random, storeState: (state: string) => void states.push(state) };
  return new StoreCalls(host, transport, login, 800);
}

const asked = (): number[] => transport.calls.map(({ member }) => member);
const away = (member: number): never => {
  throw new CallError(14, 'away', member);
};
/** Never answers before its own deadline. */
const silent = async (member: number, ms = 800): Promise<never> => {
  await new Promise<void>((resolve) => clock.after(ms, resolve));
  throw new CallError(4, 'deadline', member);
};
const settled = async (promise: Promise<unknown>): Promise<unknown> =>
  await promise.catch((error: unknown) => error);

describe('a call to the cluster', () => {
  it('goes on to the next member when one does not answer, and stays with the one that does', async () => {
    const store = calls();
    transport.onUnary = (member) => (member === 0 ? silent(member) : { ID: 1n, TTL: 5n });
    const first = store.call(METHODS.leaseGrant, {}, { budgetMs: 5_000 });
    await clock.advance(801);
    expect((await first).reply.ID).toBe(1n);
    await store.call(METHODS.leaseGrant, {}, { budgetMs: 5_000 });
    expect(asked()).toEqual([0, 1, 1]);
  });

  it('moves everybody on once when many calls fail on one member together', async () => {
    const store = calls();
    transport.onUnary = (member) => (member === 0 ? silent(member) : { ID: 1n, TTL: 5n });
    const many = Promise.all(
      Array.from({ length: 50 }, () => store.call(METHODS.leaseGrant, {}, { budgetMs: 5_000 })),
    );
    await clock.advance(801);
    await many;
    expect(asked().filter((member) => member === 2)).toEqual([]);
  });

  it('[D2] tells when the answered copy was sent, not the first', async () => {
    const store = calls();
    transport.onUnary = (member) => (member === 0 ? silent(member) : { ID: 1n, TTL: 5n });
    const startMs = clock.monoMs();
    const answer = store.call(METHODS.leaseGrant, {}, { budgetMs: 5_000 });
    await clock.advance(801);
    expect((await answer).sentAt.monoMs - startMs).toBe(800);
  });

  it('ends unanswered within its budget when no member answers, pausing between rounds, and tells the store is away', async () => {
    const store = calls();
    transport.onUnary = away;
    const error = settled(store.call(METHODS.leaseGrant, {}, { budgetMs: 3_000 }));
    await clock.advance(3_000);
    expect(await error).toBeInstanceOf(Unanswered);
    expect(asked().length).toBeGreaterThan(9);
    expect(asked().length).toBeLessThan(40);
    expect(states).toEqual(['unavailable']);
    transport.onUnary = () => ({ ID: 1n, TTL: 5n });
    await store.call(METHODS.leaseGrant, {}, { budgetMs: 1_000 });
    expect(states.at(-1)).toBe('available');
  });

  it('[D4] sends no copy later than 30 s after the first, whatever its budget', async () => {
    const store = calls(1);
    transport.onUnary = (member) => silent(member);
    const error = settled(store.call(METHODS.txn, {}, { budgetMs: 10 * 60_000 }));
    await clock.advance(31_000);
    expect(await error).toBeInstanceOf(Unanswered);
    const { length } = transport.calls;
    await clock.advance(60_000);
    expect(transport.calls).toHaveLength(length);
  });

  it('sends no further copy once nobody wants the answer, and does not call the store away for it', async () => {
    const store = calls(1);
    let wanted = true;
    transport.onUnary = (member) => silent(member);
    const error = settled(store.call(METHODS.txn, {}, { budgetMs: 9_000, wanted: () => wanted }));
    await clock.advance(400);
    wanted = false;
    await clock.advance(2_000);
    expect(await error).toBeInstanceOf(Unanswered);
    expect([transport.calls.length, states]).toEqual([1, []]);
  });

  it('[D-59] ends at once when etcd refuses, with what it said', async () => {
    const store = calls();
    transport.onUnary = () => {
      throw new CallError(7, 'etcdserver: permission denied', 0);
    };
    const error = await settled(store.call(METHODS.txn, {}, { budgetMs: 9_000 }));
    expect(error).toBeInstanceOf(StoreRefusal);
    const shown = storeError(error, 'testing', {});
    expect([shown.code, shown.retryable]).toEqual(['BACKEND_MISCONFIGURED', false]);
    expect(shown.message).toContain('permission denied');
    expect(shown.cause).toBeInstanceOf(CallError);
    expect(asked()).toEqual([0]);
  });

  it('logs in once for all, sends the token along, and logs in again when it is not known any more', async () => {
    const store = calls(1, user);
    let token = 't1';
    transport.onUnary = (_, path) => {
      if (path.endsWith('Authenticate')) return { token };
      const sent = transport.calls.at(-1)!.token;
      if (sent !== token) throw new CallError(16, 'etcdserver: invalid auth token', 0);
      return { ID: 1n, TTL: 5n };
    };
    const ask = async (): Promise<unknown> => await store.call(METHODS.leaseGrant, {}, { budgetMs: 9_000 });
    await Promise.all([ask(), ask()]);
    token = 't2';
    await ask();
    const logins = transport.calls.filter(({ path }) => path.endsWith('Authenticate'));
    expect([logins.length, store.token]).toEqual([2, 't2']);
  });

  it('a wrong password is a refusal, not a store that is away', async () => {
    const store = calls(1, user);
    transport.onUnary = () => {
      throw new CallError(3, 'etcdserver: authentication failed, invalid user ID or password', 0);
    };
    const error = await settled(store.call(METHODS.leaseGrant, {}, { budgetMs: 9_000 }));
    expect(isLockError(storeError(error, 'testing', {}), 'BACKEND_MISCONFIGURED')).toBe(true);
  });
});

describe('what a failed call means', () => {
  it.each<[number, string, string]>([
    [14, 'etcdserver: leader changed', 'unresolved'],
    [14, 'etcdserver: request timed out', 'unresolved'],
    [4, 'context deadline exceeded', 'unresolved'],
    [1, 'cancelled', 'unresolved'],
    [2, 'something new', 'unresolved'],
    [8, 'etcdserver: too many requests', 'unresolved'],
    [8, 'etcdserver: mvcc: database space exceeded', 'full'],
    [5, 'etcdserver: requested lease not found', 'lease-gone'],
    [16, 'etcdserver: invalid auth token', 'login'],
    [3, 'etcdserver: revision in header is old', 'login'],
    [7, 'etcdserver: permission denied', 'refused'],
    [3, 'etcdserver: user name is empty', 'refused'],
    [12, 'unknown method', 'refused'],
  ])('status %i, "%s": %s', (status, details, kind) => {
    expect(failureKind(new CallError(status, details, 0))).toBe(kind);
  });
});
