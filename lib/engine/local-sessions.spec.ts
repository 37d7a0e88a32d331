import type { Acquire, AcquireAnswer, Effect, Grant, LocalCall } from './commands.js';
import { Engine } from './engine.js';

let engine: Engine;
let calls: LocalCall[];

beforeEach(() => {
  calls = [];
  engine = new Engine({
    lastFence: 0n,
    reservedFence: 1_000n,
    mintToken: () => {
      throw new Error('a local grant needs no token');
    },
  });
  for (const sessionId of ['a', 'b'])
    engine.apply({ type: 'open-session', sessionId, leaseMs: 100, local: true }, 0);
});

/** Never called by the engine itself: it names the call, and the host tells it. */
function newCall(): LocalCall {
  const call: LocalCall = {
    place: undefined,
    answered: () => {
      throw new Error('the engine does not answer by itself');
    },
  };
  calls.push(call);
  return call;
}

function ask(sessionId: string, change: Partial<Acquire> = {}): AcquireAnswer {
  const command: Acquire = {
    type: 'acquire',
    callId: newCall(),
    sessionId,
    requestId: '',
    key: ['k'],
    waitUntilMs: 50,
    ...change,
  };
  return engine.apply(command, 0).answer;
}

/** Effects in their order; calls as they were numbered here. */
function told(effects: readonly Effect[]): string[] {
  return effects.map((effect) => {
    if (effect.type === 'session-ended') return `session ${effect.sessionId} ended`;
    if (effect.type !== 'call-answered') return effect.type;
    const { callId, answer } = effect;
    const call = calls.findIndex((each) => each === callId);
    return `call ${call}: ${answer.type === 'refused' ? answer.refusal.why : answer.type}`;
  });
}

function granted(answer: AcquireAnswer): Grant {
  if (answer.type !== 'granted') throw new Error(`not granted: ${answer.type}`);
  return answer.grant;
}

const clean = { locks: 0, waiters: 0, detached: 0, kept: 0, trees: 0, remembered: 0 };

describe('a local session', () => {
  it('a grant is given back by itself, once, and the next in line gets it', () => {
    const grant = granted(ask('a'));
    expect(ask('b')).toEqual({ type: 'queued' });
    const released = engine.apply({ type: 'release-grant', grant }, 1);
    expect(released.answer).toEqual({ type: 'released' });
    expect(released.effects).toMatchObject([
      { type: 'call-answered', answer: { type: 'granted', grant: { sessionId: 'b', fence: 2n } } },
    ]);
    expect(told(released.effects)).toEqual(['call 1: granted']);
    expect(engine.apply({ type: 'release-grant', grant }, 1).answer).toEqual({ type: 'not-held' });
    expect(engine.stats()).toMatchObject({ ...clean, locks: 1, trees: 1 });
  });

  it('[I12] requests of one name are many requests, and leave nothing behind', () => {
    const grants = ['x', 'y', 'z'].map((key) => granted(ask('a', { key: [key] })));
    expect(new Set(grants.map(({ fence }) => fence)).size).toBe(3);
    expect(engine.stats().locks).toBe(3);
    for (const grant of grants) engine.apply({ type: 'release-grant', grant }, 1);
    expect(engine.stats()).toMatchObject(clean);
  });

  it('a call that waits is taken back, and whoever stood behind it goes on', () => {
    const grant = granted(ask('a', { key: ['k', 'x'] }));
    ask('b', { key: ['k'] });
    ask('b', { key: ['k', 'y'] });
    const { answer, effects } = engine.apply({ type: 'cancel-call', callId: calls[1]! }, 1);
    expect(answer).toEqual({ type: 'cancelled' });
    expect(told(effects)).toEqual(['call 2: granted']);
    expect(engine.apply({ type: 'cancel-call', callId: calls[1]! }, 1).answer).toEqual({
      type: 'unknown-request',
    });
    engine.apply({ type: 'release-grant', grant }, 1);
    expect(engine.stats()).toMatchObject({ ...clean, locks: 1, trees: 1 });
  });

  it('tells which of its calls wait, the longest waiting first', () => {
    const grant = granted(ask('a'));
    ask('a');
    ask('b');
    ask('a');
    expect(engine.waitingCalls('a').map((call) => calls.indexOf(call))).toEqual([1, 3]);
    engine.apply({ type: 'release-grant', grant }, 1);
    expect(engine.waitingCalls('a').map((call) => calls.indexOf(call))).toEqual([3]);
    engine.apply({ type: 'cancel-call', callId: calls[3]! }, 1);
    expect([engine.waitingCalls('a'), engine.waitingCalls('nobody')]).toEqual([[], []]);
  });

  it('[I6] its end frees what it holds and refuses what it waits for; its grants are dead', () => {
    const grant = granted(ask('a'));
    ask('b', { waitUntilMs: Infinity });
    ask('a', { waitUntilMs: Infinity });
    const { effects } = engine.apply({ type: 'close-session', sessionId: 'a', reason: 'client_close' }, 1);
    expect(told(effects)).toEqual(['call 2: session-gone', 'session a ended', 'call 1: granted']);
    expect(engine.apply({ type: 'release-grant', grant }, 1).answer).toEqual({ type: 'not-held' });
    expect(engine.stats()).toMatchObject({ sessions: 1, locks: 1, waiters: 0 });
  });

  it('a key that stays taken is nobody’s to give back', () => {
    const grant = granted(ask('a'));
    engine.apply({ type: 'release-grant', grant, keepMs: 20 }, 1);
    expect(engine.apply({ type: 'release-grant', grant }, 2).answer).toEqual({ type: 'not-held' });
    expect(engine.stats()).toMatchObject({ ...clean, kept: 1, trees: 1 });
    engine.apply({ type: 'wake' }, 21);
    expect(engine.stats()).toMatchObject(clean);
  });

  it('a grant of an ordinary session is not given back without its token', () => {
    const plain = new Engine({ lastFence: 0n, reservedFence: 9n, mintToken: () => 't' });
    plain.apply({ type: 'open-session', sessionId: 's', leaseMs: 100 }, 0);
    const { answer } = plain.apply(
      { type: 'acquire', callId: 1, sessionId: 's', requestId: 'r', key: ['k'], waitUntilMs: 0 },
      0,
    );
    expect(plain.apply({ type: 'release-grant', grant: granted(answer) }, 0).answer).toEqual({
      type: 'not-held',
    });
    expect(plain.stats().locks).toBe(1);
  });
});
