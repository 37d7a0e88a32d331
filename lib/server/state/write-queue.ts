/** Runs writes of one file one after another, whether or not the one before succeeded. */
export class WriteQueue {
  private last: Promise<void> = Promise.resolve();

  run(write: () => Promise<void>): Promise<void> {
    const done = this.last.then(write);
    this.last = done.catch(() => undefined);
    return done;
  }

  /** When everything asked for so far has ended. */
  idle(): Promise<void> {
    return this.last;
  }
}
