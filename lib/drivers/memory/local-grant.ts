import type { DriverGrant, GrantEnd, Instant, KeptLease, LockKey, Random } from '../../core/index.js';
import type { Grant } from '../../engine/index.js';
import type { LocalSession } from './local-session.js';

/** A grant that knows its session. Its token is made when somebody looks at it: before that nobody can show it. */
export class LocalGrant implements DriverGrant {
  readonly granted = true;
  /** Given back, or ended otherwise. */
  over = false;
  ended: GrantEnd | undefined = undefined;
  private shown: string | undefined = undefined;

  constructor(
    readonly session: LocalSession,
    readonly grant: Grant,
    readonly decidedAt: Instant | undefined,
    private readonly tokens: TokenBook,
  ) {
    grant.holder = this;
  }

  /** A call in process is made once and asked for by nobody: what names its grant names it. */
  get requestId(): string {
    return String(this.grant.fence);
  }

  get key(): LockKey {
    return this.grant.key;
  }

  get fence(): bigint {
    return this.grant.fence;
  }

  get span(): number {
    return this.grant.span;
  }

  get lease(): KeptLease {
    return this.session.lease;
  }

  get token(): string {
    return (this.shown ??= this.tokens.make(this));
  }

  end(): void {
    this.over = true;
    if (this.shown !== undefined) this.tokens.forget(this.shown);
  }
}

/** Live grants whose token somebody has seen. */
export class TokenBook {
  private readonly grants = new Map<string, LocalGrant>();

  constructor(private readonly random: Random) {}

  make(grant: LocalGrant): string {
    const token = `lk_${this.random.id()}`;
    if (!grant.over) this.grants.set(token, grant);
    return token;
  }

  get(token: string): LocalGrant | undefined {
    return this.grants.get(token);
  }

  forget(token: string): void {
    this.grants.delete(token);
  }
}
