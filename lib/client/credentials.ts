import { createSecureContext } from 'node:tls';
import type { Socket } from 'node:net';
import { credentials, type ChannelCredentials } from '@grpc/grpc-js';
import type { Target } from './client-options.js';

/** TLS below 1.2 is never spoken, whatever the process-wide default is. */
const TLS_FLOOR = 'TLSv1.2';

/** Credentials of one target. System roots unless authorities are given. */
export function credentialsFor(target: Target, ca: string | Buffer | undefined): ChannelCredentials {
  if (!target.tls) return credentials.createInsecure();
  return credentials.createFromSecureContext(
    createSecureContext({ minVersion: TLS_FLOOR, ...(ca === undefined ? {} : { ca }) }),
  );
}

interface SecureConnector {
  connect(socket: Socket): Promise<unknown>;
}
interface ConnectorMaker {
  _createSecureConnector?(...args: readonly unknown[]): SecureConnector;
}

/**
 * The same credentials, telling which sockets are opened with them and why securing one failed.
 * The transport library gives no other way to close a connection that was accepted and then stayed silent (case B-027);
 * should its inner shape change, sockets are merely not seen, and a test says so.
 */
export function observed(
  inner: ChannelCredentials,
  seen: (socket: Socket) => void,
  failed: (cause: unknown) => void,
): ChannelCredentials {
  const maker = inner as unknown as ConnectorMaker;
  if (typeof maker._createSecureConnector !== 'function') return inner;
  const outer = Object.create(inner) as ChannelCredentials;
  Object.defineProperty(outer, '_createSecureConnector', {
    value: (...args: readonly unknown[]) => {
      const connector = maker._createSecureConnector?.(...args) as SecureConnector;
      const connect = connector.connect.bind(connector);
      connector.connect = (socket) => {
        seen(socket);
        const secured = connect(socket);
        secured.catch(failed);
        return secured;
      };
      return connector;
    },
  });
  return outer;
}
