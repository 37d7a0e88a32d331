import { randomFillSync } from 'node:crypto';

/** Unpredictability as klock needs it; handed in, so that simulations replay. */
export interface Random {
  /** 128 unpredictable bits as 32 lower-case hex digits: tokens, session ids, request ids. */
  id(): string;
  /** A number in [0, 1): jitter, nothing secret. */
  fraction(): number;
}

const ID_BYTES = 16;
/** One system call fills ids for 256 grants: a call for each would cost more than the grant. */
const POOL_BYTES = 256 * ID_BYTES;

class SystemRandom implements Random {
  private readonly pool = Buffer.alloc(POOL_BYTES);
  private used = POOL_BYTES;

  id(): string {
    if (this.used === POOL_BYTES) {
      randomFillSync(this.pool);
      this.used = 0;
    }
    this.used += ID_BYTES;
    return this.pool.toString('hex', this.used - ID_BYTES, this.used);
  }

  fraction(): number {
    return Math.random();
  }
}

/** The machine's random source. */
export const systemRandom: Random = new SystemRandom();
