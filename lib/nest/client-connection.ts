import { Observable } from 'rxjs';

/** The connection a client called by, as far as it matters here. */
export interface ClientConnection {
  readonly destroyed?: boolean;
  once(event: 'close', listener: () => void): unknown;
}

/** What a handler is given beside its message: only Nest's TCP context has a socket. */
interface SocketContext {
  getSocketRef?: () => { readonly netSocket?: ClientConnection } | undefined;
}

/**
 * The TCP connection among what a handler was given, if any. Nest's other transports unsubscribe from what they answer with
 * when their client goes away; its TCP transport goes on, and an endless stream would hold its lock for ever.
 */
export function connectionAmong(args: readonly unknown[]): ClientConnection | undefined {
  for (const arg of args) {
    if (typeof arg !== 'object' || arg === null || !('getSocketRef' in arg)) continue;
    const connection = (arg as SocketContext).getSocketRef?.()?.netSocket;
    if (connection !== undefined) return connection;
  }
  return undefined;
}

/** The stream, completed when the connection closes: nobody is there to be told anything else. */
export function whileOpen<T>(connection: ClientConnection | undefined, source: Observable<T>): Observable<T> {
  if (connection === undefined) return source;
  return new Observable((subscriber) => {
    if (connection.destroyed === true) return subscriber.complete();
    subscriber.add(onClosed(connection, () => subscriber.complete()));
    subscriber.add(source.subscribe(subscriber));
  });
}

const waiting = new WeakMap<ClientConnection, Set<() => void>>();

/** One listener for each connection: one for each call would be too many for Node. */
function onClosed(connection: ClientConnection, tell: () => void): () => void {
  let told = waiting.get(connection);
  if (told === undefined) {
    const all = (told = new Set());
    waiting.set(connection, all);
    connection.once('close', () => [...all].forEach((each) => each()));
  }
  const those = told.add(tell);
  return () => void those.delete(tell);
}
