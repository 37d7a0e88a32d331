import {
  MAX_DURATION_MS,
  MAX_KEY_SEGMENT_BYTES,
  MAX_METADATA_BYTES,
  MAX_METADATA_ENTRIES,
  utf8Length,
  type LockKey,
} from '../core/index.js';
import type { ChannelOperation, ErrorStatus, Labels } from '../rpc/index.js';
import type { RequestChecks } from './request-checks.js';
import { MAX_CHANNEL_SPAN } from './server-limits.js';
import type { WireErrors } from './wire-errors.js';

/** What is wrong with an acquire or inspection, if anything. */
export function wrongWith(
  operation: ChannelOperation,
  checks: RequestChecks,
  errors: WireErrors,
): ErrorStatus | undefined {
  const { l1, l2, span, metadata } = operation;
  if (l1 === '') return errors.of('BAD_REQUEST', 'l1 must not be empty');
  if (span < 1 || span > MAX_CHANNEL_SPAN) {
    return errors.of('BAD_REQUEST', `span must be 1 to ${MAX_CHANNEL_SPAN}, got ${span}`);
  }
  return (
    checks.length('l1', l1, MAX_KEY_SEGMENT_BYTES) ??
    checks.length('l2', l2, MAX_KEY_SEGMENT_BYTES) ??
    (metadata === undefined ? undefined : wrongLabels(metadata, errors))
  );
}

/** The key a checked operation means. */
export function operationKey({ l1, l2 }: ChannelOperation): LockKey {
  return l2 === '' ? [l1] : [l1, l2];
}

/** A duration a timer can hold. */
export function bounded(ms: number): number {
  return Math.min(ms, MAX_DURATION_MS);
}

function wrongLabels(metadata: Labels, errors: WireErrors): ErrorStatus | undefined {
  const entries = Object.entries(metadata);
  if (entries.length > MAX_METADATA_ENTRIES) {
    return errors.of('BAD_REQUEST', `metadata must have at most ${MAX_METADATA_ENTRIES} entries`);
  }
  const bytes = entries.flat().reduce((sum, text) => sum + utf8Length(text), 0);
  if (bytes <= MAX_METADATA_BYTES) return undefined;
  return errors.of('BAD_REQUEST', `metadata must not exceed ${MAX_METADATA_BYTES} UTF-8 bytes, got ${bytes}`);
}
