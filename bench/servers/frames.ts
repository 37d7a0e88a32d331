/** Bytes that grow; one for each kind of frame of a process, since encoding is synchronous. */
class Bytes {
  private buffer = Buffer.allocUnsafeSlow(65_536);
  private length = 0;

  reset(): this {
    this.length = 0;
    return this;
  }

  number(value: number): void {
    this.reserve(10);
    let rest = value;
    for (; rest > 0x7f_ffff_ff; rest = Math.floor(rest / 128))
      this.buffer[this.length++] = (rest % 128) | 0x80;
    for (; rest > 0x7f; rest >>>= 7) this.buffer[this.length++] = (rest & 0x7f) | 0x80;
    this.buffer[this.length++] = rest;
  }

  text(text: string): void {
    const size = Buffer.byteLength(text);
    this.number(size);
    this.reserve(size);
    this.length += this.buffer.write(text, this.length, 'utf8');
  }

  take(): Buffer {
    return Buffer.from(this.buffer.subarray(0, this.length));
  }

  private reserve(size: number): void {
    if (this.length + size <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.length + size));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}

class Reader {
  private at = 0;

  constructor(private readonly buffer: Buffer) {}

  get over(): boolean {
    return this.at >= this.buffer.length;
  }

  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.buffer[this.at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  text(): string {
    const size = this.number();
    this.at += size;
    return this.buffer.toString('utf8', this.at - size, this.at);
  }
}

const bytes = new Bytes();

/** An acquire names a key, a release nothing but its number. */
export class RequestFrame {
  readonly numbers: number[] = [];
  readonly keys: string[] = [];

  add(number: number, key: string): void {
    this.numbers.push(number);
    this.keys.push(key);
  }

  bytes(): Buffer {
    bytes.reset();
    for (let index = 0; index < this.numbers.length; index++) {
      bytes.number(this.numbers[index] as number);
      bytes.text(this.keys[index] as string);
    }
    return bytes.take();
  }

  static read(buffer: Buffer): RequestFrame {
    const frame = new RequestFrame();
    for (const reader = new Reader(buffer); !reader.over;) frame.add(reader.number(), reader.text());
    return frame;
  }
}

/** The answer of an acquire carries what a grant would: a token and a fence. That of a release: an empty one and 0. */
export class AnswerFrame {
  readonly numbers: number[] = [];
  readonly tokens: string[] = [];
  readonly fences: number[] = [];

  add(number: number, token: string, fence: number): void {
    this.numbers.push(number);
    this.tokens.push(token);
    this.fences.push(fence);
  }

  bytes(): Buffer {
    bytes.reset();
    for (let index = 0; index < this.numbers.length; index++) {
      bytes.number(this.numbers[index] as number);
      bytes.text(this.tokens[index] as string);
      bytes.number(this.fences[index] as number);
    }
    return bytes.take();
  }

  static read(buffer: Buffer): AnswerFrame {
    const frame = new AnswerFrame();
    for (const reader = new Reader(buffer); !reader.over;) {
      frame.add(reader.number(), reader.text(), reader.number());
    }
    return frame;
  }
}
