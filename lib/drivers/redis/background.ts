/** Work of a driver that nobody waits for; beyond it nothing new is begun, and what Redis holds ends by its expiry. */
const MAX_TASKS = 20_000;

/** Work that goes on after its caller has been answered. Never rejects, never throws. */
export class Background {
  private readonly tasks = new Set<Promise<unknown>>();
  private stopped = false;
  private overflowing = false;

  /** @param overflowed told once each time the bound is hit. */
  constructor(private readonly overflowed: (limit: number) => void) {}

  /** Tasks not done. */
  get size(): number {
    return this.tasks.size;
  }

  /** Whether tasks should give up. */
  get isStopped(): boolean {
    return this.stopped;
  }

  run(task: () => Promise<unknown>): void {
    if (this.tasks.size >= MAX_TASKS) {
      if (!this.overflowing) this.overflowed(MAX_TASKS);
      this.overflowing = true;
      return;
    }
    this.overflowing = false;
    const running = task().catch(() => undefined);
    this.tasks.add(running);
    void running.finally(() => this.tasks.delete(running));
  }

  /** Resolves when every task is done. */
  async done(): Promise<void> {
    while (this.tasks.size > 0) await Promise.all([...this.tasks]);
  }

  stop(): void {
    this.stopped = true;
  }
}
