/**
 * The first word of an error reply of Redis, such as `WRONGTYPE` or `ERR`; undefined for what is no reply at all: a
 * connection that broke, a client that was closed, a time limit. Then nobody knows what the server did.
 */
export function replyCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { message, lastNodeError } = error as {
    readonly message?: unknown;
    readonly lastNodeError?: unknown;
  };
  if (lastNodeError !== undefined) return replyCode(lastNodeError);
  return typeof message === 'string' ? leadingCode(message) : undefined;
}

/** The reply's text: that of the node asked last, where a Cluster client gave up asking. */
export function replyText(error: unknown): string {
  const { message, lastNodeError } = (error ?? {}) as {
    readonly message?: unknown;
    readonly lastNodeError?: unknown;
  };
  return lastNodeError === undefined ? String(message) : replyText(lastNodeError);
}

/** The code at the head of a reply's text. */
export function leadingCode(text: string): string | undefined {
  return /^([A-Z][A-Z0-9_]*)(?: |$)/.exec(text)?.[1];
}
