/** Work that goes on after its caller went: known, so that a close can wait for it. Nothing rejects out of it. */
export class Background {
  private readonly running = new Set<Promise<unknown>>();

  constructor(private readonly broken: (cause: unknown) => void) {}

  /** Pieces of work not finished. */
  get size(): number {
    return this.running.size;
  }

  /** Takes care of a piece of work. */
  add(work: Promise<unknown>): void {
    const kept = work.catch((cause: unknown) => this.broken(cause)).finally(() => this.running.delete(kept));
    this.running.add(kept);
  }

  /** Resolves when everything known now, and what that started, is finished. */
  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }
}
