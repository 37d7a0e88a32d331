import type { SeededRandom } from './seeded-random.js';
import type { SimNode } from './sim-node.js';
import type { Timeline } from './timeline.js';

/** How bad the network is while faults are on; probabilities of one message each. */
export interface Noise {
  readonly drop: number;
  readonly duplicate: number;
  readonly reorder: number;
  readonly slow: number;
  /** How late a slow message is, at most. */
  readonly slowMs: number;
  /** The ordinary delay, at most. */
  readonly delayMs: number;
}

/** One direction of one connection: what is sent arrives in order. */
export interface Pipe {
  lastMs: number;
}

/** Carries messages between processes in true time. */
export class Network {
  private readonly cuts = new Map<string, number>();

  constructor(
    private readonly timeline: Timeline,
    private readonly random: SeededRandom,
    private readonly noise: Noise,
    /** Messages sent from then on arrive in order and at once, one by one. */
    private readonly calmFromMs: number,
  ) {}

  /** Nothing arrives in this direction until then: what is sent is held up, as a connection's retransmissions are. */
  cut(from: SimNode, to: SimNode, untilMs: number): void {
    const way = `${from.name}>${to.name}`;
    this.cuts.set(way, Math.max(untilMs, this.cuts.get(way) ?? 0));
  }

  /** @param lossy may be dropped, doubled or overtaken: for what claims to survive that. */
  send(from: SimNode, to: SimNode, pipe: Pipe, run: () => void, lossy = false): void {
    const noisy = this.timeline.nowMs < this.calmFromMs;
    if (!lossy || !noisy) return this.post(from, to, pipe, run, true);
    const { random, noise } = this;
    if (random.chance(noise.drop)) return;
    this.post(from, to, pipe, run, !random.chance(noise.reorder));
    if (random.chance(noise.duplicate)) this.post(from, to, pipe, run, false);
  }

  private post(from: SimNode, to: SimNode, pipe: Pipe, run: () => void, inOrder: boolean): void {
    const { timeline, random, noise } = this;
    const noisy = timeline.nowMs < this.calmFromMs;
    const slowMs = noisy && random.chance(noise.slow) ? random.between(0, noise.slowMs) : 0;
    const heldMs = Math.max(timeline.nowMs, this.cuts.get(`${from.name}>${to.name}`) ?? 0);
    let atMs = heldMs + random.between(0.2, noise.delayMs) + slowMs;
    if (inOrder) pipe.lastMs = atMs = Math.max(atMs, pipe.lastMs);
    const { life } = to;
    timeline.at(atMs, () => {
      if (to.life === life) to.deliver(run);
    });
  }
}
