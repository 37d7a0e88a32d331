import type { Alarm } from './alarm-queue.js';
import type { DefiniteRelease, ReleaseReader } from './lock-driver.js';
import type { ReleaseOutcome } from './lock-handle.js';

/** The handle whose release it is. */
export interface ReleasingHandle {
  /** Its release has an outcome. May be told twice: a store may answer after it was given up on. */
  toldEnd(): void;
}

/**
 * A release that waits for the store's word, but not longer than its caller wants to. One object, since one is made for
 * nearly every lock there is.
 */
export class ReleaseWait implements ReleaseReader {
  /** Rings when the caller has waited long enough. */
  late: Alarm | undefined = undefined;

  constructor(
    private readonly handle: ReleasingHandle,
    private readonly resolve: (outcome: ReleaseOutcome) => void,
  ) {}

  givenBack(outcome: DefiniteRelease): void {
    this.late?.cancel();
    this.end(outcome);
  }

  /** The caller goes on without the store's word. */
  giveUp(): void {
    this.end('unknown');
  }

  private end(outcome: ReleaseOutcome): void {
    this.handle.toldEnd();
    this.resolve(outcome);
  }
}
