import type { Clock, Random, Timer } from '../../core/index.js';
import { MAX_PAUSE_MS, MIN_PAUSE_MS, WATCH_ANSWER_MS, WATCH_LINGER_MS, WATCH_QUIET_MS } from './bounds.js';
import { failureKind } from './call-failure.js';
import { DELETED, NO_PUT, type WatchRequest, type WatchResponse } from './messages.js';
import { METHODS } from './methods.js';
import type { StoreCalls } from './store-calls.js';
import type { CallError, Stream } from './transport.js';

/**
 * `watching`: from now on deletions are told, earlier ones were not: look. `deleted`: the key was deleted.
 * `unsure`: the store cannot tell any more: look.
 */
export type WatchNews = 'watching' | 'deleted' | 'unsure';

interface Watch {
  readonly id: bigint;
  readonly key: Buffer;
  /** First revision that is watched; undefined until the store has said from when on it does. */
  fromRevision: bigint | undefined;
  readonly tell: (news: WatchNews) => void;
}

/** Deletions of single keys, all on one stream. With `deleted` or `unsure` a watch is over. */
export interface KeyWatches {
  /**
   * Watches for a deletion at `fromRevision` or later; undefined: from now on, with word when that is. From now on is
   * quick: a watcher that begins in the past is served by etcd's catching up, every 100 ms.
   */
  watch(key: Buffer, fromRevision: bigint | undefined, tell: (news: WatchNews) => void): Disposable;
}

/**
 * The one watch stream of a client. It is a hint and no more (design D8): when it breaks, is silent or is answered by
 * nobody, a new one is opened on another member with the same watches from the same revisions, so that no deletion
 * between the two is missed; where those are compacted the watcher is told to look.
 */
export class WatchStream implements KeyWatches {
  private readonly watches = new Map<bigint, Watch>();
  private stream: Stream<WatchRequest> | undefined = undefined;
  /** Counts streams: words of an earlier one are not listened to. */
  private generation = 0;
  private member = 0;
  private ids = 0n;
  private failures = 0;
  private heardAtMs = 0;
  private asked = false;
  private pulse: Timer | undefined = undefined;
  private reopening: Timer | undefined = undefined;
  private lingering: Timer | undefined = undefined;
  private closed = false;

  constructor(
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly calls: StoreCalls,
  ) {}

  /** Watches under way. */
  get size(): number {
    return this.watches.size;
  }

  watch(key: Buffer, fromRevision: bigint | undefined, tell: (news: WatchNews) => void): Disposable {
    const watch: Watch = { id: ++this.ids, key, fromRevision, tell };
    this.watches.set(watch.id, watch);
    this.lingering?.cancel();
    if (this.stream === undefined) this.openSoon();
    else this.create(this.stream, watch);
    this.armPulse();
    return { [Symbol.dispose]: () => this.drop(watch) };
  }

  close(): void {
    this.closed = true;
    this.watches.clear();
    this.reopening?.cancel();
    this.hangUp();
  }

  private drop(watch: Watch): void {
    if (!this.watches.delete(watch.id)) return;
    this.stream?.send({ cancel_request: { watch_id: watch.id } });
    if (this.watches.size === 0) this.linger();
  }

  /** Keeps the stream for the next watch, but not the process for it. */
  private linger(): void {
    this.lingering?.cancel();
    this.lingering = this.clock.after(WATCH_LINGER_MS, () => {
      if (this.watches.size === 0) this.hangUp();
    });
  }

  private hangUp(): void {
    this.generation++;
    this.stream?.close();
    this.stream = undefined;
    this.pulse?.cancel();
    this.pulse = undefined;
    this.lingering?.cancel();
  }

  private openSoon(): void {
    if (this.closed || this.reopening !== undefined || this.watches.size === 0) return;
    // At once after a good stream, later and later after bad ones, by lot.
    const upToMs =
      this.failures === 0 ? 0 : Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(this.failures, 10));
    if (upToMs === 0) return this.open();
    this.reopening = this.clock.after(upToMs * (0.5 + this.random.fraction() / 2), () => {
      this.reopening = undefined;
      if (this.stream === undefined && this.watches.size > 0 && !this.closed) this.open();
    });
  }

  private open(): void {
    this.member = this.calls.members.current;
    const generation = ++this.generation;
    const isCurrent = (): boolean => this.generation === generation;
    const opened = this.calls.transport.open(
      this.member,
      METHODS.watch,
      {
        message: (message: WatchResponse) => {
          if (isCurrent()) this.read(message);
        },
        ended: (error) => {
          if (isCurrent()) this.broken(error);
        },
      },
      { token: this.calls.token },
    );
    this.stream = opened;
    this.heard();
    for (const watch of this.watches.values()) this.create(opened, watch);
    this.armPulse();
  }

  private create(stream: Stream<WatchRequest>, { id, key, fromRevision }: Watch): void {
    stream.send({
      create_request: { key, start_revision: fromRevision ?? 0n, filters: NO_PUT, watch_id: id },
    });
  }

  private read(message: WatchResponse): void {
    this.heard();
    this.failures = 0;
    const watch = this.watches.get(message.watch_id);
    if (watch === undefined) return;
    if (message.created && !message.canceled) this.begun(watch, message.header?.revision ?? 0n);
    // Compacted, or refused for another reason: silence is never taken for "nothing happened" (case B-052).
    if (message.canceled) this.finish(watch, 'unsure', false);
    else if (message.events.some(({ type }) => type === DELETED)) this.finish(watch, 'deleted', true);
  }

  /** From here on nothing is missed, also over a break: a new stream resumes at this revision. */
  private begun(watch: Watch, revision: bigint): void {
    if (watch.fromRevision !== undefined) return;
    watch.fromRevision = revision + 1n;
    watch.tell('watching');
  }

  private finish(watch: Watch, news: WatchNews, cancel: boolean): void {
    if (cancel) this.drop(watch);
    else if (this.watches.delete(watch.id) && this.watches.size === 0) this.linger();
    watch.tell(news);
  }

  private broken(error: CallError): void {
    this.failures++;
    this.hangUp();
    if (failureKind(error) === 'login') {
      void this.calls.renewLogin().then(() => this.openSoon());
      return;
    }
    this.calls.members.failed(this.member);
    this.openSoon();
  }

  private heard(): void {
    this.heardAtMs = this.clock.monoMs();
    this.asked = false;
  }

  /** One timer for as long as there are watches: a stream silent for a while is asked, one that does not answer is given up. */
  private armPulse(): void {
    if (this.pulse !== undefined || this.stream === undefined || this.watches.size === 0) return;
    const waitMs = this.asked ? WATCH_ANSWER_MS : WATCH_QUIET_MS;
    const leftMs = this.heardAtMs + waitMs - this.clock.monoMs();
    this.pulse = this.clock.after(Math.max(1, leftMs), () => {
      this.pulse = undefined;
      this.beat();
      this.armPulse();
    });
  }

  private beat(): void {
    if (this.stream === undefined || this.watches.size === 0) return;
    const silentMs = this.clock.monoMs() - this.heardAtMs;
    if (!this.asked && silentMs >= WATCH_QUIET_MS) {
      this.asked = true;
      this.heardAtMs = this.clock.monoMs();
      this.stream.send({ progress_request: {} });
    } else if (this.asked && silentMs >= WATCH_ANSWER_MS) {
      this.failures++;
      this.hangUp();
      this.calls.members.failed(this.member);
      this.openSoon();
    }
  }
}
