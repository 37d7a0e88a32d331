import { createHash } from 'node:crypto';

/** A Lua script and the name under which Redis remembers it. */
export interface RedisScript {
  readonly text: string;
  /** SHA-1 of the text. */
  readonly sha1: string;
}

/** A script from its text. */
export function redisScript(text: string): RedisScript {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}

/**
 * Asks by SHA-1 and, where the server has forgotten the script (restart, failover, SCRIPT FLUSH), by its text: at most
 * one more round trip, and the text teaches the server the SHA-1 again.
 */
export async function runScript(
  bySha1: () => Promise<unknown>,
  byText: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await bySha1();
  } catch (error) {
    if (!isNoScript(error)) throw error;
    return await byText();
  }
}

/** By the reply's own word, since every library and version has another class for it. */
function isNoScript(error: unknown): boolean {
  const { message, lastNodeError } = error as {
    readonly message?: unknown;
    readonly lastNodeError?: unknown;
  };
  if (typeof message === 'string' && message.startsWith('NOSCRIPT')) return true;
  return lastNodeError !== undefined && isNoScript(lastNodeError);
}
