/** Texts below this many characters are looked at one by one; their length takes one byte. */
const SHORT = 20;

/** Writes protobuf fields one after another into a buffer that is used again for every message. */
export class WireWriter {
  private buffer = Buffer.allocUnsafeSlow(4_096);
  private length = 0;

  /** Starts a new message; whatever was written before and not taken is dropped. */
  reset(): this {
    this.length = 0;
    return this;
  }

  /** The bytes written so far, as a buffer of their own. */
  take(): Buffer {
    return Buffer.from(this.buffer.subarray(0, this.length));
  }

  /** A string field; the default '' is not written. */
  string(tag: number, text: string): void {
    if (text === '') return;
    // At most 3 bytes for each UTF-16 unit: a length below 43 always fits the one byte kept free for it.
    const room = text.length * 3;
    this.reserve(room + 15);
    this.varint(tag);
    if (text.length < SHORT && this.ascii(text)) return;
    if (room > 127) this.varint(Buffer.byteLength(text, 'utf8'));
    else this.buffer[this.length] = this.buffer.write(text, this.length + 1, 'utf8');
    if (room > 127) this.length += this.buffer.write(text, this.length, 'utf8');
    else this.length += this.buffer[this.length]! + 1;
  }

  /** A bytes field; empty ones are not written. */
  bytes(tag: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.reserve(bytes.length + 15);
    this.varint(tag);
    this.varint(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** A bool field; false is not written. */
  bool(tag: number, value: boolean): void {
    if (value) this.uint32(tag, 1);
  }

  /** A uint32 or enum field; 0 is not written. */
  uint32(tag: number, value: number): void {
    if (value === 0) return;
    this.reserve(15);
    this.varint(tag);
    this.varint(value >>> 0);
  }

  /** An int32 field; negative values take ten bytes, as the format asks. */
  int32(tag: number, value: number): void {
    if (value < 0) this.varint64(tag, BigInt.asUintN(64, BigInt(value | 0)));
    else this.uint32(tag, value);
  }

  /** @throws RangeError outside [-2^63, 2^63 - 1] */
  int64(tag: number, value: bigint): void {
    if (BigInt.asIntN(64, value) !== value) throw new RangeError(`not an int64: ${value}`);
    this.varint64(tag, BigInt.asUintN(64, value));
  }

  /** @throws RangeError outside [0, 2^64 - 1]: a fence must never wrap on its way out. */
  uint64(tag: number, value: bigint): void {
    // Exact below 2^53, where all fences are until the year 2255; bigints cost many times more.
    const number = Number(value);
    if (number >= 0 && number <= Number.MAX_SAFE_INTEGER) return this.number(tag, number);
    if (BigInt.asUintN(64, value) !== value) throw new RangeError(`not a uint64: ${value}`);
    this.varint64(tag, value);
  }

  /** A uint64 field whose values stay below 2^53; 0 is not written. */
  number(tag: number, value: number): void {
    if (value === 0) return;
    this.reserve(20);
    this.varint(tag);
    this.varint(value);
  }

  /** A packed repeated uint64 field whose values stay below 2^53; an empty one is not written. */
  numbers(tag: number, values: readonly number[]): void {
    if (values.length === 0) return;
    const start = this.begin(tag);
    this.reserve(values.length * 8);
    for (const value of values) this.varint(value);
    this.end(start);
  }

  /** Bytes written so far. */
  get size(): number {
    return this.length;
  }

  /** Opens a nested message; give what it returns to {@link end}. */
  begin(tag: number): number {
    this.reserve(15);
    this.varint(tag);
    this.length += 1;
    return this.length;
  }

  /** Closes a nested message, putting its length before it. */
  end(start: number): void {
    const size = this.length - start;
    const extra = varintSize(size) - 1;
    if (extra > 0) {
      this.reserve(extra);
      this.buffer.copyWithin(start + extra, start, this.length);
    }
    this.length = start - 1;
    this.varint(size);
    this.length += size;
  }

  /** Length and characters of a short text, if it has no others: a call of Node's encoder costs more. Else nothing. */
  private ascii(text: string): boolean {
    const { buffer } = this;
    const start = this.length + 1;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (unit > 0x7f) return false;
      buffer[start + at] = unit;
    }
    buffer[this.length] = text.length;
    this.length = start + text.length;
    return true;
  }

  private varint64(tag: number, value: bigint): void {
    if (value === 0n) return;
    this.reserve(20);
    this.varint(tag);
    if (value <= 0x1f_ffff_ffff_ffffn) return this.varint(Number(value));
    let rest = value;
    for (; rest > 0x7fn; rest >>= 7n) this.buffer[this.length++] = Number(rest & 0x7fn) | 0x80;
    this.buffer[this.length++] = Number(rest);
  }

  /** A non-negative safe integer. */
  private varint(value: number): void {
    let rest = value;
    // Four bytes at a time until a processor's integers can hold the rest.
    for (; rest > 0x7f_ffff_ff; rest = Math.floor(rest / 0x1000_0000)) {
      const low = rest % 0x1000_0000;
      this.buffer[this.length++] = (low & 0x7f) | 0x80;
      this.buffer[this.length++] = ((low >>> 7) & 0x7f) | 0x80;
      this.buffer[this.length++] = ((low >>> 14) & 0x7f) | 0x80;
      this.buffer[this.length++] = (low >>> 21) | 0x80;
    }
    for (; rest > 0x7f; rest >>>= 7) this.buffer[this.length++] = (rest & 0x7f) | 0x80;
    this.buffer[this.length++] = rest;
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.length + bytes));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) size++;
  return size;
}
