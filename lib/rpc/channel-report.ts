import { MalformedMessageError, type WireReader } from './wire-reader.js';
import type { WireWriter } from './wire-writer.js';

/** Metadata of a grant. */
export type Labels = Readonly<Record<string, string>>;

export interface ChannelHolder {
  readonly l1: string;
  readonly l2: string;
  readonly fence: bigint;
  readonly session: string;
  readonly client: string;
  readonly host: string;
  readonly metadata: Labels | undefined;
  readonly heldMs: number;
  readonly leaseLeftMs: number;
}

export interface ChannelWaiter {
  readonly l1: string;
  readonly l2: string;
  readonly session: string;
  readonly client: string;
  readonly waitedMs: number;
}

export interface ChannelReport {
  readonly locked: boolean;
  readonly holders: readonly ChannelHolder[];
  readonly waiters: readonly ChannelWaiter[];
  readonly waiterCount: number;
}

export function writeReport(writer: WireWriter, report: ChannelReport): void {
  writer.bool(8, report.locked);
  for (const holder of report.holders) writeHolder(writer, holder);
  for (const waiter of report.waiters) writeWaiter(writer, waiter);
  writer.number(32, report.waiterCount);
}

export function readReport(reader: WireReader): ChannelReport {
  let [locked, waiterCount] = [false, 0];
  const holders: ChannelHolder[] = [];
  const waiters: ChannelWaiter[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 8) locked = reader.bool();
    else if (tag === 18) holders.push(reader.nested(readHolder));
    else if (tag === 26) waiters.push(reader.nested(readWaiter));
    else if (tag === 32) waiterCount = reader.number();
    else reader.skip(tag);
  }
  return { locked, holders, waiters, waiterCount };
}

function writeHolder(writer: WireWriter, holder: ChannelHolder): void {
  const start = writer.begin(18);
  writer.string(10, holder.l1);
  writer.string(18, holder.l2);
  writer.uint64(24, holder.fence);
  writer.string(34, holder.session);
  writer.string(42, holder.client);
  if (holder.metadata !== undefined) writeLabels(writer, 50, holder.metadata);
  writer.number(56, holder.heldMs);
  writer.number(64, holder.leaseLeftMs);
  writer.string(74, holder.host);
  writer.end(start);
}

function readHolder(reader: WireReader): ChannelHolder {
  let [l1, l2, session, client, host, heldMs, leaseLeftMs, fence] = ['', '', '', '', '', 0, 0, 0n];
  let metadata: Record<string, string> | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 10) l1 = reader.string();
    else if (tag === 18) l2 = reader.string();
    else if (tag === 24) fence = reader.uint64();
    else if (tag === 34) session = reader.string();
    else if (tag === 42) client = reader.string();
    else if (tag === 50) readLabel(reader, (metadata ??= {}));
    else if (tag === 56) heldMs = reader.number();
    else if (tag === 64) leaseLeftMs = reader.number();
    else if (tag === 74) host = reader.string();
    else reader.skip(tag);
  }
  return { l1, l2, fence, session, client, host, metadata, heldMs, leaseLeftMs };
}

function writeWaiter(writer: WireWriter, waiter: ChannelWaiter): void {
  const start = writer.begin(26);
  writer.string(10, waiter.l1);
  writer.string(18, waiter.l2);
  writer.string(26, waiter.session);
  writer.string(34, waiter.client);
  writer.number(40, waiter.waitedMs);
  writer.end(start);
}

function readWaiter(reader: WireReader): ChannelWaiter {
  let [l1, l2, session, client, waitedMs] = ['', '', '', '', 0];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 10) l1 = reader.string();
    else if (tag === 18) l2 = reader.string();
    else if (tag === 26) session = reader.string();
    else if (tag === 34) client = reader.string();
    else if (tag === 40) waitedMs = reader.number();
    else reader.skip(tag);
  }
  return { l1, l2, session, client, waitedMs };
}

/** Names and values as a list of pairs. */
export function writeLabels(writer: WireWriter, tag: number, labels: Labels): void {
  for (const [name, value] of Object.entries(labels)) {
    const start = writer.begin(tag);
    writer.string(10, name);
    writer.string(18, value);
    writer.end(start);
  }
}

/** Reads one pair into `labels`, as an own property whatever its name. */
export function readLabel(reader: WireReader, labels: Record<string, string>): void {
  const [name, value] = reader.nested((pair): [string, string] => {
    let [first, second] = ['', ''];
    for (let tag = pair.tag(); tag !== 0; tag = pair.tag()) {
      if (tag === 10) first = pair.string();
      else if (tag === 18) second = pair.string();
      else pair.skip(tag);
    }
    return [first, second];
  });
  if (Object.hasOwn(labels, name)) throw new MalformedMessageError('a label is given twice');
  Object.defineProperty(labels, name, { value, enumerable: true, configurable: true, writable: true });
}
