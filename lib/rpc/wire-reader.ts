import { isUtf8 } from 'node:buffer';

/** The bytes are not a message: cut short, a number too long, text that is not UTF-8. */
export class MalformedMessageError extends Error {
  override readonly name = 'MalformedMessageError';
}

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;

/** Reads protobuf fields one after another. Every read checks that the bytes are there. */
export class WireReader {
  private at = 0;

  constructor(
    private readonly buffer: Buffer,
    private end = buffer.length,
  ) {}

  /** The next field's tag (number * 8 + wire type), or 0 when the message is over. */
  tag(): number {
    if (this.at >= this.end) return 0;
    const tag = this.uint32();
    if (tag >>> 3 === 0) throw new MalformedMessageError('a field has number 0');
    return tag;
  }

  /** Text; invalid UTF-8 is refused, since two different keys would become one by replacement. */
  string(): string {
    const size = this.size();
    const start = this.at;
    this.at += size;
    const text = this.buffer.toString('utf8', start, this.at);
    if (text.includes('\ufffd') && !isUtf8(this.buffer.subarray(start, this.at))) {
      throw new MalformedMessageError('a text field is not UTF-8');
    }
    return text;
  }

  bytes(): Buffer {
    const size = this.size();
    this.at += size;
    return Buffer.from(this.buffer.subarray(this.at - size, this.at));
  }

  bool(): boolean {
    return this.uint64() !== 0n;
  }

  /** The low 32 bits of a varint. */
  uint32(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.byte();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new MalformedMessageError('a number is longer than ten bytes');
  }

  int32(): number {
    return this.uint32() | 0;
  }

  uint64(): bigint {
    let number = 0;
    let scale = 1;
    for (let digits = 0; digits < 7; digits++, scale *= 128) {
      const byte = this.byte();
      number += (byte & 0x7f) * scale;
      if (byte < 0x80) return BigInt(number);
    }
    let value = BigInt(number);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new MalformedMessageError('a number is longer than ten bytes');
  }

  int64(): bigint {
    return BigInt.asIntN(64, this.uint64());
  }

  /** A uint64 that must stay below 2^53: counters and durations of a channel. */
  number(): number {
    let value = 0;
    let scale = 1;
    for (let digits = 0; digits < 8; digits++, scale *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80 && value <= Number.MAX_SAFE_INTEGER) return value;
      if (byte < 0x80) break;
    }
    throw new MalformedMessageError('a counter is larger than 2^53');
  }

  /** A packed repeated uint64 field, as {@link number}. */
  numbers(into: number[]): void {
    const outer = this.end;
    const size = this.size();
    this.end = this.at + size;
    while (this.at < this.end) into.push(this.number());
    this.end = outer;
  }

  /** Reads a nested message with `read`, which sees nothing behind its end. */
  nested<T>(read: (reader: WireReader) => T): T {
    const outer = this.end;
    const size = this.size();
    this.end = this.at + size;
    const value = read(this);
    this.end = outer;
    return value;
  }

  /** Passes over a field this version does not know. */
  skip(tag: number): void {
    switch (tag & 7) {
      case VARINT:
        this.uint64();
        return;
      case FIXED64:
        return this.pass(8);
      case DELIMITED:
        return this.pass(this.size());
      case FIXED32:
        return this.pass(4);
      default:
        throw new MalformedMessageError(`wire type ${tag & 7} is not in use`);
    }
  }

  private byte(): number {
    if (this.at >= this.end) throw new MalformedMessageError('the message ends inside a field');
    return this.buffer[this.at++]!;
  }

  private size(): number {
    const size = this.uint32();
    if (size > this.end - this.at) throw new MalformedMessageError('a field is longer than its message');
    return size;
  }

  private pass(bytes: number): void {
    if (bytes > this.end - this.at) throw new MalformedMessageError('the message ends inside a field');
    this.at += bytes;
  }
}
