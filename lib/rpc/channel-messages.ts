import { readErrorStatus, writeErrorStatus, type WireError } from './error-status.js';
import {
  readReport,
  writeLabels,
  readLabel,
  writeReport,
  type ChannelReport,
  type Labels,
} from './channel-report.js';
import type { WireReader } from './wire-reader.js';
import type { WireWriter } from './wire-writer.js';

/** What an operation asks for; which of its other fields mean something follows from it. */
export const Ask = { Acquire: 0, Cancel: 1, Release: 2, Inspect: 3 } as const;
export type Ask = (typeof Ask)[keyof typeof Ask];

/** One operation. All have one shape: hundreds of them are read and written in a turn. */
export interface ChannelOperation {
  readonly ask: Ask;
  readonly l1: string;
  readonly l2: string;
  /** Milliseconds; 0 asks once, Infinity has no bound. */
  readonly waitMs: number;
  readonly span: number;
  readonly metadata: Labels | undefined;
  /** The acquire that is cancelled or released. */
  readonly of: number;
  readonly keepMs: number;
}

/** Numbers of ChannelOutcome. */
export const Outcome = {
  Granted: 0,
  Busy: 1,
  Released: 2,
  NotHeld: 3,
  Cancelled: 4,
  WasGrantedNowReleased: 5,
  Refused: 6,
  Reported: 7,
  Revoked: 8,
} as const;

export interface ChannelAnswer {
  readonly operation: number;
  readonly outcome: number;
  readonly token: string;
  readonly fence: bigint;
  readonly span: number;
  readonly error: WireError | undefined;
  readonly report: ChannelReport | undefined;
}

/** From here on a wait has no bound. */
const ENDLESS_MS = 2 ** 31;

export function writeOperation(writer: WireWriter, operation: ChannelOperation): void {
  switch (operation.ask) {
    case Ask.Release:
      writer.number(56, operation.of);
      writer.number(64, operation.keepMs);
      return;
    case Ask.Cancel:
      return writer.number(48, operation.of);
    default:
      writeAcquire(writer, operation);
  }
}

function writeAcquire(writer: WireWriter, operation: ChannelOperation): void {
  writer.string(10, operation.l1);
  writer.string(18, operation.l2);
  writer.number(24, Math.min(ENDLESS_MS, operation.waitMs));
  if (operation.span !== 1) writer.number(32, operation.span);
  if (operation.metadata !== undefined) writeLabels(writer, 42, operation.metadata);
  writer.bool(72, operation.ask === Ask.Inspect);
}

export function readOperation(reader: WireReader): ChannelOperation {
  let l1 = '';
  let l2 = '';
  let waitMs = 0;
  let span = 1;
  let cancel = 0;
  let release = 0;
  let keepMs = 0;
  let inspect = false;
  let metadata: Record<string, string> | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 10:
        l1 = reader.string();
        break;
      case 18:
        l2 = reader.string();
        break;
      case 24:
        waitMs = reader.number();
        break;
      case 56:
        release = reader.number();
        break;
      case 48:
        cancel = reader.number();
        break;
      case 32:
        span = reader.number();
        break;
      case 42:
        readLabel(reader, (metadata ??= {}));
        break;
      case 64:
        keepMs = reader.number();
        break;
      case 72:
        inspect = reader.bool();
        break;
      default:
        reader.skip(tag);
    }
  }
  const ask = askOf(cancel, release, inspect);
  if (waitMs >= ENDLESS_MS) waitMs = Infinity;
  return { ask, l1, l2, waitMs, span, metadata, of: cancel + release, keepMs };
}

function askOf(cancel: number, release: number, inspect: boolean): Ask {
  if (release > 0) return Ask.Release;
  if (cancel > 0) return Ask.Cancel;
  return inspect ? Ask.Inspect : Ask.Acquire;
}

export function writeAnswer(writer: WireWriter, answer: ChannelAnswer): void {
  writer.number(8, answer.operation);
  writer.uint32(16, answer.outcome);
  if (answer.outcome === Outcome.Granted) {
    writer.string(26, answer.token);
    writer.uint64(32, answer.fence);
    if (answer.span !== 1) writer.number(40, answer.span);
    return;
  }
  if (answer.error !== undefined) {
    const start = writer.begin(50);
    writeErrorStatus(writer, answer.error);
    writer.end(start);
  }
  if (answer.report !== undefined) {
    const start = writer.begin(58);
    writeReport(writer, answer.report);
    writer.end(start);
  }
}

export function readAnswer(reader: WireReader): ChannelAnswer {
  // Each by itself: a list of first values would be made for every answer.
  let operation = 0;
  let outcome = 0;
  let token = '';
  let fence = 0n;
  let span = 1;
  let error: WireError | undefined;
  let report: ChannelReport | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case 8:
        operation = reader.number();
        break;
      case 16:
        outcome = reader.uint32();
        break;
      case 26:
        token = reader.string();
        break;
      case 32:
        fence = reader.uint64();
        break;
      case 40:
        span = reader.number();
        break;
      case 50:
        error = reader.nested(readErrorStatus);
        break;
      case 58:
        report = reader.nested(readReport);
        break;
      default:
        reader.skip(tag);
    }
  }
  return { operation, outcome, token, fence, span, error, report };
}
