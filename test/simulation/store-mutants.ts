import type { LockKey } from '../../lib/core/index.js';
import { AgedMemory } from '../../lib/engine/aged-memory.js';
import { DeadlineHeap } from '../../lib/engine/deadline-heap.js';
import { EngineState } from '../../lib/engine/engine-state.js';
import { Engine, type EngineCommand, type Refusal } from '../../lib/engine/index.js';
import { LockTable } from '../../lib/engine/lock-table.js';
import { Session } from '../../lib/engine/session.js';
import { EngineHost } from '../../lib/server/engine-host.js';
import { RestartGuard } from '../../lib/server/restart-guard.js';
import type { Fault, Plan } from '../../lib/testing/simulation/index.js';
import { KlockSystem } from './klock-system.js';
import { plain, sixCalls, type Mutant, type Patch } from './mutant.js';

/** Tells the engine another request id for each copy: what comes twice is done twice. */
function noIdempotence(patch: Patch): void {
  patch(Engine.prototype, 'apply', (apply, [command, nowMs]) => {
    const told = command as EngineCommand;
    if (told.type !== 'acquire') return apply(told, nowMs);
    return apply({ ...told, requestId: `${told.requestId}#${Number(told.callId)}` }, nowMs);
  });
}

function releaseByKey(patch: Patch): void {
  const keys = new Map<string, string>();
  patch<{ engine: { state: EngineState } }>(EngineHost.prototype, 'apply', (apply, [command], { engine }) => {
    const { tokens } = engine.state;
    const told = command as EngineCommand;
    if (told.type !== 'release') return apply(told);
    for (const [token, { key }] of tokens) keys.set(token, key.join('/'));
    for (const [token, { key, session }] of tokens) {
      if (key.join('/') === keys.get(told.token)) return apply({ ...told, token, sessionId: session.id });
    }
    return apply(told);
  });
}

/** The first in line is not seen by who only asks. */
function barging(patch: Patch): void {
  patch<{ nodes: Map<string, object> }>(
    LockTable.prototype,
    'tryAcquire',
    (tryAcquire, [entry], { nodes }) => {
      const node = nodes.get((entry as { l1: string }).l1);
      const head = node && Object.getOwnPropertyDescriptor(node, 'head');
      if (node === undefined || head === undefined) return tryAcquire(entry);
      Object.defineProperty(node, 'head', { ...head, value: undefined });
      try {
        return tryAcquire(entry);
      } finally {
        Object.defineProperty(node, 'head', head);
      }
    },
  );
}

/** Counts 60 % of a lease as all of it. */
function earlyEnd(patch: Patch): void {
  patch(DeadlineHeap.prototype, 'set', (set, [what, dueMs]) =>
    set(what, (dueMs as number) - (what instanceof Session ? 0.4 * what.leaseMs : 0)),
  );
}

/** Servers that end in order while clients cannot be told, and are back at once. */
function cutOff(plan: Plan): Plan {
  const faults: Fault[] = [...plan.faults];
  const { ttlMs } = plan;
  for (let atMs = ttlMs * 2; atMs < plan.calmFromMs - 2 * ttlMs; atMs += ttlMs * 3) {
    for (const who of ['c1', 'c2']) faults.push({ what: 'cut', who, way: 'down', atMs, forMs: ttlMs });
    faults.push({ what: 'drain', limitMs: 0, atMs: atMs + 20, forMs: 10 });
  }
  return { ...plan, faults: faults.sort((a, b) => a.atMs - b.atMs) };
}

function flatResource() {
  const marks = new Map<string, bigint>();
  return {
    accept: (key: LockKey, fence: bigint) => {
      const name = key.join('/');
      const accepted = fence >= (marks.get(name) ?? 0n);
      if (accepted) marks.set(name, fence);
      return Promise.resolve(accepted);
    },
  };
}

/** What a store, its restart, or a resource can get wrong. */
export const storeMutants: readonly Mutant[] = [
  {
    name: 'no quarantine after an unclean start',
    from: 'safety §5; WK-03',
    shownBy: ['I1'],
    budget: 100,
    adjust: plain,
    install: (patch) =>
      patch<{ quarantineUntilMs: number }>(RestartGuard.prototype, 'guard', (guard, args, self) => {
        self.quarantineUntilMs = 0;
        return guard(...args);
      }),
  },
  {
    name: 'every end counts as clean',
    from: 'design D7',
    shownBy: ['I1'],
    budget: 60,
    adjust: cutOff,
    install: (patch) => patch(RestartGuard.prototype, 'close', (close) => close(true)),
  },
  {
    name: 'fences start again after a restart',
    from: 'safety §5; WK-07',
    shownBy: ['I3'],
    budget: 30,
    install: (patch) =>
      patch(RestartGuard.prototype, 'fences', (fences) => ({ ...(fences() as object), lastFence: 0n })),
  },
  {
    name: 'the store ends leases early',
    from: 'safety §4 row 4; WK-08',
    shownBy: ['I1', 'I9', 'I10'],
    budget: 60,
    install: earlyEnd,
  },
  {
    name: 'release by key',
    from: 'safety §5',
    shownBy: ['I9', 'I1'],
    budget: 150,
    adjust: sixCalls,
    install: releaseByKey,
  },
  {
    name: 'a dead waiter stays in line',
    from: 'safety §5',
    shownBy: ['I6'],
    budget: 300,
    install: (patch) =>
      patch(EngineState.prototype, 'leaveLine', (leaveLine, [request, refusal]) => {
        if ((refusal as Refusal).why !== 'session-gone') leaveLine(request, refusal);
      }),
  },
  {
    name: 'a withdrawn waiter wakes nobody',
    from: 'WK-06',
    shownBy: ['I7'],
    budget: 150,
    install: (patch) =>
      patch<{ wakeTree?: unknown }>(LockTable.prototype, 'withdraw', (withdraw, [entry], table) => {
        table.wakeTree = () => undefined;
        const done = withdraw(entry);
        delete table.wakeTree;
        return done;
      }),
  },
  {
    name: 'who asks is not held up by who waits',
    from: 'WK-36',
    shownBy: ['I11'],
    budget: 60,
    install: barging,
  },
  {
    name: 'no idempotence',
    from: 'safety §5; WK-04',
    shownBy: ['I7', 'I8'],
    budget: 150,
    adjust: sixCalls,
    install: noIdempotence,
  },
  {
    name: 'what is over is not remembered',
    from: 'WK-05, WK-29, WK-30',
    shownBy: ['I7', 'I8'],
    budget: 300,
    adjust: sixCalls,
    install: (patch) => patch(AgedMemory.prototype, 'get', () => undefined),
  },
  {
    name: 'the fence is compared for each key by itself',
    from: 'safety §5',
    shownBy: ['I4'],
    budget: 300,
    install: (patch) => patch(KlockSystem.prototype, 'makeResource', flatResource),
  },
  {
    name: 'the fence is not compared',
    from: 'safety §5',
    shownBy: ['I4'],
    budget: 150,
    install: (patch) =>
      patch(KlockSystem.prototype, 'makeResource', () => ({ accept: () => Promise.resolve(true) })),
  },
];
