import { expect, test } from 'bun:test';
import { costAt, priceFrom } from '../core/cost.ts';
import { costDetailsOf, withCostDetails } from './cost-details.ts';

const price = priceFrom({ input: 2, output: 8, cached: 0.5, above: [{ tokens: 200_000, input: 4, output: 12 }] });
const prices = {
  priceOf: (provider: string, model: string) => (provider === 'openai' && model === 'm' ? price : null),
};
const entry = {
  ...{ provider: 'openai', model: 'm', cost: 0.00456 },
  ...{ input_tokens: 1_000, cached_tokens: 400, output_tokens: 395, reasoning_tokens: 300 },
};
const usage = { inputTokens: 1_000, cachedInputTokens: 400, outputTokens: 395, reasoningTokens: 300 };

test('kinds of tokens come to the cost of the entry', () => {
  expect(costAt(price, usage)).toBeCloseTo(entry.cost, 12);
  expect(costDetailsOf(entry, prices)).toEqual({
    input: 0.0012,
    cached_input: 0.0002,
    output: 0.00076,
    reasoning: 0.0024,
  });
  const long = { ...entry, input_tokens: 300_000, cached_tokens: null, reasoning_tokens: null };
  const cost = costAt(price, { inputTokens: 300_000, outputTokens: 395 })!;
  expect(costDetailsOf({ ...long, cost }, prices)).toMatchObject({ input: 1.2, cached_input: 0, reasoning: 0 });
  expect(costDetailsOf({ ...entry, cost: entry.cost / 2 }, prices)).toMatchObject({ input: 0.0006 });
});

test('nothing is told that does not come to what was charged', () => {
  for (const over of [{ cost: 0.005 }, { cost: null }, { cost: 0 }, { model: 'other' }, { provider: null }])
    expect(costDetailsOf({ ...entry, ...over }, prices)).toBeNull();
});

test('the text of an entry is read up to what people have sent', () => {
  const text = JSON.stringify({
    ...{ id: 'x', path: '/v1/,"client_address":', ...entry, client_address: '::1' },
    ...{ metadata: { client_address: 'y' }, request: { body: ',"client_address":' } },
  });
  const { cost_details, ...rest } = JSON.parse(withCostDetails(text, prices));
  expect(rest).toEqual(JSON.parse(text));
  expect(cost_details.input).toBe(0.0012);
});
