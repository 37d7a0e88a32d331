import { status, type ServiceError } from '@grpc/grpc-js';
import type { TransportStatus } from '../session/index.js';

const NAMES: ReadonlyMap<number, TransportStatus> = new Map([
  [status.UNAVAILABLE, 'UNAVAILABLE'],
  [status.DEADLINE_EXCEEDED, 'DEADLINE_EXCEEDED'],
  [status.RESOURCE_EXHAUSTED, 'RESOURCE_EXHAUSTED'],
  [status.UNAUTHENTICATED, 'UNAUTHENTICATED'],
  [status.PERMISSION_DENIED, 'PERMISSION_DENIED'],
  [status.INVALID_ARGUMENT, 'INVALID_ARGUMENT'],
  [status.NOT_FOUND, 'NOT_FOUND'],
  [status.UNIMPLEMENTED, 'UNIMPLEMENTED'],
  [status.CANCELLED, 'CANCELLED'],
]);

/** The status of a failed call, as far as the client tells them apart. */
export function transportStatus(error: Partial<ServiceError>): TransportStatus {
  return NAMES.get(error.code ?? status.UNKNOWN) ?? 'OTHER';
}
