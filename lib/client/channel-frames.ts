import {
  PROTOCOL_VERSION,
  type ChannelHello,
  type ClientFrame,
  type ChannelOperation,
} from '../rpc/index.js';
import { Ask } from '../rpc/index.js';
import type { DriverAcquire, LockKey } from '../core/index.js';

const NO_OPERATIONS: readonly ChannelOperation[] = [];

/** What a stream begins with. */
export function helloFrame(hello: Omit<ChannelHello, 'protocolVersion'>, received: number): ClientFrame {
  return {
    hello: { protocolVersion: PROTOCOL_VERSION, ...hello },
    received,
    renewal: undefined,
    firstOperation: 0,
    operations: NO_OPERATIONS,
    goodbye: false,
  };
}

/** What a stream ends with when its session does. */
export function goodbyeFrame(received: number): ClientFrame {
  return {
    hello: undefined,
    received,
    renewal: undefined,
    firstOperation: 0,
    operations: NO_OPERATIONS,
    goodbye: true,
  };
}

class AcquireOperation implements ChannelOperation {
  readonly ask = Ask.Acquire;
  readonly l1: string;
  readonly l2: string;
  span = 1;
  readonly metadata: ChannelOperation['metadata'];
  readonly of = 0;
  readonly keepMs = 0;
  private request: DriverAcquire | undefined;

  constructor(
    request: DriverAcquire,
    readonly waitMs: number,
  ) {
    const { key, metadata } = request;
    this.l1 = key[0];
    this.l2 = key[1] ?? '';
    this.metadata = metadata;
    this.request = request;
  }

  /** Siblings that ask in the same turn are behind it by now. */
  leaving(): void {
    this.span = this.request?.span ?? 1;
    this.request = undefined;
  }
}

/** @param waitMs 0 asks once; Infinity has no bound. */
export function acquireOperation(request: DriverAcquire, waitMs: number): AcquireOperation {
  return new AcquireOperation(request, waitMs);
}

export function releaseOperation(of: number, keepMs: number): ChannelOperation {
  return { ask: Ask.Release, l1: '', l2: '', waitMs: 0, span: 1, metadata: undefined, of, keepMs };
}

export function cancelOperation(of: number): ChannelOperation {
  return { ask: Ask.Cancel, l1: '', l2: '', waitMs: 0, span: 1, metadata: undefined, of, keepMs: 0 };
}

export function inspectOperation(key: LockKey): ChannelOperation {
  return {
    ask: Ask.Inspect,
    l1: key[0],
    l2: key[1] ?? '',
    waitMs: 0,
    span: 1,
    metadata: undefined,
    of: 0,
    keepMs: 0,
  };
}

/** At most as many bytes as it takes on the wire. */
export function operationBytes({ ask, l1, l2, metadata }: ChannelOperation): number {
  if (ask === Ask.Release || ask === Ask.Cancel) return 24;
  let bytes = 40 + 3 * (l1.length + l2.length);
  for (const name in metadata) bytes += 12 + 3 * (name.length + (metadata[name] as string).length);
  return bytes;
}
