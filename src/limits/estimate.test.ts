import { expect, test } from 'bun:test';
import { type EstimatedBody, estimateTokens } from './estimate.ts';

const estimate = (body: unknown, model: string | null = 'gpt-4o', more: Partial<EstimatedBody> = {}) =>
  estimateTokens({
    bytes: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    isJson: true,
    hasMore: false,
    model,
    ...more,
  });
const outputOf = (body: object, model: string | null = 'gpt-4o') => estimate(body, model).outputTokens;
const base64 = (bytes: number) => Buffer.alloc(bytes, 'any bytes will do').toString('base64');

test('a prompt counts a token per four bytes', () => {
  const body = { messages: [{ role: 'user', content: 'word '.repeat(2_000) }] };

  expect(estimate(body).inputTokens).toBe(Math.ceil(JSON.stringify(body).length / 4));
});

test('the answer is as long as the request allows', () => {
  expect(outputOf({ max_tokens: 100 })).toBe(100);
  expect(outputOf({ max_completion_tokens: 200 })).toBe(200);
  expect(outputOf({ max_output_tokens: 300 })).toBe(300);
  expect(outputOf({ generationConfig: { temperature: 1, maxOutputTokens: 400 } })).toBe(400);
  expect(outputOf({ inferenceConfig: { maxTokens: 500 } })).toBe(500);
});

test('of several bounds the largest counts, also when one is given twice', () => {
  expect(outputOf({ max_tokens: 100, max_completion_tokens: 200 })).toBe(200);
  expect(estimate('{"max_tokens": 1, "max_tokens" :900}').outputTokens).toBe(900);
});

test('several answers count several times', () => {
  expect(outputOf({ max_tokens: 100, n: 3 })).toBe(300);
  expect(outputOf({ max_tokens: 100, best_of: 4 })).toBe(400);
  expect(outputOf({ generationConfig: { maxOutputTokens: 100, candidateCount: 2 } })).toBe(200);
});

test('only the request itself is asked, not what it talks about', () => {
  expect(
    outputOf({ messages: [{ content: '"max_tokens": 9, "n": 9' }], tools: [{ max_tokens: 7 }], max_tokens: 5 }),
  ).toBe(5);
});

test('without a bound the model says, and a model that produces no text says 0', () => {
  expect(outputOf({}, 'gpt-4o-mini')).toBe(16_384);
  expect(outputOf({}, 'openai/gpt-5.1')).toBe(128_000);
  expect(outputOf({}, 'text-embedding-3-small')).toBe(0);
  expect(outputOf({}, 'nobody-knows')).toBe(4_096);
  expect(outputOf({}, null)).toBe(4_096);
});

test('what is no number is left to the provider to refuse', () => {
  for (const max_tokens of ['9', null, -1, 0, [5], {}]) expect(outputOf({ max_tokens }, null)).toBe(4_096);
});

test('absurd numbers stay within what a counter can hold', () => {
  expect(estimate('{"max_tokens":1e300,"n":1e300}').outputTokens).toBe(1e12);
});

test('media count a fixed amount, not their bytes', () => {
  const image = (url: string) => ({
    max_tokens: 1,
    messages: [{ content: [{ type: 'image_url', image_url: { url } }] }],
  });
  const around = JSON.stringify(image('')).length;

  expect(estimate(image(`data:image/png;base64,${base64(300_000)}`)).inputTokens).toBe(Math.ceil(around / 4) + 1_500);
  expect(
    estimate({ source: { type: 'base64', data: base64(90_000) }, more: { data: base64(9_000) } }).inputTokens,
  ).toBeLessThan(3_100);
});

test('a long recording or document counts by its size', () => {
  expect(estimate({ file_data: base64(3_000_000) }).inputTokens).toBeGreaterThan(7_000);
});

test('all pieces of a list are media', () => {
  const images = [base64(9_000), base64(9_000), base64(9_000)];

  expect(estimate({ images }).inputTokens).toBeLessThan(4_600);
});

test('what stands where media never do is text, with spaces or without', () => {
  const words = 'word_word-word/'.repeat(4_000);
  const escaped = '\\u4e2d\\u6587'.repeat(5_000);
  const bodies = [
    JSON.stringify({ messages: [{ content: words }] }),
    JSON.stringify({ messages: [{ content: 'word\n'.repeat(12_000) }] }),
    JSON.stringify({ messages: [{ content: `data:text/plain;base64,${base64(45_000)}` }] }),
    `{"messages":[{"content":"${escaped}"}]}`,
    JSON.stringify({ tools: [{ parameters: { url: 'x', [words]: 1 } }] }),
    `{"data":"${escaped}"}`,
  ];
  for (const body of bodies) expect(estimate(body).inputTokens).toBe(Math.ceil(Buffer.byteLength(body) / 4));
  const chinese = JSON.stringify({ content: '\u4e2d\u6587'.repeat(5_000) });
  expect(estimate(chinese).inputTokens).toBeGreaterThan(7_500);
});

test('text that is not JSON counts by its size, and so does what was not read', () => {
  const prose = 'word '.repeat(10_000);

  expect(estimate(prose, null, { isJson: false, isText: true }).inputTokens).toBe(12_500);
  expect(estimate('--form', 'm', { isJson: false, length: 10 << 20 }).inputTokens).toBe(20_480);
  expect(estimate('{"model":"m"', 'm', { hasMore: true, length: 10 << 20 }).inputTokens).toBeGreaterThan(20_000);
});

test('escaped slashes are still base64', () => {
  const escaped = JSON.stringify({ data: base64(30_000) }).replaceAll('/', '\\/');

  expect(estimate(escaped).inputTokens).toBeLessThan(1_600);
});

test('prose that begins like a data URL is prose', () => {
  const content = `data:text/plain;base64,${'these are words '.repeat(1_000)}`;

  expect(estimate({ content }).inputTokens).toBeGreaterThan(4_000);
});

test('a body that is not JSON, or was not read to its end, counts as media', () => {
  expect(estimate('--form-data', 'whisper-1', { isJson: false })).toEqual({ inputTokens: 1_500, outputTokens: 0 });
  expect(
    estimate(`{"max_tokens":5,"messages":[{"url":"data:image/png;base64,${base64(3_000)}`, null, { hasMore: true }),
  ).toEqual({
    inputTokens: 9 + 3_000,
    outputTokens: 5,
  });
});

test('a request without a body takes nothing', () => {
  expect(estimateTokens({ bytes: null, isJson: false, hasMore: false, model: null })).toEqual({
    inputTokens: 0,
    outputTokens: 0,
  });
});
