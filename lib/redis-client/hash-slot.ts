/** Slots of a Redis Cluster. */
export const SLOTS = 16_384;

const CRC16 = buildTable();

/** CRC-16/XMODEM, byte by byte, as the Cluster specification wants it. */
function buildTable(): Uint16Array {
  const table = new Uint16Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
    table[byte] = crc;
  }
  return table;
}

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) ^ (CRC16[((crc >> 8) ^ byte) & 0xff] as number)) & 0xffff;
  return crc;
}

/** What of a key decides its slot: the text between its first `{` and the next `}`, if there is any, else all of it. */
function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}

/** The slot of a key. */
export function hashSlot(key: string): number {
  return crc16(Buffer.from(hashTag(key), 'utf8')) % SLOTS;
}
