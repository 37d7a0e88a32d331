import { Outcome } from '../../lib/rpc/index.js';
import { ChannelSession } from '../../lib/server/channel-session.js';
import { ChannelClientEnd, ChannelInbox, ChannelOutbox, ChannelServerEnd } from '../../lib/session/index.js';
import type { Plan } from '../../lib/testing/simulation/index.js';
import { channel, type Mutant, type Patch } from './mutant.js';

/** The server loses every fifth release it is told of, and says that it is done. */
function forgetReleases(patch: Patch): void {
  let releases = 0;
  patch<{ answer(number: unknown, outcome: number): void }>(
    ChannelSession.prototype,
    'release',
    (release, [operation, number], session) => {
      if (++releases % 5 === 0) session.answer(number, Outcome.Released);
      else release(operation, number);
    },
  );
}

const noReconciliation = (patch: Patch): void => patch(ChannelServerEnd.prototype, 'judge', () => undefined);

/** Frames are lost, and little else is said that could show it. */
function quietWithLosses(plan: Plan): Plan {
  const noise = { ...plan.noise, drop: 0.2, duplicate: 0, reorder: 0 };
  return channel({ ...plan, noise, faults: [], tasks: plan.tasks.filter(({ id }) => id % 8 === 0) });
}

/** An operator ends every third lock, and holders have nothing else to worry about. */
function muchRevoked(plan: Plan): Plan {
  const tasks = plan.tasks.map((task) => (task.id % 3 === 0 ? { ...task, revoke: true as const } : task));
  return channel({ ...plan, faults: [], tasks });
}

const passOver = (patch: Patch): void => patch(ChannelClientEnd.prototype, 'revoke', () => undefined);

/** What the two ends of a channel can get wrong. */
export const channelMutants: readonly Mutant[] = [
  {
    name: 'an operation that comes twice is done twice, no reconciliation',
    from: 'safety §5 (no idempotence, no reconciliation)',
    shownBy: ['I7', 'I8', 'I9'],
    budget: 60,
    adjust: channel,
    install: (patch) => {
      noReconciliation(patch);
      patch<{ lastNumber: number }>(ChannelInbox.prototype, 'accept', (_, [first, count], inbox) => {
        inbox.lastNumber = Math.max(inbox.lastNumber, (first as number) + (count as number) - 1);
        return 0;
      });
    },
  },
  {
    name: 'releases are forgotten, no reconciliation',
    from: 'safety §5 (no reconciliation)',
    shownBy: ['I7'],
    budget: 30,
    adjust: channel,
    install: (patch) => {
      forgetReleases(patch);
      noReconciliation(patch);
    },
  },
  {
    name: 'releases are forgotten, with reconciliation',
    from: 'design D5',
    shownBy: 'healed',
    budget: 60,
    adjust: channel,
    install: forgetReleases,
  },
  {
    name: 'what a broken stream has swallowed is not sent again',
    from: 'safety §4 row 19',
    shownBy: ['I7', 'I1', 'I9'],
    budget: 60,
    adjust: channel,
    install: (patch) => patch(ChannelOutbox.prototype, 'rewind', () => undefined),
  },
  {
    name: 'the holder is not told that its grant was revoked',
    from: 'case B-081',
    shownBy: ['I7'],
    budget: 30,
    adjust: muchRevoked,
    install: (patch) => patch(ChannelSession.prototype, 'revoked', () => undefined),
  },
  {
    name: 'the holder passes over that its grant was revoked, no reconciliation',
    from: 'case B-081',
    shownBy: ['I7'],
    budget: 30,
    adjust: muchRevoked,
    install: (patch) => {
      passOver(patch);
      noReconciliation(patch);
    },
  },
  {
    name: 'the holder passes over that its grant was revoked, with reconciliation',
    from: 'design D5: a client from before the message',
    shownBy: 'healed',
    budget: 60,
    adjust: muchRevoked,
    install: passOver,
  },
  {
    name: 'an empty frame hides that one before it is missing',
    from: 'found by the simulator: a lost release was never missed on a stream that went on',
    shownBy: ['I7'],
    budget: 60,
    adjust: quietWithLosses,
    install: (patch) =>
      patch(ChannelInbox.prototype, 'accept', (accept, [first, count]) =>
        count === 0 ? 0 : accept(first, count),
      ),
  },
];
