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

/** No wider than this, one is begun as wide as another. */
const MOST_ALIKE = 512;
const EMPTY = new Float64Array(0);

/** A histogram that much is added to: a place for each bucket between its least and its greatest value. */
export class Spectrum implements Histogram {
  #first = 0;
  #times = EMPTY;
  /** Another one has the same memory: who changes something copies it first. */
  #isShared = false;
  #like: Spectrum | null;

  /** `like`: what comes will be about as wide as that, and need not grow to it step by step. */
  constructor(like: Spectrum | null = null) {
    this.#like = like;
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

  /**
   * Adds what `packHistograms` has written: pairs of how far a bucket is from the one before, and how often. In one loop, because long
   * questions spend their time here.
   */
  addPacked(bytes: Uint8Array, from: number, end: number): void {
    if (this.#isShared) this.#own();
    let [first, times] = [this.#first, this.#times];
    let bucket = 0;
    for (let at = from; at < end; ) {
      let step = bytes[at++]!;
      if (step >= 128) {
        step &= 127;
        for (let scale = 128, byte = 128; byte >= 128; scale *= 128) {
          byte = bytes[at++]!;
          step += (byte & 127) * scale;
        }
      }
      let often = bytes[at++]!;
      if (often >= 128) {
        often &= 127;
        for (let scale = 128, byte = 128; byte >= 128; scale *= 128) {
          byte = bytes[at++]!;
          often += (byte & 127) * scale;
        }
      }
      bucket += step;
      let place = bucket - first;
      if (place < 0 || place >= times.length) {
        place = this.#placeOf(bucket);
        [first, times] = [this.#first, this.#times];
      }
      times[place]! += often % 2 === 0 ? often / 2 : -(often + 1) / 2;
    }
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
    const like = this.#like;
    this.#like = null;
    if (length === 0 && like && like.#times.length <= MOST_ALIKE && like.#has(bucket)) {
      this.#first = like.#first;
      this.#times = new Float64Array(like.#times.length);
      return bucket - this.#first;
    }
    // By no less than half of what there is, so that many values in no order make few copies.
    const margin = Math.max(MARGIN, length >> 1);
    const first = length === 0 ? bucket - margin : Math.min(this.#first, bucket - margin);
    const end = length === 0 ? bucket + margin : Math.max(this.#first + length, bucket + margin);
    const wider = new Float64Array(end - first);
    wider.set(this.#times, length === 0 ? 0 : this.#first - first);
    this.#first = first;
    this.#times = wider;
    this.#isShared = false;
    return bucket - first;
  }

  #has(bucket: number): boolean {
    return bucket >= this.#first && bucket < this.#first + this.#times.length;
  }

  #own(): void {
    this.#times = this.#times.slice();
    this.#isShared = false;
  }
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
