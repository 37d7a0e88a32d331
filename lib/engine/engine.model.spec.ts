import fc from 'fast-check';
import { keysConflict, type LockKey } from '../core/index.js';
import { scaled, scaleNote } from '../../test/support/scale.js';
import { TestEngine } from './engine.spec-support.js';
import type { CallId, Effect, EngineCommand } from './index.js';
import type { Request } from './request.js';
import { chosenSeed } from '../../test/support/seed.js';

/** KLOCK_SEED repeats a run. */
const runs = scaled(2_000, 10);
const seed = chosenSeed();

const key = fc.constantFrom<LockKey>(['t'], ['t', 'x'], ['t', 'y'], ['u', 'x']);
const session = fc.constantFrom('a', 'b', 'c');
const request = fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8');
const ms = fc.nat(120);

/** One thing that clients, the network or time can do. */
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('acquire' as const), session, request, key, ms }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('release' as const),
      n: fc.nat(),
      keep: fc.constantFrom(0, 0, 50),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('detach' as const), n: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), session, request }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('time' as const), ms }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('renew' as const), session }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const), session }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hold' as const), ms }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('revoke' as const), key, n: fc.nat(3), below: fc.boolean() }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Plays steps and keeps the books that the invariants need. */
class Run {
  readonly test = new TestEngine({ reservedFence: 0n, fenceBlock: 16n, rememberedRequests: 4 });
  private readonly open = new Map<CallId, string>();
  private lastFence = 0n;
  private readonly seen = new Set<Request>();
  /** For each entry in line: who was in line when it (re)joined. */
  private joined = new Map<Request, Set<Request>>();
  private generation = 0;
  private readonly ids = new Map<string, string>();

  constructor() {
    for (const name of ['a', 'b', 'c']) this.reopen(name);
  }

  perform(each: Step): void {
    switch (each.do) {
      case 'acquire':
        this.acquire(each.session, each.request, each.key, each.ms);
        break;
      case 'release': {
        const held = [...this.test.engine.state.tokens.values()];
        const one = held[each.n % Math.max(1, held.length)];
        if (one?.grant === undefined) return;
        const { sessionId, token } = one.grant;
        this.apply({ type: 'release', sessionId, token, releaseId: token, keepMs: each.keep });
        break;
      }
      case 'detach': {
        const callId = [...this.open.keys()][each.n % Math.max(1, this.open.size)];
        if (callId === undefined) return;
        this.open.delete(callId);
        this.apply({ type: 'detach-call', callId, keepMs: 100 });
        break;
      }
      case 'cancel':
        this.apply({ type: 'cancel-request', sessionId: this.id(each.session), requestId: each.request });
        break;
      case 'time':
        this.test.nowMs += each.ms;
        this.apply({ type: 'wake' });
        break;
      case 'renew':
        if (this.apply({ type: 'renew-session', sessionId: this.id(each.session) }) === 'refused')
          this.reopen(each.session);
        break;
      case 'close':
        this.apply({ type: 'close-session', sessionId: this.id(each.session), reason: 'client_close' });
        this.reopen(each.session);
        break;
      case 'revoke':
        this.revoke(each.key, each.n, each.below);
        break;
      case 'hold':
        this.apply({ type: 'hold-grants', untilMs: this.test.nowMs + each.ms });
        break;
    }
  }

  /** Lets everything end: every call must then have been answered, and nothing be left. */
  finish(): void {
    this.test.nowMs += 10_000;
    this.apply({ type: 'wake' });
    expect([...this.open]).toEqual([]);
    expect(this.test.engine.state.calls.size).toBe(0);
    expect(this.test.engine.stats()).toMatchObject({
      sessions: 0,
      locks: 0,
      waiters: 0,
      detached: 0,
      kept: 0,
      trees: 0,
      remembered: 0,
    });
    expect(this.test.engine.wakeAtMs).toBe(Infinity);
  }

  private acquire(name: string, requestId: string, wanted: LockKey, waitMs: number): void {
    const answer = this.test.acquire(this.id(name), requestId, wanted, waitMs);
    if (answer.type === 'queued') this.open.set(this.test.lastCall, `${this.id(name)}/${requestId}`);
    if (answer.type === 'granted') expect(answer.grant).toMatchObject({ requestId, key: wanted });
    this.settle();
  }

  /** Nothing of what was named is held any more by whom it was held; told before anybody else is granted. */
  private revoke(wanted: LockKey, n: number, below: boolean): void {
    const { state } = this.test.engine;
    const known = [...state.tokens.values()].map(({ grant }) => grant?.fence ?? 0n);
    const fence = n === 0 ? known[0] : undefined;
    const answer = this.test.apply({
      type: 'revoke',
      key: wanted,
      below,
      ...(fence !== undefined && { fence }),
    });
    const told = this.test.effects.findLastIndex(({ type }) => type === 'grant-revoked');
    const granted = this.test.effects.findIndex(
      (effect) => effect.type === 'call-answered' && effect.answer.type === 'granted',
    );
    if (told !== -1 && granted !== -1) expect(granted).toBeGreaterThan(told);
    const left = [...state.tokens.values()].map(({ grant }) => grant?.fence ?? 0n);
    for (const was of answer.ended) expect(left).not.toContain(was.fence);
    this.settle();
  }

  private apply(command: EngineCommand): string | undefined {
    const answer = this.test.apply(command);
    this.settle();
    return answer?.type;
  }

  private settle(): void {
    const effects = this.test.effects.splice(0);
    for (const effect of effects) this.hear(effect);
    this.check();
  }

  /** Every call is answered once, and fences are reserved as a host does, a step later. */
  private hear(effect: Effect): void {
    if (effect.type === 'reserve-fences') {
      this.test.apply({ type: 'fences-reserved', upTo: effect.upTo });
      this.test.effects.splice(0).forEach((next) => this.hear(next));
    }
    if (effect.type !== 'call-answered') return;
    const owner = this.open.get(effect.callId);
    expect([effect.callId, owner]).not.toEqual([effect.callId, undefined]);
    this.open.delete(effect.callId);
    if (effect.answer.type !== 'granted') return;
    const { sessionId, requestId } = effect.answer.grant;
    expect(`${sessionId}/${requestId}`).toBe(owner);
  }

  private check(): void {
    const { state } = this.test.engine;
    const held: Request[] = [];
    const waiting: Request[] = [];
    for (const tree of state.table.allTrees()) {
      if (tree.writer !== undefined) held.push(tree.writer as Request);
      for (let at = tree.head; at !== undefined; at = at.behind) waiting.push(at as Request);
      for (const child of tree.children()) {
        if (child.holder !== undefined) held.push(child.holder as Request);
        for (let at = child.head; at !== undefined; at = at.behind) waiting.push(at as Request);
      }
    }
    this.checkExclusion(held);
    this.checkLiveness([...held.filter((each) => !each.kept), ...waiting]);
    this.checkFences(held);
    if (state.table.open) this.checkReasons(held, waiting);
    this.checkOvertaking(held, waiting);
  }

  /** I2. */
  private checkExclusion(held: readonly Request[]): void {
    const bad = held.filter((one) => held.some((other) => other !== one && keysConflict(one.key, other.key)));
    expect(bad.map(nameOf)).toEqual([]);
  }

  /** I6. */
  private checkLiveness(entries: readonly Request[]): void {
    const { sessions } = this.test.engine.state;
    const dead = entries.filter(
      (each) => sessions.get(each.session.id) !== each.session || each.session.dueMs <= this.test.nowMs,
    );
    const over = entries.filter((each) => each.stage.endsWith('-queue') && each.dueMs <= this.test.nowMs);
    expect([...dead, ...over].map(nameOf)).toEqual([]);
  }

  /** I3: a grant seen for the first time has a larger fence than every one before. */
  private checkFences(held: readonly Request[]): void {
    const known = this.lastFence;
    for (const each of held) {
      const fence = each.grant?.fence ?? 0n;
      const isNew = !this.seen.has(each);
      if (isNew && fence <= known) throw new RangeError(`${nameOf(each)} got fence ${fence} after ${known}`);
      this.seen.add(each);
      if (fence > this.lastFence) this.lastFence = fence;
    }
    expect(new Set(held.map((each) => each.grant?.fence)).size).toBe(held.length);
  }

  /** Nobody waits but for a holder or an earlier waiter that conflicts. */
  private checkReasons(held: readonly Request[], waiting: readonly Request[]): void {
    const idle = waiting.filter((each) => {
      const before = [...held, ...waiting.filter((other) => other.arrival < each.arrival)];
      return !before.some((other) => keysConflict(other.key, each.key));
    });
    expect(idle.map(nameOf)).toEqual([]);
  }

  /** I11: who joins the line after a waiter, with a later number, is not granted what conflicts before it. */
  private checkOvertaking(held: readonly Request[], waiting: readonly Request[]): void {
    const inLine = new Set([...waiting, ...held]);
    this.joined = new Map(waiting.map((waiter) => [waiter, this.joined.get(waiter) ?? inLine]));
    for (const [waiter, known] of this.joined) {
      const overtook = held.filter(
        (holder) =>
          !known.has(holder) &&
          keysConflict(holder.key, waiter.key) &&
          (holder.arrival === 0 || holder.arrival > waiter.arrival),
      );
      expect(overtook.map(nameOf)).toEqual([]);
    }
  }

  private id(name: string): string {
    return this.ids.get(name) ?? name;
  }

  private reopen(name: string): void {
    this.ids.set(name, `${name}${++this.generation}`);
    this.apply({ type: 'open-session', sessionId: this.id(name), leaseMs: 300 });
  }
}

function nameOf(request: Request): string {
  return `${request.sessionId}/${request.requestId} for ${request.key.join('/')}`;
}

it(`[I2] [I3] [I6] [I8] [I11] [I12] keeps its promises under random requests, breaks, holds and time, and is empty at the end${scaleNote(10)} (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      const run = new Run();
      for (const each of steps) run.perform(each);
      run.finish();
    }),
    { seed, numRuns: runs },
  );
});
