import { MAX_FENCE, optionError } from '../core/index.js';

export interface FenceSequenceOptions {
  /** The largest fence ever given out; 0n for none. */
  readonly lastFence: bigint;
  /** Fences up to here may be given out. */
  readonly reservedFence: bigint;
  /** How many are reserved at once. */
  readonly fenceBlock: bigint;
}

/**
 * The fences of one store: each larger than every one before it, over all keys, across restarts. Only what the host
 * has made durable is given out; more is asked for when half a block is left. Never wraps: after MAX_FENCE there is none.
 */
export class FenceSequence {
  private last: bigint;
  private reserved: bigint;
  private readonly block: bigint;
  /** At this fence more are asked for: half a block before the end of what is reserved. */
  private askAt: bigint;
  private asked: bigint | undefined = undefined;
  /** How many fences may be given out before something changes: numbers are counted faster than fences are compared. */
  private calm = 0;
  private isDry = false;
  private isExhausted = false;
  private isLow = false;

  constructor(options: FenceSequenceOptions) {
    this.last = checkFence('lastFence', options.lastFence);
    this.reserved = checkFence('reservedFence', options.reservedFence);
    this.block = options.fenceBlock;
    if (typeof this.block !== 'bigint' || this.block < 1n) {
      throw optionError('fenceBlock', 'a bigint, 1n or more', this.block);
    }
    this.askAt = this.nextAskAt();
    this.review();
  }

  /** The largest fence given out. */
  get lastFence(): bigint {
    return this.last;
  }

  /** The largest fence that may be given out now. */
  get reservedFence(): bigint {
    return this.reserved;
  }

  /** No fence can be given out now. */
  get dry(): boolean {
    return this.isDry;
  }

  /** No fence can ever be given out again. */
  get exhausted(): boolean {
    return this.isExhausted;
  }

  /** So few are left that more should be asked for; also when there will be none. */
  get low(): boolean {
    return this.isLow;
  }

  /** How many fences one grant can cover now: what it asked for, as far as that many are reserved. */
  spanOf(asked: number): number {
    if (asked <= 1) return 1;
    const left = this.reserved - this.last;
    return left < BigInt(asked) ? Math.max(1, Number(left)) : asked;
  }

  /** The first of the next `span` fences, or undefined while so many are not reserved. */
  take(span = 1): bigint | undefined {
    if (this.isDry) return undefined;
    const base = this.last + 1n;
    const last = span === 1 ? base : this.last + BigInt(span);
    this.calm -= span;
    if (this.calm > 0) this.last = last;
    else if (!this.takeTo(last)) return undefined;
    return base;
  }

  /** Up to where fences should be made durable, once for each block that is needed; undefined while there is enough. */
  ask(): bigint | undefined {
    if (!this.isLow || this.asked !== undefined || this.reserved >= MAX_FENCE) return undefined;
    const from = this.reserved > this.last ? this.reserved : this.last;
    this.asked = min(from + this.block, MAX_FENCE);
    return this.asked;
  }

  /** The host made fences up to here durable. A smaller number than before takes nothing back. */
  reserve(upTo: bigint): void {
    const reserved = min(upTo, MAX_FENCE);
    if (reserved > this.reserved) this.reserved = reserved;
    this.askAt = this.nextAskAt();
    if (this.asked !== undefined && reserved >= this.asked) this.asked = undefined;
    this.review();
  }

  /** A fence near to where something changes. Returns whether it is reserved. */
  private takeTo(last: bigint): boolean {
    const reserved = last <= this.reserved;
    if (reserved) this.last = last;
    this.review();
    return reserved;
  }

  private review(): void {
    this.isDry = this.last >= this.reserved;
    this.isExhausted = this.last >= MAX_FENCE;
    this.isLow = this.last >= this.askAt;
    this.calm = Number(min((this.isLow ? this.reserved : this.askAt) - this.last, MAX_CALM));
  }

  private nextAskAt(): bigint {
    return this.reserved >= MAX_FENCE ? MAX_FENCE : this.reserved - this.block / 2n;
  }
}

/** So far numbers count one by one. */
const MAX_CALM = BigInt(Number.MAX_SAFE_INTEGER);

function checkFence(option: string, value: unknown): bigint {
  if (typeof value === 'bigint' && value >= 0n && value <= MAX_FENCE) return value;
  throw optionError(option, `a bigint from 0n to ${MAX_FENCE}n`, value);
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
