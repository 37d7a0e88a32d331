import type { LossReason } from './errors.js';

/** The code of a loss that the client decides by itself; the store's own codes take precedence (behaviour.md 4.6). */
export const LOSS_CODES: Readonly<Record<LossReason, string>> = {
  expired: 'LOCAL_TTL_EXPIRED',
  'not-held': 'LOCK_NOT_FOUND',
  unreachable: 'HEARTBEAT_CONSECUTIVE_FAILURE',
  'session-gone': 'SESSION_GONE',
  'server-changed': 'SERVER_INSTANCE_MISMATCH',
  'protocol-mismatch': 'PROTOCOL_MISMATCH',
  'storage-lost': 'STORAGE_LOST',
  'max-hold': 'MAX_HOLD',
  revoked: 'REVOKED',
  closed: 'CLIENT_CLOSE',
};
