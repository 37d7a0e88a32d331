/** Callbacks for one coming event. Cheaper than an AbortSignal, which warns at its eleventh listener. */
export class Hooks {
  private waiting: Set<() => void> | undefined = new Set();

  /** Whether the event has happened. */
  get fired(): boolean {
    return this.waiting === undefined;
  }

  /** Calls `run` at the event, at once if it has happened. The result takes it back. */
  on(run: () => void): () => void {
    if (this.waiting === undefined) {
      run();
      return () => undefined;
    }
    const entry = (): void => run();
    this.waiting.add(entry);
    return () => this.waiting?.delete(entry);
  }

  /** The event happens: once. */
  fire(): void {
    const { waiting } = this;
    this.waiting = undefined;
    for (const run of waiting ?? []) run();
  }
}
