import type { CountedHandle } from './counted-handle.js';
import { LockLostError } from './errors.js';
import { runInFrame, type Frame } from './flow.js';
import type { Hold } from './hold.js';
import type { Instance } from './instance.js';
import type { Work } from './klock.js';
import type { ReleaseOutcome } from './lock-handle.js';
import type { LockKey } from './lock-key.js';
import type { Section } from './section.js';

/** A running section, and its place in the flow (design D10). */
export class HeldSection implements Section, Frame {
  readonly hold: Hold;
  private left: Promise<ReleaseOutcome> | undefined = undefined;

  /** @param key with namespace and prefix. */
  constructor(
    readonly instance: Instance,
    readonly handle: CountedHandle,
    readonly key: LockKey,
    readonly label: string | undefined,
    readonly parent: Frame | undefined,
  ) {
    this.hold = handle.hold;
    this.hold.enter(this);
  }

  get store(): string {
    return this.instance.store;
  }

  /** Whether `maxHoldMs` ends it although its work goes on. */
  get endsByItself(): boolean {
    return this.hold.hasMaxHold;
  }

  get lost(): LockLostError | undefined {
    // Reading `held` performs a loss that is due, so that a late return is not taken for success.
    return this.left === undefined && this.handle.held ? undefined : this.hold.loss;
  }

  run<T>(work: () => T): T {
    return runInFrame(this, work);
  }

  leave(): Promise<ReleaseOutcome> {
    if (this.left !== undefined) return this.left;
    this.hold.exit(this);
    return (this.left = this.handle.leave());
  }
}

/** Runs a section to its end: the work's own error passes through unchanged, a loss meanwhile rejects with the result attached. */
export async function runSection<T>(entered: HeldSection | Promise<HeldSection>, work: Work<T>): Promise<T> {
  const section = entered instanceof HeldSection ? entered : await entered;
  let result: T;
  try {
    const running = section.run(() => work(section.handle));
    result = await (section.endsByItself ? untilMaxHold(section, running) : running);
  } catch (error) {
    await section.leave();
    throw error;
  }
  const leaving = section.leave();
  // Read in the turn of the release: what its answer says cannot have disturbed the work any more.
  const { lost } = section;
  await leaving;
  if (lost !== undefined) throw withResult(lost, result);
  return result;
}

/** `maxHoldMs` ends the call even if its work never settles; any other loss lets the work end first. */
function untilMaxHold<T>(section: HeldSection, running: PromiseLike<T> | T): Promise<T> {
  return new Promise((resolve, reject) => {
    // Whichever loses the race may still reject later, and is nobody's any more.
    Promise.resolve(running).then(resolve, reject);
    void section.handle.done.then((end) => {
      if (end.end === 'lost' && end.reason === 'max-hold') reject(section.lost ?? new Error('lost'));
    });
  });
}

function withResult(lost: LockLostError, result: unknown): LockLostError {
  return new LockLostError(lost.message, {
    ...(lost.key && { key: lost.key }),
    ...(lost.fence !== undefined && { fence: lost.fence }),
    reason: lost.reason,
    lossCode: lost.lossCode,
    result,
  });
}
