import type { Metadata, ServiceError } from '@grpc/grpc-js';
import { lockService, type ClientFrame, type ServerFrame } from '../rpc/index.js';
import type { TransportStatus } from '../session/index.js';
import type { Link } from './link.js';
import { transportStatus } from './transport-status.js';

/** What happens on a stream; nothing after `close`, nor after `ended`. */
export interface StreamListener {
  frame(frame: ServerFrame): void;
  /** What was written has left: more may be. */
  drained(): void;
  /** `status` is undefined if the server ended it in order. */
  ended(status: TransportStatus | undefined, cause: unknown): void;
}

/** One stream of a channel on one link. It never reconnects. */
export class ChannelStream {
  /** False while what was written has not left. */
  ready = true;
  listener: StreamListener | undefined;
  private readonly call: ReturnType<typeof start> | undefined = undefined;
  private over = false;

  constructor(
    readonly link: Link,
    metadata: Metadata,
    listener: StreamListener,
  ) {
    this.listener = listener;
    try {
      this.call = start(link, metadata);
    } catch (error) {
      this.end(transportStatus(error as ServiceError), error);
      return;
    }
    this.call.on('data', (frame: ServerFrame) => this.listener?.frame(frame));
    this.call.on('drain', () => this.drained());
    // Kept for ever: an 'error' nobody listens to, a cancel's own included, would end the process (case B-029).
    this.call.on('error', (error: ServiceError) => this.end(transportStatus(error), error));
    this.call.on('end', () => this.end(undefined, undefined));
  }

  get isOver(): boolean {
    return this.over;
  }

  write(frame: ClientFrame): void {
    if (!this.over && this.call !== undefined) this.ready = this.call.write(frame);
  }

  /** Ends it without a word to the listener. */
  close(): void {
    if (this.over) return;
    this.over = true;
    this.listener = undefined;
    this.call?.cancel();
  }

  /** Says one last thing and ends it in order, without a word to the listener. */
  farewell(frame: ClientFrame): void {
    if (this.over) return;
    this.over = true;
    this.listener = undefined;
    this.call?.write(frame);
    this.call?.end();
  }

  private drained(): void {
    this.ready = true;
    this.listener?.drained();
  }

  private end(status: TransportStatus | undefined, cause: unknown): void {
    if (this.over) return;
    this.over = true;
    // Not from inside the library's own emitting, and not before the caller has the stream.
    queueMicrotask(() => {
      const { listener } = this;
      this.listener = undefined;
      listener?.ended(status, cause);
    });
  }
}

/** Without a deadline: renewals and keepalive find out if it is dead. */
function start(link: Link, metadata: Metadata) {
  const { path, requestSerialize, responseDeserialize } = lockService.Channel;
  return link.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
}
