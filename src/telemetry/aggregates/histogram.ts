/**
 * How often values occurred, by their size: each bucket is 2 % wider than the one before, so that what is read from it
 * is off by 1 % at most. Histograms are added and taken away bucket by bucket.
 */
export interface Histogram extends Iterable<readonly [bucket: number, times: number]> {
  get(bucket: number): number | undefined;
  set(bucket: number, times: number): unknown;
}

const ERROR = 0.01;
const GAMMA = (1 + ERROR) / (1 - ERROR);
const LOG_GAMMA = Math.log(GAMMA);

/** Of a whole number that is not negative; 0 has a bucket of its own. */
export const bucketOf = (value: number): number => (value < 1 ? 0 : 1 + Math.ceil(Math.log(value) / LOG_GAMMA));

/** The value that all of a bucket are nearest to. */
export const middleOf = (bucket: number): number => (bucket === 0 ? 0 : (2 * GAMMA ** (bucket - 1)) / (GAMMA + 1));

export const count = (histogram: Histogram, bucket: number, times: number): void =>
  void histogram.set(bucket, (histogram.get(bucket) ?? 0) + times);

export function addAll(histogram: Histogram, other: Histogram): void {
  if (histogram instanceof Spectrum && other instanceof Spectrum) histogram.addSpectrum(other);
  else for (const [bucket, times] of other) count(histogram, bucket, times);
}

export const inOrder = (histogram: Histogram): (readonly [bucket: number, times: number])[] =>
  [...histogram].sort(([one], [other]) => one - other);

/** The nearest rank: what so many hundredths of the values do not exceed. Null: there is none. */
export function percentileOf(histogram: Histogram, hundredths: number): number | null {
  if (!(histogram instanceof Spectrum)) {
    const spectrum = new Spectrum();
    addAll(spectrum, histogram);
    return spectrum.percentile(hundredths);
  }
  return histogram.percentile(hundredths);
}

/** Buckets that are added on either side when a value lies outside, so that this is seldom needed: seven times as much. */
const MARGIN = 96;

const EMPTY = new Float64Array(0);

/** As wide as has a place for that bucket: by no less than half of what there is, so that many values in no order make few copies. */
function widened(first: number, length: number, bucket: number): { readonly first: number; readonly end: number } {
  const margin = Math.max(MARGIN, length >> 1);
  if (length === 0) return { first: bucket - margin, end: bucket + margin };
  return { first: Math.min(first, bucket - margin), end: Math.max(first + length, bucket + margin) };
}

/** A histogram that much is added to: a place for each bucket between its least and its greatest value. */
export class Spectrum implements Histogram {
  #first = 0;
  #times = EMPTY;
  /** Another one has the same memory: who changes something copies it first. */
  #isShared = false;

  /** Of how often each bucket occurred, from the first on; the memory stays its owner's. */
  static of(first: number, times: Float64Array<ArrayBuffer>): Spectrum {
    const spectrum = new Spectrum();
    spectrum.#first = first;
    spectrum.#times = times;
    spectrum.#isShared = true;
    return spectrum;
  }

  get(bucket: number): number {
    return this.#times[bucket - this.#first] ?? 0;
  }

  set(bucket: number, times: number): void {
    const place = this.#placeOf(bucket);
    if (this.#isShared) this.#own();
    this.#times[place] = times;
  }

  add(bucket: number, times: number): void {
    let place = bucket - this.#first;
    // Called for every pair of numbers of every cell that is meant; nearly all have their place.
    if (place < 0 || place >= this.#times.length) place = this.#placeOf(bucket);
    if (this.#isShared) this.#own();
    this.#times[place]! += times;
  }

  addSpectrum(other: Spectrum): void {
    const [first, times] = [other.#first, other.#times];
    if (times.length === 0) return;
    if (this.#times.length === 0) {
      this.#first = first;
      this.#times = times;
      this.#isShared = true;
      other.#isShared = true;
      return;
    }
    this.#placeOf(first);
    this.#placeOf(first + times.length - 1);
    if (this.#isShared) this.#own();
    const shift = first - this.#first;
    for (let at = 0; at < times.length; at++) this.#times[at + shift]! += times[at]!;
  }

  *[Symbol.iterator](): Generator<[bucket: number, times: number]> {
    for (const [at, times] of this.#times.entries()) if (times !== 0) yield [this.#first + at, times];
  }

  percentile(hundredths: number): number | null {
    let total = 0;
    for (let at = 0; at < this.#times.length; at++) total += this.#times[at]!;
    if (total <= 0) return null;
    // In whole numbers: 0.99 × 300 is not 297 in binary fractions.
    const rank = Math.ceil((hundredths * total) / 100);
    let seen = 0;
    for (let at = 0; at < this.#times.length; at++) {
      seen += this.#times[at]!;
      if (seen >= rank) return middleOf(this.#first + at);
    }
    return null;
  }

  #placeOf(bucket: number): number {
    const place = bucket - this.#first;
    if (place >= 0 && place < this.#times.length) return place;
    const { length } = this.#times;
    const { first, end } = widened(this.#first, length, bucket);
    const wider = new Float64Array(end - first);
    wider.set(this.#times, length === 0 ? 0 : this.#first - first);
    this.#first = first;
    this.#times = wider;
    this.#isShared = false;
    return bucket - first;
  }

  #own(): void {
    this.#times = this.#times.slice();
    this.#isShared = false;
  }
}

/** No wider than this, a histogram is begun as wide as the one before. */
const MOST_ALIKE = 512;
/** So many numbers are made room for at once. */
const BLOCK = 1 << 15;

/** Histograms that much is added to, numbered and side by side: long questions spend their time here, in one loop. */
export class Spectra {
  readonly #blocks: Float64Array<ArrayBuffer>[] = [];
  /** How much of the last block is. */
  #used = BLOCK;
  /** Of each, in which block and where it lies, and which buckets it has places for. */
  #places = new Int32Array(64);
  #starts = new Int32Array(64);
  #firsts = new Int32Array(64);
  #ends = new Int32Array(64);
  #count = 0;
  /** The last one that was made wider. */
  #last = -1;

  /** One more, in which there is nothing yet. */
  begin(): void {
    if (this.#count === this.#starts.length) {
      this.#places = larger(this.#places);
      this.#starts = larger(this.#starts);
      this.#firsts = larger(this.#firsts);
      this.#ends = larger(this.#ends);
    }
    this.#count++;
  }

  of(number: number): Spectrum {
    const [start, first, end] = [this.#starts[number]!, this.#firsts[number]!, this.#ends[number]!];
    const times = this.#blocks[this.#places[number]!];
    return times ? Spectrum.of(first, times.subarray(start, start + end - first)) : new Spectrum();
  }

  /**
   * Adds histograms as `packHistograms` writes them: each with its length, and pairs of how far a bucket is from the one before, and how
   * often. Those of some cells are meant, in order, and `numbers` says where each of these belongs; the others are passed over.
   */
  add(bytes: Uint8Array, cells: Int32Array, numbers: Int32Array): void {
    let at = 0;
    let end = 0;
    let passed = 0;
    for (let next = 0; next < cells.length; next++) {
      const cell = cells[next]!;
      for (; passed <= cell; passed++) {
        at = end;
        let length = bytes[at++]!;
        if (length >= 128) {
          length &= 127;
          for (let scale = 128, byte = 128; byte >= 128; scale *= 128) {
            byte = bytes[at++]!;
            length += (byte & 127) * scale;
          }
        }
        end = at + length;
      }
      const number = numbers[next]!;
      let times = this.#blocks[this.#places[number]!] ?? EMPTY;
      let first = this.#firsts[number]!;
      let last = this.#ends[number]!;
      let base = this.#starts[number]! - first;
      let bucket = 0;
      while (at < end) {
        let step = bytes[at]!;
        let often = bytes[at + 1]!;
        // Nearly all pairs are two bytes.
        if ((step | often) < 128) {
          at += 2;
          often = (often >>> 1) ^ -(often & 1);
        } else {
          at++;
          if (step >= 128) {
            step &= 127;
            for (let scale = 128, byte = 128; byte >= 128; scale *= 128) {
              byte = bytes[at++]!;
              step += (byte & 127) * scale;
            }
          }
          often = bytes[at++]!;
          if (often >= 128) {
            often &= 127;
            for (let scale = 128, byte = 128; byte >= 128; scale *= 128) {
              byte = bytes[at++]!;
              often += (byte & 127) * scale;
            }
          }
          often = often % 2 === 0 ? often / 2 : -(often + 1) / 2;
        }
        bucket += step;
        if (bucket < first || bucket >= last) {
          this.#widen(number, bucket);
          times = this.#blocks[this.#places[number]!]!;
          first = this.#firsts[number]!;
          last = this.#ends[number]!;
          base = this.#starts[number]! - first;
        }
        times[base + bucket]! += often;
      }
    }
  }

  /** In new memory: where it lay stays unused. */
  #widen(number: number, bucket: number): void {
    const [start, first, end] = [this.#starts[number]!, this.#firsts[number]!, this.#ends[number]!];
    const length = end - first;
    const wide = length === 0 && this.#isLastLike(bucket) ? this.#widthOf(this.#last) : widened(first, length, bucket);
    const needed = wide.end - wide.first;
    const before = this.#blocks[this.#places[number]!];
    if (this.#used + needed > BLOCK) {
      this.#blocks.push(new Float64Array(Math.max(BLOCK, needed)));
      this.#used = 0;
    }
    const place = this.#blocks.length - 1;
    if (length > 0) this.#blocks[place]!.set(before!.subarray(start, start + length), this.#used + first - wide.first);
    this.#places[number] = place;
    this.#starts[number] = this.#used;
    this.#firsts[number] = wide.first;
    this.#ends[number] = wide.end;
    this.#used += needed;
    this.#last = number;
  }

  #isLastLike(bucket: number): boolean {
    if (this.#last < 0) return false;
    const { first, end } = this.#widthOf(this.#last);
    return bucket >= first && bucket < end && end - first <= MOST_ALIKE;
  }

  #widthOf(number: number): { readonly first: number; readonly end: number } {
    return { first: this.#firsts[number]!, end: this.#ends[number]! };
  }
}

function larger(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const twice = new Int32Array(numbers.length * 2);
  twice.set(numbers);
  return twice;
}

/** Buckets, each with how often, in no order. */
export function pairsOf(histogram: Histogram): string {
  let pairs = '';
  for (const [bucket, times] of histogram) pairs += pairs === '' ? `${bucket},${times}` : `,${bucket},${times}`;
  return `[${pairs}]`;
}

/** Adds what was written so. */
export function addPairs(histogram: Histogram, pairs: readonly number[]): void {
  for (let at = 0; at < pairs.length; at += 2) count(histogram, pairs[at]!, pairs[at + 1]!);
}
