import type { LinkId } from './call-outcome.js';
import type { Verdict } from './verdict.js';

/**
 * Copies of one acquire that may still take effect: sent, and not answered. A wait must not end while there are any,
 * or a lock could be granted that nobody owns (WK-01, design D4).
 */
export class Doubts {
  private readonly links = new Set<LinkId>();

  /** Whether a copy may still be under way. */
  get open(): boolean {
    return this.links.size > 0;
  }

  /** A copy was sent on this connection and its answer was not read. */
  add(link: LinkId): void {
    this.links.add(link);
  }

  /** Every copy has met its answer: it was granted and the token is known, or its session is over. */
  clear(): void {
    this.links.clear();
  }

  /** Another copy of the request was answered on `link`: what that says about the earlier ones. */
  answered(verdict: Verdict, link: LinkId): void {
    switch (verdict) {
      case 'session-over':
      case 'other-server':
      case 'conflict':
        // The session took its locks with it; a used-up id is never granted again.
        this.clear();
        break;
      case 'busy':
        // The server reads one connection in order: copies sent on it before are part of this answer.
        // What was sent on a connection that broke may still lie in a buffer.
        this.links.delete(link);
        break;
      case 'unresolved':
        this.add(link);
        break;
      default:
    }
  }
}
