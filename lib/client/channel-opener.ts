import type { Metadata } from '@grpc/grpc-js';
import type { Clock } from '../core/index.js';
import { durationToWire, type ServerFrame, type SessionResponse } from '../rpc/index.js';
import type { CallOutcome, TransportStatus } from '../session/index.js';
import { helloFrame } from './channel-frames.js';
import { ChannelStream, type StreamListener } from './channel-stream.js';
import type { Connection } from './connection.js';
import type { Link } from './link.js';
import type { LockService } from './lock-service.js';

const MIN_OPEN_MS = 250;
const MAX_OPEN_MS = 2_000;

/** Opens sessions by opening a stream for each, and keeps the stream until the session's owner takes it. */
export class ChannelOpener {
  private readonly unclaimed = new Map<string, ChannelStream>();

  constructor(
    private readonly service: LockService,
    private readonly connection: Connection,
    private readonly clock: Clock,
    private readonly metadata: Metadata,
    private readonly client: string,
    private readonly host: string,
  ) {}

  open(link: Link, listener: StreamListener): ChannelStream {
    return new ChannelStream(link, this.metadata, listener);
  }

  /** The stream of a session that was just opened. */
  claim(sessionId: string): ChannelStream | undefined {
    const stream = this.unclaimed.get(sessionId);
    this.unclaimed.delete(sessionId);
    return stream;
  }

  /** The session is not wanted: its stream goes too, if nobody took it. */
  discard(sessionId: string): void {
    this.claim(sessionId)?.close();
  }

  /** As the call of the same name: always answered, within two seconds of the connection. */
  async createSession(leaseMs: number): Promise<CallOutcome<SessionResponse>> {
    const link = await this.service.link(Infinity);
    if ('kind' in link) return link;
    return new Promise((resolve) => this.greet(link, leaseMs, resolve));
  }

  private greet(link: Link, leaseMs: number, resolve: (outcome: CallOutcome<SessionResponse>) => void): void {
    const sentAt = this.clock.now();
    const timeoutMs = Math.min(MAX_OPEN_MS, Math.max(MIN_OPEN_MS, leaseMs));
    const failed = (status: TransportStatus, cause: unknown): void =>
      resolve({ kind: 'failed', status, cause, link: link.id, sentAt });
    const timer = this.clock.after(timeoutMs, () => {
      stream.close();
      failed('DEADLINE_EXCEEDED', new Error(`the channel was not answered within ${timeoutMs} ms`));
      this.connection.unanswered(link, sentAt.monoMs);
    });
    const stream = this.open(link, {
      frame: (frame) => {
        timer.cancel();
        link.heardAtMs = this.clock.monoMs();
        resolve(this.outcomeOf(frame, stream, link, sentAt));
      },
      drained: () => undefined,
      ended: (status, cause) => {
        timer.cancel();
        failed(status ?? 'OTHER', cause ?? new Error('the channel ended before it was welcomed'));
      },
    });
    const { client, host } = this;
    const hello = { expectedServer: '', sessionId: '', leaseMs, incarnation: 1, client, host };
    stream.write(helloFrame(hello, 0));
  }

  private outcomeOf(
    { welcome, ended }: ServerFrame,
    stream: ChannelStream,
    link: Link,
    sentAt: ReturnType<Clock['now']>,
  ): CallOutcome<SessionResponse> {
    if (welcome === undefined) {
      stream.close();
      const refusal = ended ?? {
        status: 500,
        code: 'INTERNAL',
        message: 'no welcome came first',
        serverId: '',
      };
      return { kind: 'refused', refusal, link: link.id, sentAt };
    }
    stream.listener = undefined;
    this.unclaimed.set(welcome.sessionId, stream);
    const { sessionId, serverId, protocolVersion } = welcome;
    const leaseMs = durationToWire(welcome.leaseMs);
    return {
      kind: 'answered',
      reply: { sessionId, leaseMs, expiresAt: '', serverId, protocolVersion },
      link: link.id,
      sentAt,
    };
  }
}
