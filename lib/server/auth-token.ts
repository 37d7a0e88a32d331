import { createHash, timingSafeEqual } from 'node:crypto';

const BEARER = /^bearer\s+/i;

/** Checks presented tokens against the configured one. */
export class AuthToken {
  private readonly expected: Buffer;

  /** @param token without surrounding blanks, not empty. */
  constructor(
    token: string,
    private readonly acceptRaw: boolean,
  ) {
    this.expected = digest(token);
  }

  /** Whether the first value of the `authorization` metadata carries the token. */
  accepts(value: unknown): boolean {
    const presented = typeof value === 'string' ? this.presented(value.trim()) : undefined;
    // Digests have one length and hide where two texts differ; a missing token takes the same path.
    const equal = timingSafeEqual(digest(presented ?? ''), this.expected);
    return equal && presented !== undefined;
  }

  private presented(value: string): string | undefined {
    if (BEARER.test(value)) return value.replace(BEARER, '').trim();
    return this.acceptRaw && value !== '' ? value : undefined;
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
