import type { Metadata } from '@grpc/grpc-js';

/** One call from its first byte to its end, as far as handlers care. */
export class OpenCall {
  /** The answer's message was handed to the connection whole. */
  written = false;
  /** Nothing more can be sent. */
  closed = false;
  private readonly closeListeners: (() => void)[] = [];

  constructor(
    readonly method: string,
    readonly peer: string,
    readonly startedMs: number,
  ) {}

  /** Calls `listener` once when the call is over, however it ended; at once if it already is. */
  onClose(listener: () => void): void {
    if (this.closed) listener();
    else this.closeListeners.push(listener);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const listener of this.closeListeners) listener();
    this.closeListeners.length = 0;
  }
}

/** Calls by the metadata object that travels with them through grpc-js to their handler. */
export type OpenCalls = WeakMap<Metadata, OpenCall>;
