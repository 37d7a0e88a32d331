/** A fence mixed to 64 bits, as two halves: bigints would cost more than the rest of a grant. */
export interface Mixed {
  readonly high: number;
  readonly low: number;
}

const TWO_32 = 4_294_967_296;

/** The finalizer of SplitMix64: nearby fences give sums that do not look alike. */
export function mix64(fence: bigint): Mixed {
  const number = Number(fence);
  const small = number <= Number.MAX_SAFE_INTEGER;
  let high = small ? Math.floor(number / TWO_32) : Number(BigInt.asUintN(32, fence >> 32n));
  let low = small ? number >>> 0 : Number(BigInt.asUintN(32, fence));
  // z ^= z >>> 30; z *= 0xbf58476d1ce4e5b9
  low = (low ^ ((low >>> 30) | (high << 2))) >>> 0;
  high = (high ^ (high >>> 30)) >>> 0;
  [high, low] = times(high, low, 0xbf58476d, 0x1ce4e5b9);
  // z ^= z >>> 27; z *= 0x94d049bb133111eb
  low = (low ^ ((low >>> 27) | (high << 5))) >>> 0;
  high = (high ^ (high >>> 27)) >>> 0;
  [high, low] = times(high, low, 0x94d049bb, 0x133111eb);
  // z ^= z >>> 31
  low = (low ^ ((low >>> 31) | (high << 1))) >>> 0;
  high = (high ^ (high >>> 31)) >>> 0;
  return { high, low };
}

/** How many grants one side believes to be held, and the sum of their mixed fences: equal only if they are the same ones. */
export class GrantDigest {
  private grants = 0;
  private high = 0;
  private low = 0;

  get count(): number {
    return this.grants;
  }

  /** The sum modulo 2^64. */
  get sum(): bigint {
    return (BigInt(this.high) << 32n) | BigInt(this.low);
  }

  add({ high, low }: Mixed): void {
    this.grants++;
    const sum = this.low + low;
    this.low = sum >>> 0;
    this.high = (this.high + high + (sum >= TWO_32 ? 1 : 0)) >>> 0;
  }

  remove({ high, low }: Mixed): void {
    this.grants--;
    const difference = this.low - low;
    this.low = difference >>> 0;
    this.high = (this.high - high - (difference < 0 ? 1 : 0)) >>> 0;
  }

  equals(count: number, sum: bigint): boolean {
    return this.grants === count && this.sum === sum;
  }
}

/** The low 64 bits of a product, in halves. */
function times(aHigh: number, aLow: number, bHigh: number, bLow: number): [high: number, low: number] {
  const [a0, a1] = [aLow & 0xffff, aLow >>> 16];
  const [b0, b1] = [bLow & 0xffff, bLow >>> 16];
  const low = a0 * b0;
  const middle = a1 * b0 + (low >>> 16);
  const rest = (middle & 0xffff) + a0 * b1;
  const carry = a1 * b1 + Math.floor(middle / 65_536) + Math.floor(rest / 65_536);
  const high = Math.imul(aHigh, bLow) + Math.imul(aLow, bHigh) + carry;
  return [high >>> 0, Math.imul(aLow, bLow) >>> 0];
}
