import type { Section } from '../core/index.js';
import { HeldIteration } from './held-iteration.js';
import { ENDED, sourceOf, type IterationSource, type Step } from './iteration-source.js';
import type { LockedCall } from './locked-call.js';

type Iteration = AsyncGenerator<unknown, unknown, unknown>;
type Body = (section: Section | undefined) => unknown;

/**
 * The call as an async iterator: waits at the first `next()`, and holds until done, `return()` or `throw()`. Never
 * iterated = never acquired.
 */
export function asIterable(call: LockedCall): Iteration {
  return iterateLocked(call, (section) => call.run(section));
}

/** @param taken a section that is already held and now belongs to the iterator. */
export function iterateLocked(
  call: LockedCall,
  body: Body,
  taken: () => Section | undefined = () => undefined,
): Iteration {
  return new LockedIteration(call, body, taken);
}

/**
 * Like the generator it stands for, except that `return()` is heard at once, while the lock is waited for and while a step
 * is under way: what consumes a stream for a client calls it when that client has gone, and the next value may never come.
 */
class LockedIteration implements Iteration {
  readonly [Symbol.toStringTag] = 'AsyncGenerator';
  // Hidden: what Nest cannot iterate it writes to its client as JSON, and a generator shows nothing there.
  readonly #gone = new AbortController();
  readonly #call: LockedCall;
  readonly #body: Body;
  readonly #taken: () => Section | undefined;
  #opening: Promise<IterationSource> | undefined;

  constructor(call: LockedCall, body: Body, taken: () => Section | undefined) {
    this.#call = call;
    this.#body = body;
    this.#taken = taken;
  }

  async next(value?: unknown): Promise<Step> {
    const source = await (this.#opening ??= this.begin());
    return await source.next(value);
  }

  async return(value?: unknown): Promise<Step> {
    return await (await this.opened()).return(value);
  }

  async throw(error: unknown): Promise<Step> {
    return await (await this.opened()).throw(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** What there is to end; a wait for the lock is given up. */
  private opened(): Promise<IterationSource> {
    this.#gone.abort();
    // Whoever waits for the first step is told why there is none.
    return (this.#opening ??= this.giveUp()).catch(() => ENDED);
  }

  /** Before the first step. A section that was handed over goes back. */
  private async giveUp(): Promise<IterationSource> {
    await this.#taken()?.leave();
    return ENDED;
  }

  private begin(): Promise<IterationSource> {
    const opening = this.open();
    // It fails once, as a generator does, and has ended then.
    opening.catch(() => (this.#opening = Promise.resolve(ENDED)));
    return opening;
  }

  private async open(): Promise<IterationSource> {
    const section = this.#taken();
    if (section !== undefined) return await this.start(section);
    try {
      const entry = await this.#call.enter(this.#gone.signal);
      if (entry.entered === 'skipped') return ENDED;
      return await this.start(entry.entered === 'locked' ? entry.section : undefined);
    } catch (error) {
      if (this.#gone.signal.aborted) return ENDED;
      throw error;
    }
  }

  private async start(section: Section | undefined): Promise<IterationSource> {
    try {
      if (this.#gone.signal.aborted) {
        await section?.leave();
        return ENDED;
      }
      const source = sourceOf(this.#body(section));
      return section === undefined ? source : new HeldIteration(this.#call, section, source);
    } catch (error) {
      await section?.leave();
      throw error;
    }
  }
}
