/** Longest text of an error message or gRPC status, in bytes: peers limit all metadata of an answer to 8 KiB or less. */
export const MAX_STATUS_TEXT_BYTES = 1_024;

/** A text as it may travel in metadata: printable ASCII, everything else escaped, at most 1 KiB. */
export function statusText(text: string): string {
  const safe = text
    .slice(0, MAX_STATUS_TEXT_BYTES)
    .replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return safe.length <= MAX_STATUS_TEXT_BYTES ? safe : `${safe.slice(0, MAX_STATUS_TEXT_BYTES - 3)}...`;
}
