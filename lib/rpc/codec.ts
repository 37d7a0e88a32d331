import { WireReader } from './wire-reader.js';
import { WireWriter } from './wire-writer.js';

/** Turns one message type into bytes and back. */
export interface Codec<T> {
  /** @throws RangeError for a number its field cannot hold. */
  encode(message: T): Buffer;
  /** Absent fields get their defaults ('' 0 false); unknown ones are passed over. @throws MalformedMessageError */
  decode(bytes: Buffer): T;
  /** A message with these fields, the others at their defaults. */
  create(fields?: Partial<T>): T;
}

// Encoding is synchronous from reset to take, so one writer serves every message of the process.
const writer = new WireWriter();
const nothing = Buffer.alloc(0);

/** What generated code hands over for one message type. */
export function codec<T>(
  write: (writer: WireWriter, message: T) => void,
  read: (reader: WireReader) => T,
): Codec<T> {
  return {
    encode: (message) => {
      write(writer.reset(), message);
      return writer.take();
    },
    decode: (bytes) => read(new WireReader(bytes)),
    create: (fields) => ({ ...read(new WireReader(nothing)), ...fields }),
  };
}
