import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import type { FenceProof, LockHandle } from '../core/index.js';
import type { ClientConnection } from './client-connection.js';

/** One lock a request was granted. */
export interface GrantedLock {
  readonly lock: LockHandle;
  /** Names the store: fences of different stores are not comparable. */
  readonly store: string;
}

/** What `request.klock` holds: filled when a decorated method of this request is granted its lock, readable ever after. */
export interface KlockSlot {
  /** The first lock granted in this request: the handler's own where the handler is decorated. */
  readonly lock: LockHandle | undefined;
  /** Its fence. */
  readonly fence: bigint | undefined;
  /** All locks granted in this request, in order; at most 16 are kept. */
  readonly granted: readonly GrantedLock[];
  /** The fence the request came with, once `@Fenced` has accepted it. */
  readonly accepted: FenceProof | undefined;
}

/** A request that takes more locks than this has no use for a list of them, and its header would grow without bound. */
const MAX_GRANTED = 16;

type OnGrant = (granted: readonly GrantedLock[]) => void;

const BRAND = Symbol.for('klock.nest.slot.v1');

/** @internal */
export class LockSlot implements KlockSlot {
  readonly granted: GrantedLock[] = [];
  readonly [BRAND] = true;
  accepted: FenceProof | undefined = undefined;
  /** What accepted it: the rule of one handler. */
  acceptedBy: object | undefined = undefined;
  /** What the client called by, where Nest does not tell streams that it has gone. */
  connection: ClientConnection | undefined = undefined;
  private onGrant: OnGrant | undefined = undefined;

  /** Guards open a slot before there is anybody to listen. */
  listen(onGrant: OnGrant): void {
    this.onGrant ??= onGrant;
  }

  get lock(): LockHandle | undefined {
    return this.granted[0]?.lock;
  }

  get fence(): bigint | undefined {
    return this.lock?.fence;
  }

  fill(granted: GrantedLock): void {
    if (this.granted.length === MAX_GRANTED) return;
    this.granted.push(granted);
    this.onGrant?.(this.granted);
  }
}

/** Where the slot of a call lives: the request, the RPC context, the GraphQL context; for WebSocket the execution context, since a client is shared by many calls. */
function holderOf(context: ExecutionContext): { klock?: unknown } {
  const holder: unknown = candidate(context);
  return typeof holder === 'object' && holder !== null ? holder : (context as { klock?: unknown });
}

function candidate(context: ExecutionContext): unknown {
  switch (context.getType<string>()) {
    case 'http':
      return context.switchToHttp().getRequest();
    case 'rpc':
      return context.switchToRpc().getContext();
    case 'graphql':
      return context.getArgByIndex(2);
    default:
      return context;
  }
}

/** The slot of the call an execution context stands for; undefined where neither `KlockInterceptor` nor `@Fenced` has opened one. */
export function lockSlot(context: ExecutionContext): KlockSlot | undefined {
  return slotOf(context);
}

/** The same with what only klock itself reads. */
export function slotOf(context: ExecutionContext): LockSlot | undefined {
  const { klock } = holderOf(context);
  return isSlot(klock) ? klock : undefined;
}

/** Opens the slot, or returns the one that is open. */
export function openSlot(context: ExecutionContext): LockSlot {
  const holder = holderOf(context);
  if (isSlot(holder.klock)) return holder.klock;
  const slot = new LockSlot();
  holder.klock = slot;
  return slot;
}

function isSlot(value: unknown): value is LockSlot {
  return typeof value === 'object' && value !== null && BRAND in value;
}

const SHARED = Symbol.for('klock.nest.slot-flow.v1');
type Shared = { [SHARED]?: AsyncLocalStorage<LockSlot> };

/** Runs a handler with its slot known to everything it calls: convenience only, no lock depends on it. */
export function runWithSlot<T>(slot: LockSlot, run: () => T): T {
  const shared = globalThis as Shared;
  return (shared[SHARED] ??= new AsyncLocalStorage<LockSlot>()).run(slot, run);
}

/** The slot of the running request. */
export function currentSlot(): LockSlot | undefined {
  return (globalThis as Shared)[SHARED]?.getStore();
}
