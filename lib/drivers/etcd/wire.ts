/** One field of a message: how its value is written and read. */
export interface Field<T> {
  write(writer: Writer, value: T): void;
  read(reader: Reader, before: T): T;
  readonly tag: number;
  /** What an absent field reads as. */
  readonly absent: T;
}

/** Turns one message type into bytes and back. Absent fields read as their defaults, unknown ones are passed over. */
export interface Message<T> {
  encode(message: Partial<T>): Buffer;
  /** @throws RangeError for bytes that are no message. */
  decode(bytes: Buffer): T;
}

/** Largest number that is written digit by digit without bigints. */
const MAX_SMALL = 0x7fff_ffffn;
const VARINT = 0;
const DELIMITED = 2;
/** Bytes to pass over for the wire types that etcd's messages do not use but a later version may. */
const FIXED_BYTES: Readonly<Record<number, number>> = { 1: 8, 5: 4 };

/** Collects the bytes of one message. */
export class Writer {
  private buffer = Buffer.allocUnsafe(256);
  private length = 0;

  varint(value: bigint): void {
    if (value >= 0n && value <= MAX_SMALL) return this.small(Number(value));
    let rest = BigInt.asUintN(64, value);
    this.reserve(10);
    for (; rest > 0x7fn; rest >>= 7n) this.buffer[this.length++] = Number(rest & 0x7fn) | 0x80;
    this.buffer[this.length++] = Number(rest);
  }

  small(value: number): void {
    this.reserve(5);
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.buffer[this.length++] = (rest & 0x7f) | 0x80;
    this.buffer[this.length++] = rest;
  }

  delimited(tag: number, bytes: Uint8Array): void {
    this.small(tag);
    this.small(bytes.length);
    this.reserve(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  take(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.length + bytes));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}

/** Reads the bytes of one message. Every read checks that the bytes are there. */
export class Reader {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  get done(): boolean {
    return this.at >= this.bytes.length;
  }

  varint(): bigint {
    let low = 0;
    // Four digits fit a bitwise number; nearly all revisions and lengths have no more.
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt(low);
    }
    let value = BigInt(low);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new RangeError('a number of the message is longer than ten bytes');
  }

  /** The low 32 bits. */
  small(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.byte();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new RangeError('a number of the message is longer than ten bytes');
  }

  delimited(): Buffer {
    const size = this.small();
    const start = this.at;
    this.pass(size);
    return this.bytes.subarray(start, start + size);
  }

  skip(tag: number): void {
    const wire = tag & 7;
    if (wire === VARINT) this.varint();
    else if (wire === DELIMITED) this.delimited();
    else if (FIXED_BYTES[wire] !== undefined) this.pass(FIXED_BYTES[wire]);
    else throw new RangeError(`wire type ${wire} is not in use`);
  }

  private byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new RangeError('the message ends inside a field');
    return byte;
  }

  private pass(size: number): void {
    if (size > this.bytes.length - this.at) throw new RangeError('a field is longer than its message');
    this.at += size;
  }
}

const NOTHING = Buffer.alloc(0);
const varintTag = (id: number): number => id * 8 + VARINT;
const delimitedTag = (id: number): number => id * 8 + DELIMITED;

export function bytes(id: number): Field<Buffer> {
  const tag = delimitedTag(id);
  return {
    tag,
    absent: NOTHING,
    write: (writer, value) => {
      if (value.length > 0) writer.delimited(tag, value);
    },
    read: (reader) => reader.delimited(),
  };
}

export function text(id: number): Field<string> {
  const tag = delimitedTag(id);
  return {
    tag,
    absent: '',
    write: (writer, value) => {
      if (value !== '') writer.delimited(tag, Buffer.from(value, 'utf8'));
    },
    read: (reader) => reader.delimited().toString('utf8'),
  };
}

/** int32, uint32, enum; none of those here is negative. */
export function int(id: number): Field<number> {
  const tag = varintTag(id);
  return {
    tag,
    absent: 0,
    write: (writer, value) => {
      if (value === 0) return;
      writer.small(tag);
      writer.small(value);
    },
    read: (reader) => reader.small(),
  };
}

export function bool(id: number): Field<boolean> {
  const tag = varintTag(id);
  return {
    tag,
    absent: false,
    write: (writer, value) => {
      if (!value) return;
      writer.small(tag);
      writer.small(1);
    },
    read: (reader) => reader.varint() !== 0n,
  };
}

/** int64: revisions and lease ids, exact to the last bit. */
export function int64(id: number): Field<bigint> {
  const tag = varintTag(id);
  return {
    tag,
    absent: 0n,
    write: (writer, value) => {
      if (value === 0n) return;
      writer.small(tag);
      writer.varint(value);
    },
    read: (reader) => BigInt.asIntN(64, reader.varint()),
  };
}

/** A nested message; an absent one reads as undefined, an empty one is written. */
export function nested<T>(id: number, of: () => Message<T>): Field<T | undefined> {
  const tag = delimitedTag(id);
  return {
    tag,
    absent: undefined,
    write: (writer, value) => {
      if (value !== undefined) writer.delimited(tag, of().encode(value));
    },
    read: (reader) => of().decode(reader.delimited()),
  };
}

export function repeated<T>(id: number, of: () => Message<T>): Field<readonly T[]> {
  const tag = delimitedTag(id);
  return {
    tag,
    absent: [],
    write: (writer, values) => {
      for (const value of values) writer.delimited(tag, of().encode(value));
    },
    read: (reader, before) => {
      // The list that `absent` names is everybody's; any other is this message's own.
      const list = before.length === 0 ? [] : (before as T[]);
      list.push(of().decode(reader.delimited()));
      return list;
    },
  };
}

/** A message of these fields. */
export function message<T extends object>(fields: { readonly [K in keyof T]-?: Field<T[K]> }): Message<T> {
  const entries = Object.entries<Field<unknown>>(fields);
  const byTag = new Map(entries.map(([name, field]) => [field.tag, { name, field }]));
  const defaults = Object.fromEntries(entries.map(([name, field]) => [name, field.absent]));
  return {
    encode(values) {
      const writer = new Writer();
      for (const [name, field] of entries) {
        const value = (values as Record<string, unknown>)[name];
        if (value !== undefined) field.write(writer, value);
      }
      return writer.take();
    },
    decode(encoded) {
      const reader = new Reader(encoded);
      const values: Record<string, unknown> = { ...defaults };
      while (!reader.done) {
        const tag = reader.small();
        const known = byTag.get(tag);
        if (known === undefined) reader.skip(tag);
        else values[known.name] = known.field.read(reader, values[known.name]);
      }
      return values as T;
    },
  };
}
