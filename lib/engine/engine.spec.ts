import { isLockError } from '../core/index.js';
import { TestEngine, tokenOf } from './engine.spec-support.js';
import { Engine, MAX_CALLS_PER_REQUEST, type Grant } from './index.js';

describe('Engine', () => {
  it('[K-062] a grant carries session, request, key, token, fence, span, time and metadata, and the token is made from them', () => {
    const made: Omit<Grant, 'token'>[] = [];
    const test = new TestEngine({ mintToken: (grant) => (made.push({ ...grant }), 'lk_x') });
    test.open('s');
    test.nowMs = 7;
    const metadata = { by: 'report' };
    const answer = test.apply({
      type: 'acquire',
      callId: 1,
      sessionId: 's',
      requestId: 'r',
      key: ['t', 'x'],
      waitUntilMs: 0,
      metadata,
    });
    const facts = {
      sessionId: 's',
      requestId: 'r',
      key: ['t', 'x'],
      fence: 1n,
      span: 1,
      grantedAtMs: 7,
      metadata,
    };
    expect(answer).toEqual({ type: 'granted', grant: { ...facts, token: 'lk_x' } });
    expect(made).toEqual([{ ...facts, token: '' }]);
  });

  it('[K-070] huge waits and leases neither wrap around nor end early', () => {
    const test = new TestEngine();
    test.open('a', 2_147_483_647);
    test.open('b', Number.MAX_SAFE_INTEGER);
    test.acquire('a', 'r', ['k']);
    expect(test.acquire('b', 'r1', ['k'], Infinity)).toEqual({ type: 'queued' });
    expect(test.acquire('b', 'r2', ['k'], Number.MAX_SAFE_INTEGER)).toEqual({ type: 'queued' });
    test.advance(2_147_483_646);
    expect(test.engine.stats()).toMatchObject({ sessions: 2, locks: 1, waiters: 2 });
    test.advance(1);
    expect(test.engine.stats()).toMatchObject({ sessions: 1, locks: 1, waiters: 1 });
  });

  it('[K-088] twelve contenders for one key all get it in turn, within their waits', () => {
    const test = new TestEngine();
    for (let i = 0; i < 12; i++) {
      test.open(`s${i}`);
      test.acquire(`s${i}`, 'r', ['hot'], 1_200);
    }
    for (let i = 0; i < 12; i++) {
      test.advance(90);
      expect(test.release(`s${i}`, `lk_${i + 1}`)).toBe('released');
    }
    const answers = test.effects.map((effect) => effect.type === 'call-answered' && effect.answer.type);
    expect(answers).toEqual(Array(11).fill('granted'));
  });

  it('[K-089] [WK-11] tells no grant to a call that has ended, whatever the order', () => {
    const test = new TestEngine();
    test.open('a');
    test.open('b');
    const token = tokenOf(test.acquire('a', 'r', ['k']));
    test.acquire('b', 'r', ['k'], 1_000);
    test.apply({ type: 'detach-call', callId: test.lastCall });
    test.release('a', token);
    test.advance(5_000);
    expect(test.effects).toEqual([]);
    expect(test.engine.stats()).toMatchObject({ locks: 0, waiters: 0, detached: 0, trees: 0 });
  });

  it('bounds the calls that wait for one request', () => {
    const test = new TestEngine();
    test.open('a');
    test.acquire('a', 'r', ['k']);
    for (let i = 0; i < MAX_CALLS_PER_REQUEST; i++) {
      expect(test.acquire('a', 'w', ['k'], 1_000)).toEqual({ type: 'queued' });
    }
    expect(test.acquire('a', 'w', ['k'], 1_000)).toEqual({
      type: 'refused',
      refusal: { why: 'limit', limit: 'calls-per-request' },
    });
    test.advance(1_000);
    expect(test.effects).toHaveLength(MAX_CALLS_PER_REQUEST);
  });

  it('takes an earlier time than before for the one before', () => {
    const test = new TestEngine();
    test.open('a', 1_000);
    test.nowMs = 900;
    test.apply({ type: 'wake' });
    test.nowMs = 100;
    expect(test.apply({ type: 'renew-session', sessionId: 'a' })).toMatchObject({ expiresAtMs: 1_900 });
  });

  it('shares one empty list of effects', () => {
    const test = new TestEngine();
    const [one, two] = [test.engine.apply({ type: 'wake' }, 0), test.engine.apply({ type: 'wake' }, 1)];
    expect(one.effects).toBe(two.effects);
    expect(Object.isFrozen(one.effects)).toBe(true);
  });

  it('names no instant to be woken at when nothing will change by time alone', () => {
    const test = new TestEngine();
    expect(test.engine.wakeAtMs).toBe(Infinity);
    test.apply({ type: 'hold-grants', untilMs: 500 });
    expect(test.engine.wakeAtMs).toBe(500);
    test.advance(500);
    expect(test.engine.wakeAtMs).toBe(Infinity);
  });

  it.each([
    ['maxWaiters', { maxWaiters: -1 }],
    ['maxSessions', { maxSessions: 1.5 }],
    ['rememberedRequests', { rememberedRequests: NaN }],
    ['rememberMs', { rememberMs: Infinity }],
    ['mintToken', { mintToken: undefined as unknown as () => string }],
    ['lastFence', { lastFence: 1 as unknown as bigint }],
  ])('refuses a wrong %s by name', (option, wrong) => {
    try {
      new Engine({ lastFence: 0n, reservedFence: 0n, mintToken: () => '', ...wrong });
    } catch (error) {
      expect(isLockError(error, 'INVALID_OPTION') && error.message).toMatch(new RegExp(`^${option} must be`));
      return;
    }
    throw new RangeError('it was accepted');
  });
});

describe('Engine memory', () => {
  it('[B-011] [I12] fifty thousand waits that ended leave no waiter, and a hundred thousand keys no trace', () => {
    const test = new TestEngine({ rememberedRequests: 10 });
    test.open('a');
    test.open('b');
    const token = tokenOf(test.acquire('a', 'r', ['k']));
    for (let i = 0; i < 20_000; i++) test.acquire('b', `w${i}`, ['k'], 1);
    test.advance(1);
    for (let i = 0; i < 30_000; i++) test.acquire('b', `x${i}`, ['k'], i % 3 === 0 ? 0 : 1);
    test.advance(1);
    expect(test.engine.stats()).toMatchObject({ locks: 1, waiters: 0, detached: 0, trees: 1, remembered: 0 });
    expect(test.effects).toHaveLength(40_000);
    test.release('a', token);
    for (let i = 0; i < 100_000; i++) {
      const key = i % 2 === 0 ? ([`t${i}`] as const) : ([`t${i}`, 'x'] as const);
      test.release('a', tokenOf(test.acquire('a', `k${i}`, key)));
    }
    expect(test.engine.stats()).toMatchObject({ locks: 0, waiters: 0, trees: 0, remembered: 20 });
  });

  it('[B-034] [K-054] [I12] ten thousand sessions that came and went leave nothing but a bounded memory of their ends', () => {
    const test = new TestEngine({ rememberedSessions: 100 });
    for (let i = 0; i < 10_000; i++) {
      const id = `s${i}`;
      test.open(id, 500);
      const token = tokenOf(test.acquire(id, 'r', ['k', String(i)]));
      test.acquire(id, 'w', ['k', String(i)], Infinity);
      if (i % 3 === 0) test.release(id, token);
      if (i % 2 === 0) test.apply({ type: 'close-session', sessionId: id, reason: 'client_close' });
      if (i % 100 === 0) test.advance(500);
    }
    test.advance(500);
    expect(test.engine.stats()).toEqual({
      sessions: 0,
      locks: 0,
      waiters: 0,
      detached: 0,
      kept: 0,
      trees: 0,
      remembered: 0,
      endedSessions: 100,
    });
    expect(test.engine.wakeAtMs).toBe(Infinity);
  });

  it('[B-034] [K-048] half a million renewals leave no more than one session had', () => {
    const test = new TestEngine();
    test.open('a', 1_000);
    for (let i = 0; i < 500_000; i++) {
      test.nowMs += 1;
      test.apply({ type: 'renew-session', sessionId: 'a' });
    }
    expect(test.engine.stats()).toMatchObject({ sessions: 1, remembered: 0, endedSessions: 0 });
    expect(test.engine.wakeAtMs).toBe(501_000);
  });

  it('a key that stays taken after its session ended holds on to nothing the session asked for', () => {
    const test = new TestEngine();
    test.open('a');
    const token = tokenOf(test.acquire('a', 'r', ['k']));
    test.apply({ type: 'release', sessionId: 'a', token, releaseId: 'x', keepMs: 1_000 });
    const { session } = test.engine.state.table.tree('k')?.writer as unknown as {
      session: { requests: { remembered: number } };
    };
    expect(session.requests.remembered).toBe(2);
    test.apply({ type: 'close-session', sessionId: 'a', reason: 'client_close' });
    expect(session.requests.remembered).toBe(0);
    expect(test.engine.stats()).toMatchObject({ kept: 1, sessions: 0 });
  });
});

describe('Engine.inspect', () => {
  it('shows holders and waiters of a key and of what conflicts with it, ids cut short', () => {
    const test = new TestEngine();
    test.apply({
      type: 'open-session',
      sessionId: 'sess_0123456789abcdef',
      leaseMs: 5_000,
      client: 'worker-1',
    });
    test.open('b');
    test.acquire('sess_0123456789abcdef', 'r', ['t', 'x']);
    test.acquire('b', 'r1', ['t', 'y']);
    test.nowMs = 100;
    test.acquire('b', 'r2', ['t', 'x'], 500);
    test.acquire('b', 'r3', ['t'], 500);
    const report = test.engine.inspect(['t', 'x'], 150);
    expect(report).toEqual({
      key: ['t', 'x'],
      locked: true,
      holders: [
        {
          key: ['t', 'x'],
          fence: 1n,
          session: 'sess_0123456...',
          client: 'worker-1',
          heldMs: 150,
          leaseLeftMs: 4_850,
        },
      ],
      waiters: [
        { key: ['t', 'x'], session: 'b', waitedMs: 50 },
        { key: ['t'], session: 'b', waitedMs: 50 },
      ],
      waiterCount: 2,
    });
    expect(test.engine.inspect(['t'], 150).holders.map((holder) => holder.fence)).toEqual([1n, 2n]);
    expect(test.engine.inspect(['t', 'z'], 150)).toMatchObject({
      locked: false,
      holders: [],
      waiterCount: 1,
    });
    expect(test.engine.inspect(['u'], 150)).toEqual({
      key: ['u'],
      locked: false,
      holders: [],
      waiters: [],
      waiterCount: 0,
    });
    expect([test.engine.isLocked(['t', 'x']), test.engine.isLocked(['t', 'z'])]).toEqual([true, false]);
  });

  it('leaves out a holder whose lease is over though no timer has run', () => {
    const test = new TestEngine();
    test.open('a', 1_000);
    test.acquire('a', 'r', ['k']);
    expect(test.engine.inspect(['k'], 999).locked).toBe(true);
    expect(test.engine.inspect(['k'], 1_000)).toMatchObject({ locked: false, holders: [] });
  });

  it('[D11] names a hundred waiters and counts all', () => {
    const test = new TestEngine();
    test.open('a');
    test.acquire('a', 'r', ['t', 'x']);
    for (let i = 0; i < 150; i++) test.acquire('a', `w${i}`, ['t', 'x'], 1_000);
    for (let i = 0; i < 150; i++) test.acquire('a', `v${i}`, ['t'], 1_000);
    for (const key of [['t'], ['t', 'x']] as const) {
      const report = test.engine.inspect(key, 0);
      expect([report.waiters.length, report.waiterCount]).toEqual([100, 300]);
      expect(report.waiters.every((waiter) => waiter.key.length === 2)).toBe(true);
    }
  });
});
