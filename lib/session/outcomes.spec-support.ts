import type { NoAnswer, TransportStatus } from './call-outcome.js';

const sentAt = { monoMs: 0, wallMs: 0 };

/** A refusal in the body, as the server writes it. */
export function refused(code: string, status: number, link = 1): NoAnswer {
  return {
    kind: 'refused',
    link,
    sentAt,
    refusal: { code, status, message: `told ${code}`, serverId: 'srv_a' },
  };
}

/** A call that ended with a gRPC status. */
export function failed(status: TransportStatus, link = 1): NoAnswer {
  return { kind: 'failed', link, sentAt, status, cause: new Error(status) };
}

export const unsent: NoAnswer = { kind: 'unsent', cause: new Error('no connection') };
