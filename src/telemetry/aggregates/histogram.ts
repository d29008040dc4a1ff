/**
 * How often values occurred, by their size: each bucket is 2 % wider than the one before, so that what is read from it
 * is off by 1 % at most. Histograms are added and taken away bucket by bucket.
 */
export type Histogram = Map<number, number>;

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
  for (const [bucket, times] of other) count(histogram, bucket, times);
}

/** The nearest rank: what so many hundredths of the values do not exceed. Null: there is none. */
export function percentileOf(histogram: Histogram, hundredths: number): number | null {
  let total = 0;
  for (const times of histogram.values()) total += times;
  if (total <= 0) return null;
  // In whole numbers: 0.99 × 300 is not 297 in binary fractions.
  const rank = Math.ceil((hundredths * total) / 100);
  let seen = 0;
  for (const bucket of [...histogram.keys()].sort((one, other) => one - other)) {
    seen += histogram.get(bucket)!;
    if (seen >= rank) return middleOf(bucket);
  }
  return null;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const CODES = new Uint8Array(128);
for (let digit = 0; digit < 64; digit++) CODES[DIGITS.charCodeAt(digit)] = digit;

/** Whole numbers as text: five bits to a character, the sixth says that there is more; the lowest bit is the sign. */
function digitsOf(value: number): string {
  let left = Math.abs(value) * 2 + (value < 0 ? 1 : 0);
  let text = '';
  do {
    const digit = left % 32;
    left = Math.floor(left / 32);
    text += DIGITS[left > 0 ? digit + 32 : digit];
  } while (left > 0);
  return text;
}

/** Buckets in order, each as the distance from the one before, and how often: about four characters each. */
export function textOf(histogram: Histogram): string {
  let text = '';
  let last = 0;
  for (const bucket of [...histogram.keys()].sort((one, other) => one - other)) {
    const times = histogram.get(bucket)!;
    if (times === 0) continue;
    text += digitsOf(bucket - last) + digitsOf(times);
    last = bucket;
  }
  return text;
}

/** Adds what a text says. */
export function addText(histogram: Histogram, text: string): void {
  let at = 0;
  const next = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 32) {
      const code = CODES[text.charCodeAt(at++)]!;
      value += (code % 32) * scale;
      if (code < 32) break;
    }
    return value % 2 === 0 ? value / 2 : -(value - 1) / 2;
  };
  let bucket = 0;
  while (at < text.length) {
    bucket += next();
    count(histogram, bucket, next());
  }
}
