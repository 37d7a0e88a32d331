import type { Timer } from '../../core/index.js';

interface Entry {
  readonly atMs: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/**
 * True time, and everything that is going to happen in it: one heap, nothing runs beside it. Each event is worked off
 * completely, promises included, before the next one begins.
 */
export class Timeline {
  nowMs = 0;
  /** Events worked off so far. */
  events = 0;
  private readonly heap: Entry[] = [];
  private order = 0;

  /** Runs `run` at this instant, after everything planned for it before; an instant that is past counts as now. */
  at(atMs: number, run: () => void): Timer {
    const entry: Entry = { atMs: Math.max(atMs, this.nowMs), order: this.order++, run };
    this.push(entry);
    return { cancel: () => void (entry.run = undefined) };
  }

  /** Works off events up to `endMs`, or until `isOver`. */
  async run(endMs: number, isOver: () => boolean): Promise<void> {
    for (let first = this.heap[0]; first !== undefined && first.atMs <= endMs; first = this.heap[0]) {
      this.pop();
      if (first.run === undefined) continue;
      this.nowMs = first.atMs;
      this.events++;
      first.run();
      await drain();
      if (isOver()) return;
    }
    this.nowMs = Math.max(this.nowMs, endMs);
  }

  private push(entry: Entry): void {
    const { heap } = this;
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(entry, heap[parent] as Entry)) break;
      heap[index] = heap[parent] as Entry;
      index = parent;
    }
    heap[index] = entry;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (let child = 1; child < heap.length; child = 2 * index + 1) {
      if (child + 1 < heap.length && before(heap[child + 1] as Entry, heap[child] as Entry)) child++;
      if (!before(heap[child] as Entry, last)) break;
      heap[index] = heap[child] as Entry;
      index = child;
    }
    heap[index] = last;
  }
}

/** Rounds of ticks until nothing is under way: a flush at the end of a turn may settle promises, which may flush again. */
const ROUNDS = 3;

/** Lets promises and ticks settle, in an order that is always the same. */
async function drain(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++)
    await new Promise<void>((resolve) => process.nextTick(resolve));
}

function before(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
