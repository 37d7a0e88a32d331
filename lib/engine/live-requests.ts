import { LinkedList, SlotMap } from '../core/index.js';
import type { Request } from './request.js';

/** Requests of one session that are not over, in the order in which they came. */
export interface LiveRequests {
  readonly size: number;
  get(id: string): Request | undefined;
  add(request: Request): void;
  delete(request: Request): void;
  /** The one that was returned last may be deleted meanwhile. */
  values(): Iterable<Request>;
}

/** Found by their ids, which clients choose. */
export class NamedRequests implements LiveRequests {
  private readonly byId = new SlotMap<Request>();

  get size(): number {
    return this.byId.size;
  }

  get(id: string): Request | undefined {
    return this.byId.get(id);
  }

  add(request: Request): void {
    this.byId.set(request.requestId, request);
  }

  delete(request: Request): void {
    this.byId.delete(request.requestId);
  }

  values(): Iterable<Request> {
    return this.byId.values();
  }
}

/** Of a local session: nobody asks for one by its id, and the links live in the requests. */
export class LocalRequests implements LiveRequests {
  private readonly requests = new LinkedList<Request>();

  get size(): number {
    return this.requests.size;
  }

  get(): undefined {
    return undefined;
  }

  add(request: Request): void {
    this.requests.add(request);
  }

  delete(request: Request): void {
    this.requests.delete(request);
  }

  values(): Iterable<Request> {
    return [...this.requests];
  }
}
