import type { Clock } from './clock.js';
import { isLockError } from './errors.js';
import type { Hold } from './hold.js';
import type { Loss } from './lease.js';
import type { RenewReply } from './lock-driver.js';
import type { ReleaseOutcome } from './lock-handle.js';
import type { LockKey } from './lock-key.js';
import { SPANS, type MetricName } from './metrics.js';
import type { SpanFacts, Telemetry, TelemetryLabels, TelemetrySpan } from './telemetry.js';

/** What is remembered of a grant until it ends. Kept beside the hold, so that a hold without telemetry carries nothing. */
interface GrantRecord {
  acquire: TelemetrySpan | undefined;
  release: TelemetrySpan | undefined;
  releasedAtMs: number;
  /** One release is one count, whatever is heard of it later. */
  counted: boolean;
}

/** An acquire that has not been answered. */
export interface PendingAcquire {
  granted(hold: Hold): void;
  /** @param error what the caller is thrown; undefined where busy is an answer. */
  busy(error: unknown): void;
  failed(error: unknown): void;
}

/**
 * What one instance tells its telemetry, and in which words. Made only where there is a telemetry: its absence is
 * one comparison with undefined. Telemetry that throws is told once and disturbs nothing.
 */
export class Figures {
  private readonly records = new WeakMap<Hold, GrantRecord>();
  private readonly plain: TelemetryLabels;
  private broken = false;

  constructor(
    private readonly telemetry: Telemetry,
    private readonly driver: string,
    private readonly clock: Clock,
    private readonly onBroken: (cause: unknown) => void,
  ) {
    this.plain = { driver };
  }

  /** An acquire was sent on its way to the store. @param section the name of the code that asks, where it has one. */
  acquiring(key: LockKey, operation: string, section: string | undefined): PendingAcquire {
    const startMs = this.clock.monoMs();
    const asked: TelemetryLabels = section === undefined ? { operation } : { operation, section };
    const span = this.span(SPANS.acquire, asked, { key });
    this.shift('lock.waiting', 1);
    const answered = (outcome: string, error?: unknown): void => {
      this.shift('lock.waiting', -1);
      this.measure('lock.acquire.duration', this.clock.monoMs() - startMs, outcome);
      this.acquired(outcome, error, span);
    };
    return {
      granted: (hold) => {
        this.recordOf(hold).acquire = span;
        answered('granted');
      },
      busy: (error) => answered('busy', error),
      failed: (error) => answered(isLockError(error, 'LOCK_ABORTED') ? 'aborted' : 'failed', error),
    };
  }

  /** A lock that the flow or owner has already was shared: the store was not asked. */
  reentered(): void {
    this.count('lock.acquire', { outcome: 'reentered' });
  }

  /** An acquire was refused before the store was asked. */
  refused(error: unknown): void {
    this.acquired('failed', error, undefined);
  }

  held(hold: Hold): void {
    this.records.set(hold, { acquire: undefined, release: undefined, releasedAtMs: 0, counted: false });
    this.shift('lock.held', 1);
  }

  releasing(hold: Hold): void {
    this.shift('lock.held', -1);
    this.measure('lock.hold.duration', hold.heldMs, 'released');
    const record = this.recordOf(hold);
    record.releasedAtMs = this.clock.monoMs();
    record.release = this.span(SPANS.release, {}, { key: hold.grant.key, ...acquireOf(record) });
  }

  /** A release has its outcome. @param error why there is no better one. */
  released(hold: Hold, outcome: ReleaseOutcome, error?: unknown): void {
    const record = this.recordOf(hold);
    if (record.counted) return;
    record.counted = true;
    this.count('lock.release', { outcome });
    const { release } = record;
    if (release === undefined) return;
    this.measure('lock.release.duration', this.clock.monoMs() - record.releasedAtMs, outcome);
    this.end(release, { outcome }, error ?? (outcome === 'lost' ? hold.loss : undefined));
  }

  lost(hold: Hold, loss: Loss): void {
    const { reason } = loss;
    this.shift('lock.held', -1);
    this.count('lock.lost', { reason });
    this.measure('lock.hold.duration', hold.heldMs, 'lost');
    const facts = { key: hold.grant.key, background: true, ...acquireOf(this.recordOf(hold)) };
    this.end(this.span(SPANS.lost, { reason }, facts), {}, hold.loss);
  }

  longHeld(): void {
    this.count('lock.hold.long');
  }

  renewed(reply: RenewReply, tookMs: number): void {
    const { outcome } = reply;
    this.measure('lock.renew.duration', tookMs, outcome);
    this.count('lock.renew', outcome === 'renewed' ? { outcome } : { outcome, reason: reasonOf(reply) });
  }

  jeopardy(): void {
    this.count('lock.jeopardy');
  }

  handedOver(): void {
    this.count('lock.handover');
  }

  warned(code: string): void {
    this.count('lock.warning', { reason: code });
  }

  private acquired(outcome: string, error: unknown, span: TelemetrySpan | undefined): void {
    const labels: TelemetryLabels = error === undefined ? { outcome } : { outcome, reason: codeOf(error) };
    this.count('lock.acquire', labels);
    this.end(span, labels, error);
  }

  /** Every hold is announced by `held` before anything else is told of it. */
  private recordOf(hold: Hold): GrantRecord {
    return this.records.get(hold) as GrantRecord;
  }

  private count(name: MetricName, labels?: TelemetryLabels): void {
    this.tell(() => this.telemetry.count(name, this.with(labels)));
  }

  private measure(name: MetricName, ms: number, outcome: string): void {
    this.tell(() => this.telemetry.measure(name, ms, this.with({ outcome })));
  }

  private shift(name: MetricName, by: number): void {
    this.tell(() => this.telemetry.shift(name, by, this.plain));
  }

  private span(name: string, labels: TelemetryLabels, facts: SpanFacts): TelemetrySpan | undefined {
    return this.tell(() => this.telemetry.span(name, this.with(labels), facts));
  }

  private end(span: TelemetrySpan | undefined, labels: TelemetryLabels, error: unknown): void {
    this.tell(() => span?.end(labels, error));
  }

  private with(labels: TelemetryLabels | undefined): TelemetryLabels {
    return labels === undefined ? this.plain : { driver: this.driver, ...labels };
  }

  private tell<T>(report: () => T): T | undefined {
    try {
      return report();
    } catch (cause) {
      if (!this.broken) {
        // Set first: the warning is itself counted.
        this.broken = true;
        this.onBroken(cause);
      }
      return undefined;
    }
  }
}

function acquireOf({ acquire }: GrantRecord): Pick<SpanFacts, 'acquire'> | undefined {
  return acquire === undefined ? undefined : { acquire };
}

function codeOf(error: unknown): string {
  return isLockError(error) ? error.code : 'UNKNOWN';
}

function reasonOf(reply: Exclude<RenewReply, { outcome: 'renewed' }>): string {
  return reply.outcome === 'gone' ? reply.reason : codeOf(reply.cause);
}
