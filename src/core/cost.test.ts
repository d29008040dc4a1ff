import { expect, test } from 'bun:test';
import { costAt, priceFrom } from './cost.ts';
import { NANO_DOLLARS } from './money.ts';
import { priceMembers, type WrittenPrice } from './price-file.ts';
import type { Usage } from './usage.ts';

/** The same sequence in every run. */
function numbers(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
}

/** Thousandths of a cent for a million tokens, so that exact arithmetic has whole numbers to work with. */
const STEPS = 100_000;
const asDollars = (steps: number) => steps / STEPS;

const million: Usage = { inputTokens: 1_000_000, outputTokens: 1_000_000 };

test('what is settled is the exact sum, to the nano-dollar, for every price and usage', () => {
  const next = numbers(11);
  for (let round = 0; round < 5_000; round++) {
    const steps = Array.from({ length: 9 }, () => next(20_000_000));
    const [input, output, cached, write, hour, audioIn, audioOut, imageIn, imageOut] = steps as [number, ...number[]];
    const price = priceFrom({
      input: asDollars(input),
      output: asDollars(output!),
      cached: asDollars(cached!),
      cache_write: asDollars(write!),
      cache_write_hour: asDollars(hour!),
      audio_input: asDollars(audioIn!),
      audio_output: asDollars(audioOut!),
      image_input: asDollars(imageIn!),
      image_output: asDollars(imageOut!),
    });
    const tokens = Array.from({ length: 9 }, () => next(1_000_000));
    const [plain, out, read, five, sixty, heard, spoken, seen, drawn] = tokens as [number, ...number[]];
    const usage: Usage = {
      inputTokens: plain + read! + five! + sixty! + heard! + seen!,
      outputTokens: out! + spoken! + drawn!,
      cachedInputTokens: read!,
      cacheWriteTokens: five! + sixty!,
      cacheWriteHourTokens: sixty!,
      audioInputTokens: heard!,
      audioOutputTokens: spoken!,
      imageInputTokens: seen!,
      imageOutputTokens: drawn!,
    };
    // In dollars × 1e6 × STEPS; a nano-dollar is STEPS / 1000 of them.
    const exact = [plain, out, read, five, sixty, heard, spoken, seen, drawn]
      .map(
        (count, index) =>
          BigInt(count!) * BigInt([input, output, cached, write, hour, audioIn, audioOut, imageIn, imageOut][index]!),
      )
      .reduce((sum, each) => sum + each, 0n);
    const nano = Math.round(costAt(price, usage)! * NANO_DOLLARS);
    const difference = BigInt(nano) * BigInt(STEPS) - exact * 1_000n;
    expect(difference <= BigInt(STEPS) && difference >= -BigInt(STEPS)).toBe(true);
  }
});

test('more of anything never costs less, and nothing costs nothing', () => {
  const next = numbers(7);
  const price = priceFrom({
    ...{ input: 3, output: 15, cached: 0.3, cache_write: 3.75, cache_write_hour: 6, audio_input: 40, image_output: 30 },
    above: [{ tokens: 200_000, input: 6, output: 22.5 }],
    ...{ image: 0.04, minute: 0.006, characters: 15, searches: 2 },
  });
  expect(costAt(price, { inputTokens: 0, outputTokens: 0 })).toBe(0);
  const members = ['outputTokens', 'images', 'seconds', 'characters', 'searches'] as const;
  for (let round = 0; round < 1_000; round++) {
    const usage: Record<string, number> = { inputTokens: next(400_000) };
    for (const member of members) usage[member] = next(1_000);
    for (const member of ['inputTokens', ...members]) {
      const more = { ...usage, [member]: usage[member]! + 1 + next(1_000) };
      expect(costAt(price, more)!).toBeGreaterThanOrEqual(costAt(price, usage)!);
    }
  }
});

test('a long prompt has the prices of its tier for the whole call, from the first token beyond', () => {
  const price = priceFrom({
    ...{ input: 1, output: 10, cached: 0.1 },
    above: [
      { tokens: 100, input: 2, output: 20, cached: 0.2 },
      { tokens: 200, input: 4, output: 40 },
    ],
  });
  const at = (inputTokens: number) => costAt(price, { inputTokens, outputTokens: 10 })! * 1e6;
  expect([at(100), at(101), at(200), at(201)].map(Math.round)).toEqual([200, 402, 600, 1_204]);
  // What a tier leaves out is as in front of the tiers.
  expect(costAt(price, { inputTokens: 300, cachedInputTokens: 300 })! * 1e6).toBeCloseTo(30, 6);
});

test('a batch has half of every price, or the prices that are given for it', () => {
  const half = priceFrom({ input: 2, output: 8, above: [{ tokens: 5e5, input: 4, output: 16 }] });
  expect(costAt(half, { inputTokens: 1e5, outputTokens: 1e5 }, 'in a batch')).toBeCloseTo(0.5, 9);
  expect(costAt(half, million, 'in a batch')).toBeCloseTo(10, 9);
  const own = priceFrom({ input: 2, output: 8, cached: 0.2, batch: { input: 1.5, output: 6 } });
  expect(costAt(own, million, 'in a batch')).toBeCloseTo(7.5, 9);
  expect(costAt(own, { inputTokens: 1e6, cachedInputTokens: 1e6 }, 'in a batch')).toBeCloseTo(0.2, 9);
});

test('pictures, minutes, characters and searches are paid by the piece', () => {
  const cost = (written: WrittenPrice, usage: Usage) => costAt(priceFrom(written), usage);
  const table = { image: { '1024x1024': 0.04, 'hd 1024x1024': 0.08, '1024x1792': 0.08, 'hd 1024x1792': 0.12 } };
  expect(cost(table, { images: 2, imageKind: 'standard 1024x1024' })).toBeCloseTo(0.08, 9);
  expect(cost(table, { images: 1, imageKind: 'hd 1024x1792' })).toBeCloseTo(0.12, 9);
  expect(cost(table, { images: 1, imageKind: 'hd 7x7' })).toBeCloseTo(0.12, 9);
  expect(cost({ image: 0.03 }, { images: 3, imageKind: ' ' })).toBeCloseTo(0.09, 9);
  expect(cost({ minute: 0.006 }, { seconds: 90 })).toBeCloseTo(0.009, 9);
  expect(cost({ characters: 15 }, { characters: 1_000 })).toBeCloseTo(0.015, 9);
  expect(cost({ searches: 2 }, { searches: 3 })).toBeCloseTo(0.006, 9);
});

test('what the price is not for has no cost, which is not zero', () => {
  const minute = priceFrom({ minute: 0.006 });
  expect(costAt(minute, million)).toBeNull();
  expect(costAt(minute, {})).toBeNull();
  expect(costAt(priceFrom({ input: 1, output: 1 }), { images: 1 })).toBeNull();
  expect(costAt(priceFrom({ image: 1 }), { seconds: 5 })).toBeNull();
});

for (const [name, entry, where] of [
  ['units with a rebate for tokens', { minute: 1, cached: 1 }, 'm.cached'],
  ['nothing at all', {}, 'm.input'],
  [
    'tiers that do not rise',
    {
      input: 1,
      output: 1,
      above: [
        { tokens: 9, input: 1, output: 1 },
        { tokens: 9, input: 1, output: 1 },
      ],
    },
    'm.above',
  ],
  ['a tier without a price', { input: 1, output: 1, above: [{ tokens: 9 }] }, 'm.above.0.input'],
  ['half a batch price', { input: 1, output: 1, batch: { input: 1 } }, 'm.batch.output'],
  ['no picture at all', { image: {} }, 'm.image'],
  ['a negative minute', { minute: -1 }, 'm.minute'],
] as const) {
  test(`a price with ${name} is refused where it is wrong`, () => {
    const { error } = priceMembers().safeParse({ m: entry });
    expect(error?.issues.map(({ path }) => path.join('.'))).toContain(where);
  });
}
