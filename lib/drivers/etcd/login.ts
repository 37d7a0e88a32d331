import type { EtcdSettings } from './etcd-options.js';
import { METHODS } from './methods.js';
import type { Transport } from './transport.js';

/** The token that goes with every call, where a user is given. Asked for once for all who wait for it. */
export class Login {
  private known: string | undefined = undefined;
  private asking: Promise<string> | undefined = undefined;

  constructor(
    private readonly transport: Transport,
    private readonly user: EtcdSettings['login'],
    private readonly timeoutMs: number,
  ) {}

  /** The token as far as it is known now, for streams. */
  get token(): string | undefined {
    return this.known;
  }

  /** @throws CallError of the member that was asked. */
  async ensure(member: number): Promise<string | undefined> {
    if (this.user === undefined || this.known !== undefined) return this.known;
    this.asking ??= this.ask(member).finally(() => (this.asking = undefined));
    return await this.asking;
  }

  /** The store does not know this token any more. */
  forget(token: string | undefined): void {
    if (token === this.known) this.known = undefined;
  }

  private async ask(member: number): Promise<string> {
    const { token } = await this.transport.unary(member, METHODS.authenticate, this.user ?? {}, {
      timeoutMs: this.timeoutMs,
      token: undefined,
    });
    this.known = token;
    return token;
  }
}
