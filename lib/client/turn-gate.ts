import type { Clock } from '../core/index.js';

/** Acquires begun in one turn of the event loop: a few milliseconds of work, so that answers are read in between. */
export const BEGUN_PER_TURN = 32;

/**
 * Lets so many begin in one turn of the event loop and the others, in order, in the turns after it. Ten thousand calls made
 * in one go would keep the loop from reading any answer, the renewal's too, until their own time is over.
 */
export class TurnGate {
  private begun = 0;
  private turning = false;
  private readonly waiting: (() => void)[] = [];
  /** Index of the first who waits. */
  private head = 0;

  constructor(private readonly clock: Clock) {}

  /** Undefined: at once. Otherwise resolves in the turn of whoever asks. */
  enter(): Promise<void> | undefined {
    this.nextTurn();
    if (this.begun < BEGUN_PER_TURN) {
      this.begun++;
      return undefined;
    }
    return new Promise((resolve) => void this.waiting.push(resolve));
  }

  private nextTurn(): void {
    if (this.turning) return;
    this.turning = true;
    // No time to wait for, only a turn: what was received is read before it.
    this.clock.after(0, () => this.turn(), { keepAlive: true });
  }

  private turn(): void {
    this.turning = false;
    const { waiting } = this;
    this.begun = Math.min(BEGUN_PER_TURN, waiting.length - this.head);
    for (const end = this.head + this.begun; this.head < end; this.head++) waiting[this.head]?.();
    if (this.head < waiting.length) this.nextTurn();
    else this.head = waiting.length = 0;
  }
}
