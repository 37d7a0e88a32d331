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
  'lock.acquire': {
    kind: 'counter',
    description: 'Acquires, by outcome: granted, reentered, busy, aborted, failed',
    labels: ['outcome', 'reason'],
  },
  'lock.acquire.duration': {
    kind: 'duration',
    description: 'From the call of acquire to its answer, waiting included',
    labels: ['outcome'],
  },
  'lock.waiting': {
    kind: 'level',
    description: 'Acquires that wait for their answer',
    labels: [],
  },
  'lock.held': {
    kind: 'level',
    description: 'Locks held',
    labels: [],
  },
  'lock.hold.duration': {
    kind: 'duration',
    description: 'From the grant to its end, by outcome: released, lost',
    labels: ['outcome'],
  },
  'lock.hold.long': {
    kind: 'counter',
    description: 'Locks held for more than ten times their ttl',
    labels: [],
  },
  'lock.release': {
    kind: 'counter',
    description: 'Releases, by outcome: released, already-released, lost, unknown',
    labels: ['outcome'],
  },
  'lock.release.duration': {
    kind: 'duration',
    description: 'From the release to the store’s answer, or to the end of releaseTimeoutMs',
    labels: ['outcome'],
  },
  'lock.renew': {
    kind: 'counter',
    description: 'Renewals and extensions of leases, by outcome: renewed, failed, gone',
    labels: ['outcome', 'reason'],
  },
  'lock.renew.duration': {
    kind: 'duration',
    description: 'From sending a renewal to its answer',
    labels: ['outcome'],
  },
  'lock.jeopardy': {
    kind: 'counter',
    description: 'Leases whose renewal failed while their locks are still held',
    labels: [],
  },
  'lock.lost': {
    kind: 'counter',
    description: 'Locks that ended without a release',
    labels: ['reason'],
  },
  'lock.handover': {
    kind: 'counter',
    description: 'Locks passed on inside the process instead of going back to the store',
    labels: [],
  },
  'lock.warning': {
    kind: 'counter',
    description: 'Warnings, by their code',
    labels: ['reason'],
  },
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof METRICS;

/** Every span: acquire and release below their caller's span, a loss by itself and linked to its acquire. None for a renewal. */
export const SPANS = { acquire: 'lock.acquire', release: 'lock.release', lost: 'lock.lost' } as const;
