/** Who is told of an abort. */
export interface Abortable {
  aborted(reason: unknown): void;
}

interface Watched {
  readonly calls: Set<Abortable>;
  readonly stop: () => void;
}

/**
 * One listener per signal for any number of calls: every acquire of an instance carries the signal of its closing, and
 * taking a listener off a signal walks all of them.
 */
export class AbortWatch {
  private readonly watched = new Map<AbortSignal, Watched>();

  /** Tells the call once when the signal aborts, unless taken back by {@link off}. */
  on(signal: AbortSignal, call: Abortable): void {
    const known = this.watched.get(signal);
    if (known !== undefined) known.calls.add(call);
    else this.watch(signal, call);
  }

  off(signal: AbortSignal, call: Abortable): void {
    const known = this.watched.get(signal);
    if (known === undefined || !known.calls.delete(call) || known.calls.size > 0) return;
    known.stop();
    this.watched.delete(signal);
  }

  private watch(signal: AbortSignal, first: Abortable): void {
    const calls = new Set([first]);
    const run = (): void => {
      this.watched.delete(signal);
      for (const call of calls) call.aborted(signal.reason);
    };
    signal.addEventListener('abort', run, { once: true });
    this.watched.set(signal, { calls, stop: () => signal.removeEventListener('abort', run) });
  }
}
