import { AsyncLocalStorage } from 'node:async_hooks';
import type { Hold } from './hold.js';
import type { LockHandle } from './lock-handle.js';
import { keyCovers, keysConflict, type LockKey } from './lock-key.js';

/** One lock held by a flow: a node of the tree of sections (design D10). */
export interface Frame {
  readonly parent: Frame | undefined;
  readonly store: string;
  /** With namespace and prefix. */
  readonly key: LockKey;
  readonly hold: Hold;
  readonly handle: LockHandle;
  readonly label: string | undefined;
  /** The instance the frame belongs to, for `klock.current()`. */
  readonly instance: object;
}

const SHARED = Symbol.for('klock.flow.v1');
type Shared = { [SHARED]?: AsyncLocalStorage<Frame | undefined> };

let known: AsyncLocalStorage<Frame | undefined> | undefined;

/**
 * One storage for all copies of the package in the process, so that a flow is one flow whoever wraps it. Made when first
 * asked for; it costs nothing before somebody runs in it.
 */
function storage(): AsyncLocalStorage<Frame | undefined> {
  return known ?? (known = sharedStorage());
}

function sharedStorage(): AsyncLocalStorage<Frame | undefined> {
  return ((globalThis as Shared)[SHARED] ??= new AsyncLocalStorage<Frame | undefined>());
}

/** The innermost frame of the running flow. */
export function currentFrame(): Frame | undefined {
  return storage().getStore();
}

/** Runs `work` inside a frame; everything it calls and awaits sees it. */
export function runInFrame<T>(frame: Frame, work: () => T): T {
  return storage().run(frame, work);
}

/** Runs `work` as if no section were around it: for what outlives the call that began it. */
export function runOutsideFlow<T>(work: () => T): T {
  return currentFrame() === undefined ? work() : storage().run(undefined, work);
}

/** What the flow's own locks mean for one more acquire. */
export type FlowVerdict =
  | { readonly verdict: 'free' }
  /** Covered by a lock the flow holds. */
  | { readonly verdict: 'covered'; readonly frame: Frame }
  /** A branch running beside this one uses the same lock for a conflicting key. */
  | { readonly verdict: 'parallel'; readonly frame: Frame }
  /** It would wait for an L2 of its own flow. */
  | { readonly verdict: 'upgrade'; readonly frame: Frame };

const FREE: FlowVerdict = { verdict: 'free' };

/** Judges an acquire of `key` of `store` by the frames around it; frames no longer held count as absent. */
export function judge(store: string, key: LockKey): FlowVerdict {
  const here = currentFrame();
  let upgrade: Frame | undefined;
  for (let frame = here; frame !== undefined; frame = frame.parent) {
    if (frame.store !== store || !keysConflict(frame.hold.grant.key, key) || !frame.hold.held) continue;
    if (keyCovers(frame.hold.grant.key, key)) return branchVerdict(frame, here as Frame, key);
    upgrade ??= frame;
  }
  return upgrade === undefined ? FREE : { verdict: 'upgrade', frame: upgrade };
}

function branchVerdict(covering: Frame, here: Frame, key: LockKey): FlowVerdict {
  for (const other of covering.hold.frames) {
    if (keysConflict(other.key, key) && !isAround(other, here)) return { verdict: 'parallel', frame: other };
  }
  return { verdict: 'covered', frame: covering };
}

function isAround(frame: Frame, inner: Frame): boolean {
  for (let at: Frame | undefined = inner; at !== undefined; at = at.parent) if (at === frame) return true;
  return false;
}
