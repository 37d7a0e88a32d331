import {
  LockUnavailableError,
  type BackendStateError,
  type DriverHost,
  type LockErrorFacts,
  type Timer,
} from '../../core/index.js';
import type { Answer } from './answer.js';
import { probeQuestion, type ProbeResult } from './operations.js';
import type { ResolvedRedisOptions } from './redis-options.js';
import type { ScriptCalls } from './script-calls.js';
import { judgeStore } from './store-checks.js';

/** Servers are asked for their time at least this often, so that a clock that steps back is noticed (design D6: 30 s). */
const MEET_EVERY_MS = 25_000;
/** A probe in the background may take this long. */
const PROBE_MS = 5_000;

type Meeting = Promise<Answer<ProbeResult>>;
type Refusal = Extract<Answer<ProbeResult>, { type: 'refused' }>;

/**
 * Which servers this client has met on their present connections. No acquire goes to one that it has not: its time would
 * be unknown, and so would be whether locks are safe there.
 */
export class Acquaintance {
  private readonly met = new Set<string>();
  private readonly meetings = new Map<string, Meeting>();
  /** Servers that were primaries when last met. */
  private readonly primaries = new Set<string>();
  private readonly warned = new Set<string>();
  private readonly listening: Disposable;
  private epoch: number;
  private timer: Timer | undefined = undefined;

  constructor(
    private readonly calls: ScriptCalls,
    private readonly host: DriverHost,
    private readonly options: ResolvedRedisOptions,
  ) {
    this.epoch = calls.link.epoch;
    this.listening = calls.link.onChange(() => this.linkChanged());
    this.tick();
  }

  /** Whether the server of this name was met. */
  knows(tree: string): boolean {
    return this.met.has(this.calls.nodeOf(tree));
  }

  /** Meets the server of this name. Several askers share one probe. */
  meet(tree: string, deadlineMs: number, facts: LockErrorFacts): Meeting {
    const node = this.calls.nodeOf(tree);
    const running = this.meetings.get(node);
    if (running !== undefined) return running;
    const meeting = this.probe(tree, node, deadlineMs, facts).finally(() => {
      if (this.meetings.get(node) === meeting) this.meetings.delete(node);
    });
    this.meetings.set(node, meeting);
    return meeting;
  }

  /** Why no locks can be had on the server of this name, by what a probe of it found; undefined: they can. */
  judge(tree: string, probe: ProbeResult, facts: LockErrorFacts): Refusal | undefined {
    const node = this.calls.nodeOf(tree);
    const { refused, warnings } = judgeStore(probe, node, this.options, facts);
    for (const [code, message] of warnings) this.warnOnce(code, message);
    return refused && this.refusal(refused, probe.role, node, facts);
  }

  stop(): void {
    this.listening[Symbol.dispose]();
    this.timer?.cancel();
  }

  private async probe(
    tree: string,
    node: string,
    deadlineMs: number,
    facts: LockErrorFacts,
  ): Promise<Answer<ProbeResult>> {
    const answer = await this.calls.ask(probeQuestion(tree, facts), deadlineMs);
    if (answer.type !== 'answered') return answer;
    const refused = this.judge(tree, answer.value, facts);
    if (refused !== undefined) {
      // Set up otherwise since it was met, perhaps: the next acquire asks again and says so.
      this.met.delete(node);
      return refused;
    }
    this.primaries.add(node);
    if (answer.sending.epoch === this.calls.link.epoch) this.met.add(node);
    return answer;
  }

  /** A replica where a primary was, or where failovers are looked after, is a failover under way: that passes. */
  private refusal(error: BackendStateError, role: string, node: string, facts: LockErrorFacts): Refusal {
    const failover = role === 'slave' && (this.primaries.has(node) || this.calls.link.topology !== 'single');
    if (!failover) return { type: 'refused', error, passing: false };
    const passing = new LockUnavailableError(error.message, { ...facts, storeCode: 'READONLY' });
    return { type: 'refused', error: passing, passing: true };
  }

  private linkChanged(): void {
    if (this.epoch === this.calls.link.epoch) return;
    this.epoch = this.calls.link.epoch;
    this.met.clear();
    this.calls.time.forget();
  }

  private warnOnce(code: string, message: string): void {
    if (this.warned.has(message)) return;
    this.warned.add(message);
    this.host.warn(code, message);
  }

  private tick(): void {
    this.timer = this.host.clock.after(MEET_EVERY_MS, () => {
      for (const tree of this.calls.time.notMetFor(MEET_EVERY_MS)) {
        void this.meet(tree, this.host.clock.monoMs() + PROBE_MS, {});
      }
      this.tick();
    });
  }
}
