import type { SeededRandom } from '../../lib/testing/index.js';

/** What can be done, by name. */
export type Faults = Readonly<Record<string, () => Promise<unknown>>>;

export const real = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Faults one after another in an order drawn anew for each round: each strikes once before any strikes again. */
export class FaultRota {
  /** Rounds that are over. */
  rounds = 0;

  constructor(
    private readonly faults: Faults,
    private readonly random: SeededRandom,
    /** How often each struck. */
    private readonly struck: Map<string, number>,
    /** What lies between two of them, drawn from here to twice as long. */
    private readonly calmMs: number,
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      for (const name of this.order()) {
        if (this.rounds > 0 && isOver()) return;
        this.struck.set(name, (this.struck.get(name) ?? 0) + 1);
        await this.faults[name]?.();
        await real(this.calmMs * this.random.between(1, 2));
      }
      this.rounds++;
    }
  }

  private order(): string[] {
    const left = Object.keys(this.faults);
    const order: string[] = [];
    while (left.length > 0) order.push(...left.splice(this.random.whole(0, left.length - 1), 1));
    return order;
  }
}
