import type { Instant } from '../core/index.js';

/** The error part of an answer: the server decoded the request and says no. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly serverId: string;
}

/**
 * Which connection a call travelled on. A number is never used for two connections, so equal numbers mean that the server
 * read both calls from one ordered stream of bytes.
 */
export type LinkId = number;

/** Names of gRPC statuses, as far as they are told apart. */
export type TransportStatus =
  | 'UNAVAILABLE'
  | 'DEADLINE_EXCEEDED'
  | 'RESOURCE_EXHAUSTED'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'UNIMPLEMENTED'
  | 'CANCELLED'
  | 'OTHER';

interface Sent {
  readonly link: LinkId;
  /** Both clocks, read before the request was handed to the client library. */
  readonly sentAt: Instant;
}

/** How one call to the server ended. */
export type CallOutcome<T> =
  | (Sent & { readonly kind: 'answered'; readonly reply: T })
  | (Sent & { readonly kind: 'refused'; readonly refusal: Refusal })
  | (Sent & { readonly kind: 'failed'; readonly status: TransportStatus; readonly cause: unknown })
  /** No connection was up: the request never left. */
  | {
      readonly kind: 'unsent';
      readonly cause: unknown;
      /** Only the caller's own wait ended: what failed before says more. */
      readonly late?: boolean;
    };

/** Every outcome but a success. */
export type NoAnswer = Exclude<CallOutcome<never>, { kind: 'answered' }>;
