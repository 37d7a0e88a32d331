import type { Due } from './deadline-heap.js';
import { RequestMemory, type RequestMemoryLimits } from './request-memory.js';

const FORGETFUL: RequestMemoryLimits = { rememberedRequests: 0, rememberMs: 0 };

/** One client's liveness contract with the store. Its grants and waiters live no longer than it. */
export class Session implements Due {
  /** When the lease ends. */
  dueMs = Infinity;
  heapIndex = -1;
  sooner: Due | undefined = undefined;
  later: Due | undefined = undefined;
  /** Keys it has released that stay taken (`keepMs`): counted against its locks. */
  keptKeys = 0;
  requests: RequestMemory;

  constructor(
    readonly id: string,
    readonly leaseMs: number,
    readonly client: string | undefined,
    limits: RequestMemoryLimits,
    /** See `OpenSession.local`. */
    readonly local = false,
    readonly host?: string,
  ) {
    this.requests = new RequestMemory(local ? FORGETFUL : limits, local);
  }

  /** Nothing it asked for is remembered: it has ended, and a key it left taken must not hold on to it; or its host remembers. */
  forget(): void {
    this.requests = new RequestMemory(FORGETFUL, this.local);
  }
}
