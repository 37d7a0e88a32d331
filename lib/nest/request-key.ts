const FROM_REQUEST = Symbol.for('klock.nest.key-from-request.v1');

/** What Nest writes on methods that are called with what a client sent. */
const HANDLER_METADATA = [
  'path',
  'microservices:pattern',
  'websockets:message_mapping',
  'graphql:resolver_type',
];

type Metadata = typeof Reflect & { hasMetadata?(key: string, target: object): boolean };

/** Notes on a key error that the key was made from a request: the client's mistake, not the program's. */
export function noteOrigin(error: unknown, prototype: object, name: string | symbol): void {
  if (typeof error === 'object' && error !== null && isHandler(prototype, name)) markFromRequest(error);
}

/** Notes that an error is about what a client sent. */
export function markFromRequest<E extends object>(error: E): E {
  return Object.defineProperty(error, FROM_REQUEST, { value: true, enumerable: false });
}

/** Whether an error is about what a client sent. */
export function isFromRequest(error: object): boolean {
  return FROM_REQUEST in error;
}

function isHandler(prototype: object, name: string | symbol): boolean {
  // Looked up now: decorators above may have put a wrapper of their own around ours.
  const handler: unknown = (prototype as Record<string | symbol, unknown>)[name];
  if (typeof handler !== 'function') return false;
  return HANDLER_METADATA.some((key) => (Reflect as Metadata).hasMetadata?.(key, handler) === true);
}
