import { NumberMap, allOf } from '../core/index.js';
import type { CallId } from './commands.js';
import { Request } from './request.js';

/** Which request each waiting call waits for. A call of the host's own process needs no table: it knows its request. */
export class CallBook {
  private readonly numbered = new NumberMap<Request>();

  /** Waiting calls that have a number. */
  get size(): number {
    return this.numbered.size;
  }

  /** What the call waits for; undefined once it was answered, and for one that is not known. */
  requestOf(callId: CallId): Request | undefined {
    if (typeof callId === 'number') return this.numbered.get(callId);
    const { place } = callId;
    return place instanceof Request && allOf(place.calls).includes(callId) ? place : undefined;
  }

  add(callId: CallId, request: Request): void {
    if (typeof callId === 'number') this.numbered.set(callId, request);
    else callId.place = request;
  }

  delete(callId: CallId): void {
    if (typeof callId === 'number') this.numbered.delete(callId);
  }
}
