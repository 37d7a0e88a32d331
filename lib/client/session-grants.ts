import type { DriverGrant } from '../core/index.js';

/** A grant that knows where it stands among those of its session. */
export interface SessionGrant extends DriverGrant {
  /** Written by {@link SessionGrants} only; -1 while it rests on no session. */
  place: number;
}

/** What rests on a session, in no order. Nothing is looked up for a grant: it says itself where it stands. */
export class SessionGrants {
  private readonly grants: SessionGrant[] = [];
  /** Made when somebody first asks for a token: most programs never do. */
  private byToken: Map<string, SessionGrant> | undefined = undefined;

  get size(): number {
    return this.grants.length;
  }

  has(grant: SessionGrant): boolean {
    return this.grants[grant.place] === grant;
  }

  add(grant: SessionGrant): void {
    grant.place = this.grants.length;
    this.grants.push(grant);
    this.byToken?.set(grant.token, grant);
  }

  remove(grant: SessionGrant): void {
    if (!this.has(grant)) return;
    const last = this.grants.pop() as SessionGrant;
    if (last !== grant) this.grants[grant.place] = last;
    last.place = grant.place;
    grant.place = -1;
    this.byToken?.delete(grant.token);
  }

  withToken(token: string): SessionGrant | undefined {
    this.byToken ??= new Map(this.grants.map((grant) => [grant.token, grant]));
    return this.byToken.get(token);
  }

  /** All of them as of now. */
  all(): readonly SessionGrant[] {
    return [...this.grants];
  }

  clear(): void {
    for (const grant of this.grants) grant.place = -1;
    this.grants.length = 0;
    this.byToken = undefined;
  }
}
