import { pause, type Clock, type Instant, type Random } from '../../core/index.js';
import { MAX_COPY_AGE_MS, MAX_PAUSE_MS, MIN_PAUSE_MS } from './bounds.js';
import { StoreRefusal, Unanswered, failureKind } from './call-failure.js';
import { Login } from './login.js';
import { Members } from './members.js';
import type { Method } from './methods.js';
import { CallError, type Transport } from './transport.js';

/** One answered call. */
export interface Answer<Res> {
  readonly reply: Res;
  /** Both clocks, read before the answered copy was handed to the client library. */
  readonly sentAt: Instant;
}

export interface CallOptions {
  /** How long the answer may take in all, over as many members and copies as fit. */
  readonly budgetMs: number;
  /** Asked before each copy; false ends the call as unanswered. */
  readonly wanted?: () => boolean;
  /** Told before each copy is handed over. */
  readonly sending?: () => void;
}

export interface StoreCallsHost {
  readonly clock: Clock;
  readonly random: Random;
  storeState(state: 'available' | 'unavailable', cause?: unknown): void;
}

/** Calls that outlive a member: each copy has a deadline of its own, and the next one goes to the next member. */
export class StoreCalls {
  readonly members: Members;
  private readonly login: Login;
  private closed = false;

  constructor(
    private readonly host: StoreCallsHost,
    readonly transport: Transport,
    user: { readonly name: string; readonly password: string } | undefined,
    readonly timeoutMs: number,
  ) {
    this.members = new Members(transport.members, host.random.fraction());
    this.login = new Login(transport, user, timeoutMs);
  }

  /** The token for streams; a first unary call has fetched it. */
  get token(): string | undefined {
    return this.login.token;
  }

  /** A stream was refused for its token: another is fetched. Never rejects; without one the next stream fails again. */
  async renewLogin(): Promise<void> {
    this.login.forget(this.login.token);
    try {
      await this.login.ensure(this.members.current);
    } catch {
      this.members.failed(this.members.current);
    }
  }

  /**
   * Asks until someone answers. Only for requests that may be carried out more than once.
   * @throws StoreRefusal, Unanswered
   */
  async call<Req, Res>(
    method: Method<Req, Res>,
    request: Partial<Req>,
    options: CallOptions,
  ): Promise<Answer<Res>> {
    const { clock } = this.host;
    const startMs = clock.monoMs();
    const endMs = startMs + Math.min(options.budgetMs, MAX_COPY_AGE_MS);
    let last: unknown;
    let loggedInAgain = false;
    for (let attempt = 0; ; attempt++) {
      const leftMs = Math.ceil(endMs - clock.monoMs());
      if (leftMs <= 0 || this.closed || options.wanted?.() === false) break;
      const outcome = await this.attempt(method, request, Math.min(this.timeoutMs, leftMs), options);
      if (!(outcome instanceof CallError)) return outcome;
      last = outcome;
      // Nobody was slow: the token was over, as tokens are from time to time.
      const atOnce: boolean = !loggedInAgain && failureKind(outcome) === 'login';
      loggedInAgain ||= atOnce;
      if (!atOnce) await this.pause(attempt, endMs);
    }
    if (options.wanted?.() !== false && !this.closed) this.host.storeState('unavailable', last);
    throw new Unanswered(last);
  }

  close(): void {
    this.closed = true;
    this.transport.close();
  }

  /** One copy to one member; an unresolved failure is returned, a definite one thrown. */
  private async attempt<Req, Res>(
    method: Method<Req, Res>,
    request: Partial<Req>,
    timeoutMs: number,
    options: CallOptions,
  ): Promise<Answer<Res> | CallError> {
    const member = this.members.current;
    let token: string | undefined;
    try {
      token = await this.login.ensure(member);
      if (options.wanted?.() === false) return new CallError(1, 'nobody waits for it any more', member);
      options.sending?.();
      const sentAt = this.host.clock.now();
      const reply = await this.transport.unary(member, method, request, { timeoutMs, token });
      this.host.storeState('available');
      return { reply, sentAt };
    } catch (error) {
      return this.failed(error, member, token);
    }
  }

  private failed(error: unknown, member: number, token: string | undefined): CallError {
    if (!(error instanceof CallError)) throw error;
    const kind = failureKind(error);
    // Without a token it was the login itself that failed.
    if (kind === 'login' && token !== undefined) this.login.forget(token);
    else if (kind !== 'unresolved') throw new StoreRefusal(kind, error);
    else this.members.failed(member);
    return error;
  }

  /** No pause while there are members not asked yet; then longer ones, by lot, so that clients do not come back together. */
  private pause(attempt: number, endMs: number): Promise<void> {
    const round = attempt + 1 - this.members.size;
    if (round < 0) return Promise.resolve();
    const { clock, random } = this.host;
    const upToMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(round, 10));
    const pauseMs = Math.min(upToMs * (0.5 + random.fraction() / 2), Math.max(0, endMs - clock.monoMs()));
    return pause(clock, pauseMs);
  }
}
