const TWO_32 = 4_294_967_296;

/**
 * How many grants one side believes to be held, and the sum of their mixed fences: equal only if they are the same ones.
 * In halves of 32 bits, signed as a processor has them: bigints, and numbers beyond that, would cost more than the rest of
 * a grant.
 */
export class GrantDigest {
  private grants = 0;
  private high = 0;
  private low = 0;
  /** The fence mixed last. */
  private mixedHigh = 0;
  private mixedLow = 0;

  get count(): number {
    return this.grants;
  }

  /** The sum modulo 2^64. */
  get sum(): bigint {
    return (BigInt(this.high >>> 0) << 32n) | BigInt(this.low >>> 0);
  }

  add(fence: bigint): void {
    this.mix(fence);
    this.grants++;
    const low = (this.low >>> 0) + (this.mixedLow >>> 0);
    this.high = (this.high + this.mixedHigh + (low >= TWO_32 ? 1 : 0)) | 0;
    this.low = low | 0;
  }

  remove(fence: bigint): void {
    this.mix(fence);
    this.grants--;
    const low = (this.low >>> 0) - (this.mixedLow >>> 0);
    this.high = (this.high - this.mixedHigh - (low < 0 ? 1 : 0)) | 0;
    this.low = low | 0;
  }

  equals(count: number, sum: bigint): boolean {
    return this.grants === count && this.sum === sum;
  }

  /** The finalizer of SplitMix64: nearby fences give sums that do not look alike. */
  private mix(fence: bigint): void {
    const number = Number(fence);
    const small = number <= Number.MAX_SAFE_INTEGER;
    let high = small ? Math.floor(number / TWO_32) | 0 : Number(BigInt.asIntN(32, fence >> 32n));
    let low = small ? number | 0 : Number(BigInt.asIntN(32, fence));
    // z ^= z >>> 30; z *= 0xbf58476d1ce4e5b9
    low ^= (low >>> 30) | (high << 2);
    high ^= high >>> 30;
    high = upperHalf(high, low, 0xbf58476d, 0x1ce4e5b9);
    low = Math.imul(low, 0x1ce4e5b9);
    // z ^= z >>> 27; z *= 0x94d049bb133111eb
    low ^= (low >>> 27) | (high << 5);
    high ^= high >>> 27;
    high = upperHalf(high, low, 0x94d049bb, 0x133111eb);
    low = Math.imul(low, 0x133111eb);
    // z ^= z >>> 31
    this.mixedLow = low ^ ((low >>> 31) | (high << 1));
    this.mixedHigh = high ^ (high >>> 31);
  }
}

/** Bits 32 to 63 of a product of two numbers in halves. */
function upperHalf(aHigh: number, aLow: number, bHigh: number, bLow: number): number {
  const [a0, a1] = [aLow & 0xffff, aLow >>> 16];
  const [b0, b1] = [bLow & 0xffff, bLow >>> 16];
  const middle = a1 * b0 + ((a0 * b0) >>> 16);
  const rest = (middle & 0xffff) + a0 * b1;
  const carry = a1 * b1 + (middle >>> 16) + (rest >>> 16);
  return (Math.imul(aHigh, bLow) + Math.imul(aLow, bHigh) + carry) | 0;
}
