import type { WrittenPrice } from './price-file.ts';
import type { Usage } from './usage.ts';

/** US dollars per million tokens. */
export interface Rates {
  readonly input: number;
  readonly output: number;
  /** Input that the provider had cached; the input price when it gives no rebate. */
  readonly cached: number;
  /** Input that was written to the provider's cache; the input price when that costs nothing extra. */
  readonly cacheWrite: number;
  /** The same, kept for an hour. */
  readonly cacheWriteHour: number;
  readonly audioInput: number;
  readonly audioOutput: number;
  readonly imageInput: number;
  readonly imageOutput: number;
}

interface Tier {
  /** Holds for prompts of more tokens than these. */
  readonly tokens: number;
  readonly rates: Rates;
  readonly batch: Rates;
}

/** What one model costs. Completed when it is read, so that nothing is looked for per call. */
export interface Price {
  /** Null: it is not paid by tokens. */
  readonly rates: Rates | null;
  /** In a batch of the provider's. */
  readonly batch: Rates | null;
  /** The longest prompts first. */
  readonly tiers: readonly Tier[];
  /** US dollars for one image, by `quality size`, by either, or for all. */
  readonly image: number | ReadonlyMap<string, number> | null;
  /** US dollars for a minute that is heard, a million characters that are spoken, a thousand searches. */
  readonly minute: number | null;
  readonly characters: number | null;
  readonly searches: number | null;
}

type WrittenRates = Omit<NonNullable<WrittenPrice['batch']>, never>;

/** What providers take in a batch where their list says nothing else. */
const BATCH_SHARE = 0.5;

function ratesOf(written: WrittenRates): Rates {
  const { input, output, cached = input, cache_write = input } = written;
  return {
    input,
    output,
    cached,
    cacheWrite: cache_write,
    cacheWriteHour: written.cache_write_hour ?? cache_write,
    audioInput: written.audio_input ?? input,
    audioOutput: written.audio_output ?? output,
    imageInput: written.image_input ?? input,
    imageOutput: written.image_output ?? output,
  };
}

const scaled = (rates: Rates, share: number): Rates =>
  Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, rate * share])) as unknown as Rates;

/** What is left out of a tier or of the batch prices is as it is in front of them. */
const over = (base: WrittenRates, more: WrittenRates): WrittenRates => ({ ...base, ...more });

export function priceFrom(written: WrittenPrice): Price {
  const { input, output, image, minute = null, characters = null, searches = null } = written;
  const base = input === undefined || output === undefined ? null : { ...written, input, output };
  const tiers = (written.above ?? []).map(({ tokens, ...more }): Tier => {
    const rates = ratesOf(over(base!, more));
    return { tokens, rates, batch: scaled(rates, BATCH_SHARE) };
  });
  const rates = base && ratesOf(base);
  return {
    rates,
    batch: rates && (written.batch ? ratesOf(over(base!, written.batch)) : scaled(rates, BATCH_SHARE)),
    tiers: tiers.reverse(),
    image: image === undefined ? null : typeof image === 'number' ? image : new Map(Object.entries(image)),
    minute,
    characters,
    searches,
  };
}

/** How a call is paid: at once, or as a line of a batch that the provider carries out. */
export type Paid = 'at once' | 'in a batch';

/** US dollars; null when the usage says nothing that the price is for. */
export function costAt(price: Price, usage: Usage, paid: Paid = 'at once'): number | null {
  const tokens = tokenCost(price, usage, paid);
  const units = unitCost(price, usage, paid);
  if (tokens === null) return units;
  return units === null ? tokens : tokens + units;
}

/** US dollars of each kind of tokens that entries of the log tell apart. */
export interface TokenCosts {
  readonly input: number;
  readonly cached_input: number;
  readonly output: number;
  /** What was thought before the answer; it costs as much as what is said. */
  readonly reasoning: number;
}

/** What each kind costs, as far as usage says no more than these; null when it is not paid by tokens. */
export function costByKind(price: Price, usage: Usage, paid: Paid = 'at once'): TokenCosts | null {
  if (price.rates === null || (usage.inputTokens === undefined && usage.outputTokens === undefined)) return null;
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens: cached = 0 } = usage;
  const thought = Math.min(usage.reasoningTokens ?? 0, outputTokens);
  const rates = ratesFor(price, inputTokens, paid);
  return {
    input: (Math.max(0, inputTokens - cached) * rates.input) / 1e6,
    cached_input: (cached * rates.cached) / 1e6,
    output: ((outputTokens - thought) * rates.output) / 1e6,
    reasoning: (thought * rates.output) / 1e6,
  };
}

function tokenCost(price: Price, usage: Usage, paid: Paid): number | null {
  if (price.rates === null || (usage.inputTokens === undefined && usage.outputTokens === undefined)) return null;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const rates = ratesFor(price, inputTokens, paid);
  return (inputCost(rates, usage, inputTokens) + outputCost(rates, usage, outputTokens)) / 1e6;
}

function ratesFor({ rates, batch, tiers }: Price, inputTokens: number, paid: Paid): Rates {
  for (const tier of tiers) if (inputTokens > tier.tokens) return paid === 'at once' ? tier.rates : tier.batch;
  return (paid === 'at once' ? rates : batch)!;
}

/** The kinds are parts of all input tokens; what is none of them is plain. */
function inputCost(rates: Rates, usage: Usage, inputTokens: number): number {
  const { cachedInputTokens = 0, cacheWriteTokens = 0, audioInputTokens = 0, imageInputTokens = 0 } = usage;
  const hour = Math.min(usage.cacheWriteHourTokens ?? 0, cacheWriteTokens);
  const plain = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens - audioInputTokens - imageInputTokens);
  return (
    plain * rates.input +
    cachedInputTokens * rates.cached +
    (cacheWriteTokens - hour) * rates.cacheWrite +
    hour * rates.cacheWriteHour +
    audioInputTokens * rates.audioInput +
    imageInputTokens * rates.imageInput
  );
}

function outputCost(rates: Rates, { audioOutputTokens = 0, imageOutputTokens = 0 }: Usage, outputTokens: number) {
  const plain = Math.max(0, outputTokens - audioOutputTokens - imageOutputTokens);
  return plain * rates.output + audioOutputTokens * rates.audioOutput + imageOutputTokens * rates.imageOutput;
}

function unitCost({ image, minute, characters, searches }: Price, usage: Usage, paid: Paid): number | null {
  let sum: number | null = null;
  if (image !== null && usage.images !== undefined) sum = usage.images * imagePrice(image, usage.imageKind ?? '');
  if (minute !== null && usage.seconds !== undefined) sum = (sum ?? 0) + (usage.seconds / 60) * minute;
  if (characters !== null && usage.characters !== undefined) sum = (sum ?? 0) + (usage.characters * characters) / 1e6;
  if (searches !== null && usage.searches !== undefined) sum = (sum ?? 0) + (usage.searches * searches) / 1e3;
  return sum === null || paid === 'at once' ? sum : sum * BATCH_SHARE;
}

/** `kind` is `quality size`. One that is on no list is taken for the dearest, not for a cheap one. */
function imagePrice(image: NonNullable<Price['image']>, kind: string): number {
  if (typeof image === 'number') return image;
  const [quality = '', size = ''] = kind.split(' ');
  return image.get(kind) ?? image.get(size) ?? image.get(quality) ?? Math.max(...image.values());
}
