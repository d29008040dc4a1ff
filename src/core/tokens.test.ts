import { afterAll, expect, test } from 'bun:test';
import { contextWindowOf } from './context-windows.ts';
import { loadTokenizer } from './tokenizer.ts';
import { createTokens, encodingOf, estimateTokens, mostTokens } from './tokens.ts';

const tokens = createTokens({ workerUrl: new URL('./token-worker.ts', import.meta.url) });
afterAll(() => tokens.close());

// Counts that the vendor's own tokenizer gives for these texts.
const KNOWN = [
  ['hello world', 2, 2],
  ['tiktoken is great!', 6, 6],
  ['お誕生日おめでとう', 8, 9],
  ['<|endoftext|>', 7, 7],
  ['', 0, 0],
] as const;

test('texts are counted with the vocabulary of the model', async () => {
  const texts = KNOWN.map(([text]) => text);
  expect(await tokens.count('gpt-4o-mini', texts)).toEqual(KNOWN.map(([, newer]) => newer));
  expect(await tokens.count('@azure/gpt-4-turbo', texts)).toEqual(KNOWN.map(([, , older]) => older));
});

test('the event loop goes on while a long text is counted', async () => {
  await tokens.count('gpt-4o', ['warm']);
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const [count] = await tokens.count('gpt-4o', [
    'A sentence about nothing in particular, again and again. '.repeat(100_000),
  ]);
  clearInterval(timer);
  expect(count).toBeGreaterThan(900_000);
  expect(turns).toBeGreaterThan(20);
});

test('a run of letters without end takes no time, and only a few tokens more than it would whole', async () => {
  const tokenizer = await loadTokenizer('o200k_base');
  const began = performance.now();
  expect(tokenizer.count('a'.repeat(500_000))).toBeGreaterThan(50_000);
  expect(performance.now() - began).toBeLessThan(20_000);
});

test('the words of a text are all of it, and their tokens add up', async () => {
  const tokenizer = await loadTokenizer('o200k_base');
  for (const text of [
    'Grüße, 漢字 und 😀😀!\n\n  <|endoftext|>',
    'x'.repeat(1_000),
    '😀'.repeat(300),
    `${'e\u0301'.repeat(200)}.`,
  ]) {
    const words = [...tokenizer.words(text)];
    expect(words.reduce((sum, { length }) => sum + length, 0)).toBe(text.length);
    expect(words.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(tokenizer.count(text));
  }
});

test('models whose vocabulary is not public are estimated, on the high side of what the newest public one says', async () => {
  expect(encodingOf('claude-sonnet-4-5')).toBeNull();
  const tokenizer = await loadTokenizer('o200k_base');
  for (const text of [
    'The weather is fine today, and nobody complains.',
    'Сегодня хорошая погода.',
    '今日はいい天気です。',
  ]) {
    expect(await tokens.count('claude-sonnet-4-5', [text])).toEqual([estimateTokens(text)]);
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(tokenizer.count(text) * 0.9);
  }
});

test('no text has more tokens than bytes', async () => {
  const tokenizer = await loadTokenizer('cl100k_base');
  for (const text of ['a', '漢', '😀', '\u0000\u0001', 'é', '\ud800']) {
    expect(tokenizer.count(text)).toBeLessThanOrEqual(mostTokens(text));
    expect(estimateTokens(text)).toBeLessThanOrEqual(mostTokens(text));
  }
});

test.each([
  ['gpt-4', 8_192],
  ['gpt-4-0613', 8_192],
  ['gpt-4o', 128_000],
  ['gpt-4o-2024-08-06', 128_000],
  ['ft:gpt-4o-mini:acme::abc', 128_000],
  ['@prod/gpt-4.1-mini', 1_047_576],
  ['openai/gpt-5.1', 400_000],
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 200_000],
  ['claude-opus-4-6', 1_000_000],
  ['models/gemini-2.5-pro', 1_048_576],
  ['my-deployment', null],
  ['gpt-4x', null],
])('the context of %s is %p tokens', (model, expected) => {
  expect(contextWindowOf(model)).toBe(expected);
});
