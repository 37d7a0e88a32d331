import { FakeClock } from '../core/fake-clock.js';
import type { Acquire, LateAnswer } from '../engine/index.js';
import { EngineHost } from './engine-host.js';

describe('the engine at work', () => {
  let clock: FakeClock;
  let host: EngineHost;
  let told: string[];
  let reserve: (upTo: bigint) => Promise<void>;
  let failed: number;

  beforeEach(() => {
    clock = new FakeClock();
    told = [];
    failed = 0;
    reserve = () => Promise.resolve();
    let tokens = 0;
    const options = { lastFence: 0n, reservedFence: 4n, fenceBlock: 4n, mintToken: () => `lk_${++tokens}` };
    host = new EngineHost(options, clock, {
      onSessionEnded: (sessionId, reason) => told.push(`${sessionId} ${reason}`),
      onRevoked: ({ sessionId, fence }) => told.push(`${sessionId} revoked ${fence}`),
      reserveFences: (upTo) => reserve(upTo),
      onReserveFailed: () => (failed += 1),
    });
    for (const sessionId of ['a', 'b']) host.apply({ type: 'open-session', sessionId, leaseMs: 60_000 });
  });
  afterEach(() => host.stop());

  let requests = 0;
  const ask = (sessionId: string, change: Partial<Omit<Acquire, 'callId'>> = {}): Promise<LateAnswer> =>
    new Promise((resolve) => {
      const requestId = `r${++requests}`;
      const callId = host.newCallId();
      host.ask(
        { type: 'acquire', callId, sessionId, requestId, key: ['k'], waitUntilMs: Infinity, ...change },
        resolve,
      );
    });
  const use = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) {
      const answer = await ask('a');
      if (answer.type !== 'granted') throw new Error(answer.refusal.why);
      host.apply({
        type: 'release',
        sessionId: 'a',
        token: answer.grant.token,
        releaseId: answer.grant.token,
      });
    }
  };

  it('fences are reserved ahead while grants go on', async () => {
    const asked: bigint[] = [];
    reserve = (upTo) => {
      asked.push(upTo);
      return Promise.resolve();
    };
    await use(12);
    expect(asked).toEqual([8n, 12n, 16n]);
  });

  it('with no fence made durable nothing is granted; a write that succeeds later lets the waiter in', async () => {
    let broken = true;
    reserve = () => (broken ? Promise.reject(new Error('disk full')) : Promise.resolve());
    await use(4);
    const waiting = ask('a');
    await clock.advance(2_500);
    expect(failed).toBe(3);
    expect(host.stats()).toMatchObject({ locks: 0, waiters: 1 });
    expect(await ask('b', { key: ['free'], waitUntilMs: 0 })).toMatchObject({ refusal: { why: 'no-fence' } });
    broken = false;
    await clock.advance(1_000);
    expect(await waiting).toMatchObject({ type: 'granted', grant: { fence: 5n } });
  });

  it("a session's end is told before what it frees is granted", async () => {
    await ask('a');
    host.onSessionEnd('a', () => told.push('listener'));
    void ask('b').then(({ type }) => told.push(type));
    await clock.advance(30_000);
    host.apply({ type: 'renew-session', sessionId: 'b' });
    await clock.advance(30_000);
    expect(told).toEqual(['a lease_expired', 'listener', 'granted']);
    expect([...host.sessions]).toEqual(['b']);
  });

  it('commands given from inside an effect come after the effects already there', async () => {
    await ask('a');
    const order: string[] = [];
    host.onSessionEnd('a', () => {
      order.push('a');
      host.apply({ type: 'close-session', sessionId: 'b', reason: 'client_close' });
      order.push('after b');
    });
    host.onSessionEnd('b', () => order.push('b'));
    void ask('b').then((answer) => order.push(answer.type));
    host.apply({ type: 'close-session', sessionId: 'a', reason: 'client_close' });
    await clock.advance(0);
    expect(order).toEqual(['a', 'after b', 'b', 'granted']);
    expect(host.stats()).toMatchObject({ locks: 0, sessions: 0 });
  });

  it('a listener that was disposed hears nothing', () => {
    host.onSessionEnd('a', () => told.push('no'))[Symbol.dispose]();
    host.apply({ type: 'close-session', sessionId: 'a', reason: 'client_close' });
    expect(told).toEqual(['a client_close']);
  });

  it('one timer serves every lease and wait, and none is left after the stop', async () => {
    await ask('a');
    for (let wait = 1; wait <= 50; wait++) void ask('b', { waitUntilMs: clock.monoMs() + wait * 10 });
    expect(clock.timers).toBe(1);
    await clock.advance(500);
    expect(host.stats().waiters).toBe(0);
    host.stop();
    expect(clock.timers).toBe(0);
  });

  it('a detached call gets no answer', async () => {
    await ask('a');
    const answers: LateAnswer[] = [];
    const command = {
      type: 'acquire',
      sessionId: 'b',
      requestId: 'x',
      key: ['k'],
      waitUntilMs: Infinity,
    } as const;
    host.ask({ ...command, callId: 99 }, (answer) => answers.push(answer));
    host.detach(99);
    host.detach(99);
    host.apply({ type: 'close-session', sessionId: 'a', reason: 'client_close' });
    await clock.advance(2_000);
    expect([answers, host.stats().locks]).toEqual([[], 0]);
  });

  it('the gate is asked before every command, and what it says is applied first', async () => {
    host.setGate(() => ({ type: 'hold-grants', untilMs: Infinity }));
    expect(await ask('a', { waitUntilMs: 0 })).toMatchObject({ refusal: { why: 'recovering' } });
    host.setGate(() => ({ type: 'hold-grants', untilMs: 0 }));
    expect(await ask('a', { waitUntilMs: 0 })).toMatchObject({ type: 'granted' });
  });

  it('commands of one turn share one look at clock and gate, and their effects come in order', async () => {
    const held = await ask('a');
    void ask('b').then((answer) => told.push(`b ${answer.type}`));
    let [readings, looks] = [0, 0];
    const monoMs = clock.monoMs.bind(clock);
    clock.monoMs = () => (readings++, monoMs());
    host.setGate(() => void looks++);
    host.turn(() => {
      expect(host.nowMs).toBe(monoMs());
      if (held.type === 'granted') {
        const { token } = held.grant;
        host.apply({ type: 'release', sessionId: 'a', token, releaseId: token });
      }
      for (let times = 0; times < 3; times++) host.apply({ type: 'renew-session', sessionId: 'a' });
    });
    expect([readings <= 2, looks]).toEqual([true, 1]);
    await clock.advance(0);
    expect(told).toEqual(['b granted']);
    await clock.advance(10);
    expect(host.nowMs).toBe(monoMs());
  });

  it('a turn whose work throws is over, and the next command reads the clock again', async () => {
    const broken = (): never => {
      throw new Error('broken');
    };
    expect(() => host.turn(broken)).toThrow('broken');
    await clock.advance(61_000);
    expect([host.nowMs, told]).toEqual([clock.monoMs(), ['a lease_expired', 'b lease_expired']]);
  });
});
