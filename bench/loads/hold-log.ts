import type { Key } from '../contenders/contender.js';

/** Holds of one process, in the order in which they were got. Columns, since there are very many. */
export interface Holds {
  readonly keys: readonly Key[];
  /** Which of the keys. */
  readonly key: Uint32Array;
  readonly fence: BigInt64Array;
  /** Milliseconds on the monotonic clock that all processes of a machine share. */
  readonly calledMs: Float64Array;
  readonly grantedMs: Float64Array;
}

/** Of each load the first so many: enough to see a store that is wrong, little enough not to be what is measured. */
export const MAX_HOLDS = 2 ** 14;

/** From this process's clock to that of the machine: of many readings the one that nothing came between. */
function offsetMs(): number {
  let best = { offset: 0, width: Infinity };
  for (let tries = 0; tries < 100; tries++) {
    const before = performance.now();
    const machine = Number(process.hrtime.bigint()) / 1e6;
    const width = performance.now() - before;
    if (width < best.width) best = { offset: machine - before, width };
  }
  return best.offset;
}

const OFFSET_MS = offsetMs();

/** Notes holds whose contender has fences; the sections of a benchmark are empty, so each is a moment. */
export class HoldLog {
  private readonly keys: Key[] = [];
  private readonly fences: bigint[] = [];
  private readonly calledMs = new Float64Array(MAX_HOLDS);
  private readonly grantedMs = new Float64Array(MAX_HOLDS);

  get isFull(): boolean {
    return this.fences.length >= MAX_HOLDS;
  }

  /** @param calledMs when it was asked for, on `performance.now()` */
  add(key: Key, fence: bigint | undefined, calledMs: number): void {
    const at = this.fences.length;
    if (fence === undefined || at >= MAX_HOLDS) return;
    this.keys.push(key);
    this.fences.push(fence);
    this.calledMs[at] = calledMs;
    this.grantedMs[at] = performance.now();
  }

  /** For the process that checks. */
  get holds(): Holds {
    const { length } = this.fences;
    const known = new Map<string, number>();
    const keys: Key[] = [];
    const key = Uint32Array.from(this.keys, (each) => {
      const name = each.join('\n');
      const at = known.get(name) ?? keys.push(each) - 1;
      known.set(name, at);
      return at;
    });
    const shared = (times: Float64Array): Float64Array => times.slice(0, length).map((ms) => ms + OFFSET_MS);
    return {
      keys,
      key,
      fence: BigInt64Array.from(this.fences),
      calledMs: shared(this.calledMs),
      grantedMs: shared(this.grantedMs),
    };
  }
}
