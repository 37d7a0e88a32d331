/** The prefix a client puts before every key, as text. Clients take bytes too. */
export function keyPrefixOf(prefix: string | Uint8Array = ''): string {
  return typeof prefix === 'string' ? prefix : Buffer.from(prefix).toString('utf8');
}

/** Names what a client leads to: locks under different prefixes of clients are different locks. */
export function withKeyPrefix(address: string, keyPrefix: string): string {
  return keyPrefix === '' ? address : `${address}/${keyPrefix}`;
}
