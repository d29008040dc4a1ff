import { type Histogram, inOrder } from './histogram.ts';

/** Histograms of many cells as bytes: each with its length, and pairs of how far a bucket is from the one before, and how often. */
export function packHistograms(histograms: readonly Histogram[]): Uint8Array {
  const pen = new Pen();
  for (const histogram of histograms) {
    const place = pen.at;
    let last = 0;
    for (const [bucket, times] of inOrder(histogram)) {
      if (times === 0) continue;
      pen.put(bucket - last);
      pen.putSigned(times);
      last = bucket;
    }
    pen.putLengthAt(place);
  }
  return pen.written();
}

/**
 * Sums of histograms, numbered. Each remembers where the histograms lie that it is made of, and they are added up when it is written:
 * nearly all cells that differ by people are of one call, and its bytes are copied.
 */
export class HistogramSums {
  readonly #sources: Uint8Array[] = [];
  /** Of each part, in which source it lies, from where to where with its length, and the part before it of the same sum; counted from 1. */
  #source = new Int32Array(FEW);
  #start = new Int32Array(FEW);
  #end = new Int32Array(FEW);
  #before = new Int32Array(FEW);
  #parts = 0;
  /** The last part of each sum; 0: it has none. */
  #last = new Int32Array(FEW);
  /** By bucket, how often; nothing but while a sum is written. */
  #times = new Float64Array(MANY_BUCKETS);
  /** The buckets of that sum, some of them more than once. */
  #buckets = new Int32Array(FEW);

  /** `to`: which sum each histogram belongs to; it is left out where that is negative. */
  add(bytes: Uint8Array, to: Int32Array): void {
    const source = this.#sources.push(bytes) - 1;
    let at = 0;
    for (let cell = 0; cell < to.length; cell++) {
      const start = at;
      let length = bytes[at++]!;
      if (length >= 128) {
        length &= 127;
        for (let scale = 128, byte = 128; byte >= 128; scale *= 128) {
          byte = bytes[at++]!;
          length += (byte & 127) * scale;
        }
      }
      at += length;
      if (length > 0 && to[cell]! >= 0) this.#addPart(to[cell]!, source, start, at);
    }
  }

  write(numbers: Int32Array): Uint8Array {
    const pen = new Pen();
    for (let at = 0; at < numbers.length; at++) {
      const part = this.#last[numbers[at]!] ?? 0;
      if (part === 0) pen.put(0);
      else if (this.#before[part] === 0)
        pen.copy(this.#sources[this.#source[part]!]!, this.#start[part]!, this.#end[part]!);
      else this.#writeSum(part, pen);
    }
    return pen.written();
  }

  #addPart(sum: number, source: number, start: number, end: number): void {
    const part = ++this.#parts;
    if (part === this.#source.length) {
      this.#source = larger(this.#source);
      this.#start = larger(this.#start);
      this.#end = larger(this.#end);
      this.#before = larger(this.#before);
    }
    while (sum >= this.#last.length) this.#last = larger(this.#last);
    this.#source[part] = source;
    this.#start[part] = start;
    this.#end[part] = end;
    this.#before[part] = this.#last[sum]!;
    this.#last[sum] = part;
  }

  #writeSum(last: number, pen: Pen): void {
    let seen = 0;
    for (let part = last; part !== 0; part = this.#before[part]!) {
      const reading = new Reading(this.#sources[this.#source[part]!]!, this.#start[part]!);
      reading.next();
      const end = this.#end[part]!;
      let bucket = 0;
      while (reading.at < end) {
        bucket += reading.next();
        while (bucket >= this.#times.length) this.#times = larger(this.#times);
        if (this.#times[bucket] === 0) {
          if (seen === this.#buckets.length) this.#buckets = larger(this.#buckets);
          this.#buckets[seen++] = bucket;
        }
        this.#times[bucket]! += reading.nextSigned();
      }
    }
    const place = pen.at;
    let before = 0;
    for (const bucket of this.#buckets.subarray(0, seen).sort()) {
      const often = this.#times[bucket]!;
      if (often === 0) continue;
      pen.put(bucket - before);
      pen.putSigned(often);
      before = bucket;
      this.#times[bucket] = 0;
    }
    pen.putLengthAt(place);
  }
}

const FEW = 64;
/** Longer ones are those of clocks gone wrong. */
const MANY_BUCKETS = 2_048;

function larger<Numbers extends Int32Array | Float64Array>(numbers: Numbers): Numbers {
  const twice = new (numbers.constructor as new (length: number) => Numbers)(numbers.length * 2);
  twice.set(numbers);
  return twice;
}

/** A longer piece is copied faster by the engine than byte by byte. */
const LONG_PIECE = 48;

class Pen {
  #bytes = new Uint8Array(1_024);
  at = 0;

  put(value: number): void {
    if (this.at + 10 > this.#bytes.length) this.#grow(10);
    const bytes = this.#bytes;
    let left = value;
    while (left >= 0x8000_0000) {
      bytes[this.at++] = (left % 128) | 128;
      left = Math.floor(left / 128);
    }
    while (left >= 128) {
      bytes[this.at++] = (left & 127) | 128;
      left >>>= 7;
    }
    bytes[this.at++] = left;
  }

  putSigned(value: number): void {
    this.put(value < 0 ? -2 * value - 1 : 2 * value);
  }

  /** Puts how many bytes were written since then in front of them. */
  putLengthAt(place: number): void {
    const length = this.at - place;
    const digits = length < 128 ? 1 : length < 16_384 ? 2 : length < 2_097_152 ? 3 : 4;
    if (this.at + digits > this.#bytes.length) this.#grow(digits);
    this.#bytes.copyWithin(place + digits, place, this.at);
    this.at = place;
    this.put(length);
    this.at += length;
  }

  copy(from: Uint8Array, start: number, end: number): void {
    if (this.at + end - start > this.#bytes.length) this.#grow(end - start);
    const bytes = this.#bytes;
    if (end - start > LONG_PIECE) {
      bytes.set(from.subarray(start, end), this.at);
      this.at += end - start;
    } else for (let at = start; at < end; at++) bytes[this.at++] = from[at]!;
  }

  written(): Uint8Array {
    return this.#bytes.slice(0, this.at);
  }

  #grow(by: number): void {
    const larger = new Uint8Array((this.#bytes.length + by) * 2);
    larger.set(this.#bytes.subarray(0, this.at));
    this.#bytes = larger;
  }
}

class Reading {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  next(): number {
    const bytes = this.#bytes;
    let byte = bytes[this.at++]!;
    if (byte < 128) return byte;
    let value = byte & 127;
    for (let scale = 128; byte >= 128; scale *= 128) {
      byte = bytes[this.at++]!;
      value += (byte & 127) * scale;
    }
    return value;
  }

  nextSigned(): number {
    const value = this.next();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}
