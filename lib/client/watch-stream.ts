import type { Metadata, ServiceError } from '@grpc/grpc-js';
import { lockService, PROTOCOL_VERSION, type ServerEvent } from '../rpc/index.js';
import type { TransportStatus } from '../session/index.js';
import type { Link } from './link.js';
import { transportStatus } from './transport-status.js';

export interface WatchListener {
  event(event: ServerEvent): void;
  /** The stream is over; told once, never after `close`. `status` is undefined if the server ended it in order. */
  ended(status: TransportStatus | undefined): void;
}

/** An open watch. */
export interface WatchStream {
  /** Ends it without telling the listener. */
  close(): void;
}

/**
 * Watches one session. Our side stays open for as long as the watch lasts: the server takes a half-close for its end.
 * The one call without a deadline; keepalive and the heartbeat find out if it is dead.
 */
export function openWatch(
  link: Link,
  metadata: Metadata,
  sessionId: string,
  listener: WatchListener,
): WatchStream {
  const { path, requestSerialize, responseDeserialize } = lockService.WatchSession;
  let over = false;
  const end = (error: ServiceError | undefined): void => {
    if (over) return;
    over = true;
    // Not from inside the library's own emitting, and not before the caller has the stream.
    queueMicrotask(() => listener.ended(error === undefined ? undefined : transportStatus(error)));
  };
  try {
    const call = link.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
    call.on('data', (event: ServerEvent) => {
      if (!over) listener.event(event);
    });
    // Kept for ever: an 'error' nobody listens to, a cancel's own included, would end the process (case B-029).
    call.on('error', (error: ServiceError) => end(error));
    call.on('end', () => end(undefined));
    call.write({ sessionId, protocolVersion: PROTOCOL_VERSION });
    return {
      close: () => {
        over = true;
        call.cancel();
      },
    };
  } catch (error) {
    end(error as ServiceError);
    return { close: () => (over = true) };
  }
}
