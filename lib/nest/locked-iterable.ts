import type { LockLostError, Section } from '../core/index.js';
import type { LockedCall } from './locked-call.js';
import { isAsyncIterable } from './method-shape.js';

type Iteration = AsyncGenerator<unknown, unknown, unknown>;
type Step = IteratorResult<unknown>;

/** The call as an async iterator: waits at the first `next()`, and holds until done, `return()` or `throw()`. Never iterated = never acquired. */
export function asIterable(call: LockedCall): Iteration {
  return iterateLocked(call, (section) => call.run(section));
}

/** @param taken a section that is already held and now belongs to the iterator. */
export async function* iterateLocked(
  call: LockedCall,
  body: (section: Section | undefined) => unknown,
  taken: () => Section | undefined = () => undefined,
): Iteration {
  const held = taken();
  const entry = held === undefined ? await call.enter() : ({ entered: 'locked', section: held } as const);
  if (entry.entered === 'skipped') return undefined;
  if (entry.entered === 'unlocked') return yield* iterationOf(() => body(undefined));
  const { section } = entry;
  try {
    const source = iterationOf(() => body(section));
    return (yield* new HeldIteration(call, section, source)) as unknown;
  } finally {
    await section.leave();
  }
}

/** An iteration whose steps run in the flow of a lock and end with it. */
class HeldIteration implements Iteration {
  private failStep: ((loss: LockLostError) => void) | undefined;

  constructor(
    private readonly call: LockedCall,
    private readonly section: Section,
    private readonly source: Iteration,
  ) {
    // One listener for the whole iteration: one for each step would pile up on a long one.
    void section.handle.done.then((end) => {
      const loss = end.end === 'lost' ? call.lossOf(section) : undefined;
      if (loss !== undefined) this.failStep?.(loss);
    });
  }

  next(value?: unknown): Promise<Step> {
    return this.step(() => this.source.next(value));
  }

  return(value?: unknown): Promise<Step> {
    return this.step(() => this.source.return(value));
  }

  throw(error: unknown): Promise<Step> {
    return this.step(() => this.source.throw(error));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  private step(take: () => Promise<Step>): Promise<Step> {
    return new Promise((resolve, reject) => {
      this.failStep = (loss) => {
        // The source may be in the middle of a step that never ends: it is told, not waited for.
        void this.source.return(undefined).catch(() => undefined);
        reject(loss);
      };
      this.section.run(take).then((step) => {
        const loss = this.call.lossOf(this.section, step.done === true ? step.value : undefined);
        if (loss === undefined) resolve(step);
        else this.failStep?.(loss);
      }, reject);
    });
  }
}

/** Whatever the method returned, as an iteration; it starts at the first step. */
async function* iterationOf(body: () => unknown): Iteration {
  const made = body();
  if (isAsyncIterable(made)) return yield* made as Iteration;
  return made;
}
