import type { CancelAnswer } from './commands.js';
import { AgedMemory } from './aged-memory.js';
import { LocalRequests, NamedRequests, type LiveRequests } from './live-requests.js';
import type { Request } from './request.js';

export interface RequestMemoryLimits {
  readonly rememberedRequests: number;
  readonly rememberMs: number;
}

/** What one session has asked for (design D4). Dies with the session. */
export class RequestMemory {
  /** Requests that wait, are detached or hold: pinned for as long as they do. */
  readonly live: LiveRequests;
  /** Requests that are over for good, with what a cancel of them is answered. */
  readonly finished: AgedMemory<CancelAnswer['type']>;
  /** Release ids that succeeded, with their token. */
  readonly releases: AgedMemory<string>;

  /** @param local whether nobody asks for a request by its id. */
  constructor(limits: RequestMemoryLimits, local: boolean) {
    this.live = local ? new LocalRequests() : new NamedRequests();
    this.finished = new AgedMemory(limits.rememberedRequests, limits.rememberMs);
    this.releases = new AgedMemory(limits.rememberedRequests, limits.rememberMs);
  }

  /** Ids remembered although they are over. */
  get remembered(): number {
    return this.finished.size + this.releases.size;
  }

  /** A live request is over: its id stands for this from now on. */
  finish(request: Request, outcome: CancelAnswer['type'], nowMs: number): void {
    this.live.delete(request);
    this.finished.remember(request.requestId, outcome, nowMs);
  }

  /** Drops some of what is too old; called where the session shows life without asking for anything. */
  dropAged(nowMs: number): void {
    this.finished.dropAged(nowMs);
    this.releases.dropAged(nowMs);
  }
}
