import { AcquireCall } from '../../lib/client/acquire-call.js';
import { ChannelSession } from '../../lib/client/channel-session.js';
import { LockService, type AcquireCommand } from '../../lib/client/lock-service.js';
import type { Acquisition } from '../../lib/core/acquisition.js';
import { Acquirer } from '../../lib/core/acquirer.js';
import type { Clock, DriverGrant, Instant, LeaseTerms } from '../../lib/core/index.js';
import { Hold } from '../../lib/core/hold.js';
import { Instance } from '../../lib/core/instance.js';
import { Cohort } from '../../lib/core/lease.js';
import { LeaseKeeper } from '../../lib/core/lease-keeper.js';
import { SharedGrant } from '../../lib/drivers/kit/shared-grant.js';
import { ReleaseAttempts } from '../../lib/session/index.js';
import { SimClock, type Fault, type Plan } from '../../lib/testing/simulation/index.js';
import { channel, plain, sixCalls, type Mutant, type Patch } from './mutant.js';

const noMargin = (patch: Patch): void => patch(Instance.prototype, 'marginOf', () => 0);

function fromReply(patch: Patch): void {
  patch<{ host: { clock: Clock } }>(LeaseKeeper.prototype, 'open', (open, [terms], { host }) =>
    open({ ...(terms as LeaseTerms), sentAt: host.clock.now() }),
  );
  patch<{ host: { clock: Clock } }>(LeaseKeeper.prototype, 'read', (read, [lease, , reply], { host }) =>
    read(lease, host.clock.now(), reply),
  );
}

/** Connections fall silent, again and again: what was sent on them is gone. */
function swallowed(plan: Plan): Plan {
  const faults: Fault[] = [];
  for (let atMs = plan.ttlMs; atMs < plan.calmFromMs; atMs += 0.8 * plan.ttlMs) {
    for (const at of plan.clients.keys())
      faults.push({ what: 'reset', who: `c${at + 1}`, quiet: true, atMs: atMs + 0.15 * at * plan.ttlMs });
  }
  const noise = { ...plan.noise, slow: 0 };
  return sixCalls({ ...plan, noise, faults: faults.sort((a, b) => a.atMs - b.atMs) });
}

/** What a client can get wrong. */
export const clientMutants: readonly Mutant[] = [
  {
    name: 'deadline from the reply, no margin',
    from: 'safety §5; WK-08',
    shownBy: ['I1', 'I9', 'I10'],
    budget: 150,
    install: (patch) => {
      noMargin(patch);
      fromReply(patch);
    },
  },
  {
    name: 'no margin between local validity and lease',
    from: 'safety §5, at margin 0',
    shownBy: ['I1', 'I9', 'I10'],
    budget: 400,
    install: noMargin,
  },
  {
    name: 'expiry by a timer that sets a flag',
    from: 'safety §5; WK-25',
    shownBy: ['I1', 'I9', 'I10'],
    budget: 150,
    install: (patch) => patch(Cohort.prototype, 'isPast', () => false),
  },
  {
    name: 'no look at the deadline after the wait',
    from: 'safety §5',
    shownBy: ['I1'],
    budget: 400,
    install: (patch) =>
      patch<{ readonly instance: Instance }>(
        Acquirer.prototype,
        'adopt',
        (_, [ask, grant, now], { instance }) =>
          new Hold(instance, grant as DriverGrant, (ask as Acquisition).terms, now as Instant),
      ),
  },
  {
    name: 'the monotonic clock alone',
    from: 'safety §5',
    shownBy: ['I1', 'I9', 'I10'],
    budget: 150,
    install: (patch) =>
      patch<{ monoMs(): number; shape: { wallMs: number; monoMs: number } }>(
        SimClock.prototype,
        'wallMs',
        (_, __, clock) => clock.shape.wallMs + clock.monoMs() - clock.shape.monoMs,
      ),
  },
  {
    name: 'the wall clock alone',
    from: 'safety §4 row 3; WK-08',
    shownBy: ['I1', 'I9', 'I10'],
    budget: 400,
    install: (patch) =>
      patch<{ mono: number; floor: number }>(SimClock.prototype, 'stepWall', (stepWall, [byMs], clock) => {
        stepWall(byMs);
        clock.mono += byMs as number;
        clock.floor = -Infinity;
      }),
  },
  {
    name: 'a wait that ends in doubt is not settled',
    from: 'WK-01',
    shownBy: ['I7'],
    budget: 400,
    adjust: sixCalls,
    install: (patch) => patch(AcquireCall.prototype, 'settleLater', () => undefined),
  },
  {
    name: 'each repeat of a tombstone has a key of its own',
    from: 'found by the simulator: the grant of one whose answer was lost stayed as long as its session',
    shownBy: ['I7'],
    budget: 200,
    adjust: (plan) => plain(sixCalls(plan)),
    install: (patch) => {
      let tombstones = 0;
      patch(LockService.prototype, 'acquire', (acquire, [link, session, command, timeoutMs]) => {
        const [l1] = (command as AcquireCommand).key;
        const key = [`${l1}${++tombstones}`];
        const told = l1.startsWith('klock-tombstone/') ? { ...(command as AcquireCommand), key } : command;
        return acquire(link, session, told, timeoutMs);
      });
    },
  },
  {
    name: 'a wait that ends is not taken back',
    from: 'WK-11; safety §4 row 16',
    shownBy: ['I7'],
    budget: 150,
    adjust: channel,
    install: (patch) => patch(ChannelSession.prototype, 'cancel', () => undefined),
  },
  {
    name: 'a release is tried once',
    from: 'WK-12',
    shownBy: ['I7'],
    budget: 200,
    adjust: swallowed,
    install: (patch) => patch(ReleaseAttempts.prototype, 'ended', () => ({ next: 'lost' })),
  },
  {
    name: 'what is lost here is not given back there',
    from: 'WK-10',
    shownBy: ['I7'],
    budget: 300,
    install: (patch) => patch(Hold.prototype, 'lose', (lose, [loss]) => lose(loss, false)),
  },
  {
    name: 'a grant is passed on beyond its span',
    from: 'design D13',
    // I7: a fence beyond the span is another's, so that to revoke it ends the wrong lock.
    shownBy: ['I3', 'I5', 'I1', 'I7'],
    budget: 150,
    adjust: channel,
    install: (patch) =>
      patch<{ position: number }>(SharedGrant.prototype, 'mayPassTo', (mayPassTo, [next, now], shared) => {
        const { position } = shared;
        shared.position = -1;
        const may = mayPassTo(next, now);
        shared.position = position;
        return may;
      }),
  },
];
