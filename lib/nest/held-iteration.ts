import type { LockLostError, Section } from '../core/index.js';
import { ENDED, type IterationSource, type Step } from './iteration-source.js';
import type { LockedCall } from './locked-call.js';

/** An iteration whose steps run in the flow of a lock and end with it, and at whose end the lock is given back. */
export class HeldIteration implements IterationSource {
  /** What ends the steps that are under way. */
  private readonly underWay = new Set<(loss: LockLostError) => void>();
  private source: IterationSource;

  constructor(
    private readonly call: LockedCall,
    private readonly section: Section,
    source: IterationSource,
  ) {
    this.source = source;
    // One listener for the whole iteration: one for each step would pile up on a long one.
    void section.handle.done.then((end) => {
      const loss = end.end === 'lost' ? call.lossOf(section) : undefined;
      if (loss !== undefined) this.lose(loss);
    });
  }

  async next(value?: unknown): Promise<Step> {
    return await this.step((source) => source.next(value));
  }

  async return(value?: unknown): Promise<Step> {
    return await this.step((source) => source.return(value));
  }

  async throw(error: unknown): Promise<Step> {
    return await this.step((source) => source.throw(error));
  }

  private async step(take: (source: IterationSource) => Promise<Step>): Promise<Step> {
    const { source } = this;
    if (source === ENDED) return await take(source);
    let step: Step;
    try {
      step = await this.unlessLost(this.section.run(() => take(source)));
    } catch (error) {
      await this.end();
      throw error;
    }
    if (step.done === true) await this.end();
    return step;
  }

  private unlessLost(taking: Promise<Step>): Promise<Step> {
    return new Promise((resolve, reject) => {
      this.underWay.add(reject);
      const settle = (settling: () => void): void => {
        this.underWay.delete(reject);
        settling();
      };
      taking.then(
        (step) => {
          const loss = this.call.lossOf(this.section, step.done === true ? step.value : undefined);
          if (loss !== undefined) this.forsake();
          settle(() => (loss === undefined ? resolve(step) : reject(loss)));
        },
        (error: Error) => settle(() => reject(error)),
      );
    });
  }

  private lose(loss: LockLostError): void {
    this.forsake();
    for (const fail of this.underWay) fail(loss);
    this.underWay.clear();
  }

  /** The source may be in the middle of a step that never ends: it is told, not waited for. */
  private forsake(): void {
    this.source.return().catch(() => undefined);
  }

  /** After the last step, or the first that failed. */
  private async end(): Promise<void> {
    this.source = ENDED;
    await this.section.leave();
  }
}
