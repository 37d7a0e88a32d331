/** How a figure is kept: it only grows; it goes up and down; it is a distribution of durations. */
export type MetricKind = 'counter' | 'level' | 'duration';

export interface Metric {
  readonly kind: MetricKind;
  readonly description: string;
  /** Labels it carries besides `driver`. */
  readonly labels: readonly ('outcome' | 'reason')[];
}

/**
 * Every figure an instance reports through its telemetry: one instrument for each operation, told apart by outcome.
 * Durations are measured in milliseconds; an adapter converts them to its own unit.
 */
export const METRICS = {
  'klock.acquire': {
    kind: 'counter',
    description: 'Acquires, by outcome: granted, reentered, busy, aborted, failed',
    labels: ['outcome', 'reason'],
  },
  'klock.acquire.duration': {
    kind: 'duration',
    description: 'From the call of acquire to its answer, waiting included',
    labels: ['outcome'],
  },
  'klock.waiting': {
    kind: 'level',
    description: 'Acquires that wait for their answer',
    labels: [],
  },
  'klock.held': {
    kind: 'level',
    description: 'Locks held',
    labels: [],
  },
  'klock.hold.duration': {
    kind: 'duration',
    description: 'From the grant to its end, by outcome: released, lost',
    labels: ['outcome'],
  },
  'klock.hold.long': {
    kind: 'counter',
    description: 'Locks held for more than ten times their ttl',
    labels: [],
  },
  'klock.release': {
    kind: 'counter',
    description: 'Releases, by outcome: released, already-released, lost, unknown',
    labels: ['outcome'],
  },
  'klock.release.duration': {
    kind: 'duration',
    description: 'From the release to the store’s answer, or to the end of releaseTimeoutMs',
    labels: ['outcome'],
  },
  'klock.renew': {
    kind: 'counter',
    description: 'Renewals and extensions of leases, by outcome: renewed, failed, gone',
    labels: ['outcome', 'reason'],
  },
  'klock.renew.duration': {
    kind: 'duration',
    description: 'From sending a renewal to its answer',
    labels: ['outcome'],
  },
  'klock.jeopardy': {
    kind: 'counter',
    description: 'Leases whose renewal failed while their locks are still held',
    labels: [],
  },
  'klock.lost': {
    kind: 'counter',
    description: 'Locks that ended without a release',
    labels: ['reason'],
  },
  'klock.handover': {
    kind: 'counter',
    description: 'Locks passed on inside the process instead of going back to the store',
    labels: [],
  },
  'klock.warning': {
    kind: 'counter',
    description: 'Warnings, by their code',
    labels: ['reason'],
  },
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof METRICS;

/** Every span: acquire and release below their caller's span, a loss by itself and linked to its acquire. None for a renewal. */
export const SPANS = { acquire: 'lock.acquire', release: 'lock.release', lost: 'lock.lost' } as const;
