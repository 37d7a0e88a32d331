import { isAsyncIterable } from './method-shape.js';

export type Step = IteratorResult<unknown, unknown>;

/** What a method is iterated by. Not a generator around it: that would keep `return()` waiting for the step that is under way. */
export interface IterationSource {
  next(value?: unknown): Promise<Step>;
  return(value?: unknown): Promise<Step>;
  throw(error: unknown): Promise<Step>;
}

/** An iteration that has ended, or never was. */
export const ENDED: IterationSource = {
  next: () => Promise.resolve({ done: true, value: undefined }),
  return: (value) => Promise.resolve({ done: true, value }),
  // As the caller threw it.
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
  throw: (error) => Promise.reject(error),
};

/** Whatever a method returned, as a source; what is no iterable is the value of a first step that ends it. */
export function sourceOf(made: unknown): IterationSource {
  return isAsyncIterable(made) ? new IteratorSource(made[Symbol.asyncIterator]()) : single(made);
}

/** An iterator of anybody's, of which only `next` is certain. */
class IteratorSource implements IterationSource {
  constructor(private readonly iterator: AsyncIterator<unknown, unknown, unknown>) {}

  async next(value?: unknown): Promise<Step> {
    return await this.iterator.next(value);
  }

  async return(value?: unknown): Promise<Step> {
    return this.iterator.return === undefined ? await ENDED.return(value) : await this.iterator.return(value);
  }

  async throw(error: unknown): Promise<Step> {
    if (this.iterator.throw !== undefined) return await this.iterator.throw(error);
    await this.return();
    return await ENDED.throw(error);
  }
}

function single(made: unknown): IterationSource {
  return { ...ENDED, next: async () => ({ done: true, value: await made }) };
}
