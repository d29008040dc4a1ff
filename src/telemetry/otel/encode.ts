/** The wire of Protocol Buffers, as far as OTLP needs it: what is written here a parser of any language reads. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const FIRST_BYTES = 16 * 1024;

export type AttributeValue = string | number | boolean | readonly string[] | Double;
/** A number that is written as a double although it may be whole. */
export class Double {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** By its shape: what comes from another thread has lost its class. */
const isDouble = (value: Double | readonly string[]): value is Double => !Array.isArray(value);

export type Attributes = readonly (readonly [key: string, value: AttributeValue])[];

/** An attribute as it was last written; its bytes are kept once its value has come twice in a row. */
interface Kept {
  field: number;
  value: string;
  bytes: Uint8Array | null;
}

const MOST_KEPT = 200;
const LONGEST_KEPT = 200;
/** Up to here a loop is faster than a call into native code. */
const SHORT = 127;
/** A value with a double in it: tag, length, and nine bytes. */
const DOUBLE_VALUE_BYTES = 11;
const TWO_12 = 2 ** 12;
const TWO_20 = 2 ** 20;
const TWO_32 = 2 ** 32;

/** Grows as it is written to. A message within a message is written in place; its length is filled in when it ends. */
export class ProtoWriter {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;
  readonly #last = new Map<string, Kept>();
  /** Names of attributes as a field of theirs. */
  readonly #names = new Map<string, Uint8Array>();

  get length(): number {
    return this.#at;
  }

  /** What was written so far, as a copy; the writer begins anew. */
  take(): Uint8Array {
    const taken = Buffer.allocUnsafeSlow(this.#at);
    this.#bytes.copy(taken, 0, 0, this.#at);
    this.#at = 0;
    return taken;
  }

  text(field: number, value: string): void {
    this.#room(value.length * 3 + 16);
    this.#varint((field << 3) | BYTES);
    if (value.length <= SHORT && this.#ascii(value)) return;
    // Nearly every text is short: one byte of length, which is filled in when the bytes are there.
    const start = this.#at + 1;
    const written = this.#bytes.write(value, start);
    this.#close(this.#at, start, written);
  }

  bytes(field: number, value: Uint8Array): void {
    this.#room(value.byteLength + 16);
    this.#varint((field << 3) | BYTES);
    this.#varint(value.byteLength);
    this.#bytes.set(value, this.#at);
    this.#at += value.byteLength;
  }

  /** Ids are hex everywhere else. */
  hex(field: number, value: string): void {
    this.#room(value.length + 16);
    this.#varint((field << 3) | BYTES);
    this.#varint(value.length / 2);
    const bytes = this.#bytes;
    let at = this.#at;
    for (let index = 0; index < value.length; index += 2)
      bytes[at++] = (digitAt(value, index) << 4) | digitAt(value, index + 1);
    this.#at = at;
  }

  integer(field: number, value: number): void {
    this.#room(24);
    this.#varint((field << 3) | VARINT);
    if (value >= 0) this.#varint(value);
    else this.#big(BigInt.asUintN(64, BigInt(value)));
  }

  double(field: number, value: number): void {
    this.#room(16);
    this.#varint((field << 3) | FIXED64);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** A moment in milliseconds with fractions, as nanoseconds since the epoch: `nanosOf` without big numbers. */
  nanos(field: number, ms: number): void {
    this.#room(16);
    this.#varint((field << 3) | FIXED64);
    // Exact: no part of it is larger than what a number holds. Subtracting is faster than the remainder of a division.
    const whole = Math.floor(ms);
    const upper = Math.floor(whole / TWO_20);
    const high = upper * 1e6;
    const highest = Math.floor(high / TWO_12);
    const low = (whole - upper * TWO_20) * 1e6 + Math.round((ms - whole) * 1e6) + (high - highest * TWO_12) * TWO_20;
    const carried = Math.floor(low / TWO_32);
    this.#view.setUint32(this.#at, low - carried * TWO_32, true);
    this.#view.setUint32(this.#at + 4, highest + carried, true);
    this.#at += 8;
  }

  fixed64(field: number, value: bigint): void {
    this.#room(16);
    this.#varint((field << 3) | FIXED64);
    this.#at = this.#bytes.writeBigUInt64LE(value, this.#at);
  }

  fixed32(field: number, value: number): void {
    this.#room(16);
    this.#varint((field << 3) | FIXED32);
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  /** Fields that were written before. */
  raw(fields: Uint8Array): void {
    this.#room(fields.byteLength);
    this.#bytes.set(fields, this.#at);
    this.#at += fields.byteLength;
  }

  /** Numbers side by side, as histograms have them. */
  packed(field: number, values: readonly number[], kind: 'fixed64' | 'double'): void {
    this.message(field, () => {
      this.#room(values.length * 8);
      for (const value of values)
        this.#at =
          kind === 'double'
            ? this.#bytes.writeDoubleLE(value, this.#at)
            : this.#bytes.writeBigUInt64LE(BigInt(value), this.#at);
    });
  }

  message(field: number, write: () => void): void {
    this.#room(16);
    this.#varint((field << 3) | BYTES);
    const lengthAt = this.#at;
    this.#at = lengthAt + 1;
    write();
    this.#close(lengthAt, lengthAt + 1, this.#at - lengthAt - 1);
  }

  /** A `KeyValue`. Most calls say of themselves what the call before said: that is copied. */
  attribute(field: number, key: string, value: AttributeValue): void {
    if (typeof value !== 'string' || value.length > LONGEST_KEPT) {
      this.#attribute(field, key, value);
      return;
    }
    const last = this.#last.get(key);
    const isSame = last !== undefined && last.value === value && last.field === field;
    if (isSame && last.bytes) {
      this.#copy(last.bytes);
      return;
    }
    const start = this.#at;
    this.#attribute(field, key, value);
    if (isSame) last.bytes = new Uint8Array(this.#bytes.subarray(start, this.#at));
    else if (last !== undefined) Object.assign(last, { field, value, bytes: null });
    else if (this.#last.size < MOST_KEPT) this.#last.set(key, { field, value, bytes: null });
  }

  doubleAttribute(field: number, key: string, value: number): void {
    const name = this.#nameOf(key);
    this.#room(name.length + 32);
    this.#varint((field << 3) | BYTES);
    this.#varint(name.length + DOUBLE_VALUE_BYTES);
    this.#copy(name);
    this.#bytes[this.#at++] = (2 << 3) | BYTES;
    this.#bytes[this.#at++] = DOUBLE_VALUE_BYTES - 2;
    this.double(4, value);
  }

  /** For short ones a loop is faster than a call into native code. */
  #copy(from: Uint8Array): void {
    this.#room(from.length);
    const to = this.#bytes;
    let at = this.#at;
    for (let index = 0; index < from.length; index++) to[at++] = from[index]!;
    this.#at = at;
  }

  #attribute(field: number, key: string, value: AttributeValue): void {
    const name = this.#nameOf(key);
    this.#room(name.length + 32);
    this.#varint((field << 3) | BYTES);
    const lengthAt = this.#at++;
    this.#copy(name);
    this.#bytes[this.#at] = (2 << 3) | BYTES;
    const valueAt = this.#at + 1;
    this.#at = valueAt + 1;
    writeValue(this, value);
    this.#close(valueAt, valueAt + 1, this.#at - valueAt - 1);
    this.#close(lengthAt, lengthAt + 1, this.#at - lengthAt - 1);
  }

  #nameOf(key: string): Uint8Array {
    const known = this.#names.get(key);
    if (known) return known;
    const start = this.#at;
    this.text(1, key);
    const name = new Uint8Array(this.#bytes.subarray(start, this.#at));
    this.#at = start;
    if (this.#names.size < MOST_KEPT) this.#names.set(key, name);
    return name;
  }

  /** With its length before it; false: it is more than ASCII, and nothing was written. */
  #ascii(value: string): boolean {
    const bytes = this.#bytes;
    const start = this.#at + 1;
    for (let index = 0; index < value.length; index++) {
      const code = value.charCodeAt(index);
      if (code > 127) return false;
      bytes[start + index] = code;
    }
    bytes[this.#at] = value.length;
    this.#at = start + value.length;
    return true;
  }

  /** Puts the length before what was written; what is longer than 127 bytes moves for it. */
  #close(lengthAt: number, start: number, length: number) {
    this.#at = start + length;
    if (length < 128) {
      this.#bytes[lengthAt] = length;
      return;
    }
    const digits = digitsOf(length);
    if (digits > 1) {
      this.#room(digits);
      this.#bytes.copyWithin(start + digits - 1, start, start + length);
    }
    this.#at = lengthAt;
    this.#varint(length);
    this.#at += length;
  }

  #varint(value: number) {
    if (value < 128) {
      this.#bytes[this.#at++] = value;
      return;
    }
    let rest = value;
    for (; rest > 127 && rest < 0x8000_0000; rest >>>= 7) this.#bytes[this.#at++] = (rest & 127) | 128;
    while (rest > 127) {
      this.#bytes[this.#at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#at++] = rest;
  }

  #big(value: bigint) {
    let rest = value;
    while (rest > 127n) {
      this.#bytes[this.#at++] = Number(rest & 127n) | 128;
      rest >>= 7n;
    }
    this.#bytes[this.#at++] = Number(rest);
  }

  #room(bytes: number) {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.byteLength) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.byteLength * 2));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/** Of lower-case hex. */
function digitAt(hex: string, index: number): number {
  const code = hex.charCodeAt(index);
  return code < 58 ? code - 48 : code - 87;
}

function digitsOf(value: number): number {
  let digits = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) digits++;
  return digits;
}

/** A list of `KeyValue`, each under this field. */
export function writeAttributes(writer: ProtoWriter, field: number, attributes: Attributes): void {
  for (const [key, value] of attributes) writer.attribute(field, key, value);
}

function writeValue(writer: ProtoWriter, value: AttributeValue): void {
  if (typeof value === 'string') writer.text(1, value);
  else if (typeof value === 'boolean') writer.integer(2, value ? 1 : 0);
  else if (typeof value === 'number')
    if (Number.isSafeInteger(value)) writer.integer(3, value);
    else writer.double(4, value);
  else if (isDouble(value)) writer.double(4, value.value);
  else
    writer.message(5, () => {
      for (const each of value) writer.message(1, () => writer.text(1, each));
    });
}

/** The same as OTLP's JSON has them. */
export const jsonAttributes = (attributes: Attributes): unknown[] =>
  attributes.map(([key, value]) => ({ key, value: jsonValue(value) }));

function jsonValue(value: AttributeValue): unknown {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (isDouble(value)) return { doubleValue: value.value };
  return { arrayValue: { values: value.map((each) => ({ stringValue: each })) } };
}

/** Nanoseconds since the epoch of a moment in milliseconds with fractions, which a number cannot hold exactly. */
export function nanosOf(ms: number): bigint {
  const whole = Math.floor(ms);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6));
}
