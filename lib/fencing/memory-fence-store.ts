import { keyId, optionError, quote, refuseUnknown, type FenceProof } from '../core/index.js';
import {
  checkProof,
  checkStores,
  foreignFence,
  staleFence,
  storeNameOf,
  type FenceStore,
  type FenceStoreOptions,
} from './fence-store.js';
import { DEFAULT_MAX_MARKS } from './limits.js';
import { larger, markAgainst, raise, type TreeMarks } from './two-mark-rule.js';

export interface MemoryFenceStoreOptions extends FenceStoreOptions {
  /** How many marks are kept one by one, from 2 on. Default 100,000. */
  readonly maxMarks?: number;
}

interface Tree {
  marks: TreeMarks;
  /** The largest mark of an L2 that is not kept by itself any more. */
  forgotten: bigint;
}

interface Leaf {
  readonly tree: Tree;
  mark: bigint;
}

/**
 * Marks of one process, for a resource that is written by this process alone.
 *
 * Bounded without forgetting: the mark that was raised longest ago is folded into a floor, that of an L2 into its L1's,
 * that of an L1 into the store's, and a key without a mark of its own is judged by the floor. So a stale write is refused
 * however few marks are kept; the price of too few is that a grant older than all of them may be refused its first write.
 * @throws InvalidOptionError
 */
export function memoryFenceStore(options: MemoryFenceStoreOptions = {}): FenceStore {
  refuseUnknown('memoryFenceStore', options, ['stores', 'maxMarks']);
  const { maxMarks = DEFAULT_MAX_MARKS } = options;
  // One write may need two: its L2's and its L1's.
  if (!Number.isSafeInteger(maxMarks) || maxMarks < 2) {
    throw optionError('maxMarks', 'a whole number from 2 on', maxMarks);
  }
  return new MemoryFenceStore(checkStores(options.stores), maxMarks);
}

class MemoryFenceStore implements FenceStore {
  /** In the order in which they were raised; an L1 always after its L2s, so that it is folded after them. */
  private readonly marks = new Map<string, Tree | Leaf>();
  private floor = 0n;
  private store: string | undefined = undefined;

  constructor(
    readonly stores: readonly string[] | undefined,
    private readonly maxMarks: number,
  ) {}

  // Async, so that what is refused is a rejection as with every other store. Nobody else runs between look and raise.
  // eslint-disable-next-line @typescript-eslint/require-await
  async accept(given: FenceProof): Promise<void> {
    const proof = checkProof(given);
    const store = storeNameOf(proof, this.stores);
    if (this.store !== undefined && this.store !== store) throw foreignFence(proof, quote(this.store));
    this.decide(proof);
    this.store = store;
  }

  private decide(proof: FenceProof): void {
    const { key, fence } = proof;
    const treeId = keyId([key[0]]);
    const tree = (this.marks.get(treeId) as Tree | undefined) ?? this.unknownTree();
    const leafId = keyId(key);
    const own =
      key.length === 1 ? 0n : ((this.marks.get(leafId) as Leaf | undefined)?.mark ?? tree.forgotten);
    const seen = markAgainst(key, tree.marks, own);
    if (fence < seen) throw staleFence(proof, seen);
    tree.marks = raise(key, tree.marks, fence);
    if (key.length === 2) this.touch(leafId, { tree, mark: fence });
    this.touch(treeId, tree);
    this.fold();
  }

  /** Whatever was folded of it lies at or below the floor. */
  private unknownTree(): Tree {
    return { marks: { l1: this.floor, any: this.floor }, forgotten: this.floor };
  }

  private touch(id: string, entry: Tree | Leaf): void {
    this.marks.delete(id);
    this.marks.set(id, entry);
  }

  private fold(): void {
    for (const [id, entry] of this.marks) {
      if (this.marks.size <= this.maxMarks) return;
      this.marks.delete(id);
      if ('tree' in entry) entry.tree.forgotten = larger(entry.tree.forgotten, entry.mark);
      else this.floor = larger(this.floor, entry.marks.any);
    }
  }
}
