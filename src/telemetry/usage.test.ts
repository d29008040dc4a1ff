import { expect, test } from 'bun:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { BodyCapture } from './capture.ts';
import type { Usage } from './record.ts';
import { decodeForUsage, HEAD_BYTES, readUsage } from './usage.ts';

const JSON_TYPE = 'application/json';
const EVENTS = 'text/event-stream; charset=utf-8';
const bytesOf = (text: string) => new TextEncoder().encode(text);
const sse = (...events: unknown[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
const read = (contentType: string | null, text: string) => readUsage({ contentType, head: bytesOf(text), tail: null });

const filler = 'word '.repeat(20_000);
const chatUsage = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
};
const chatCounts: Usage = {
  inputTokens: 10,
  outputTokens: 5,
  totalTokens: 15,
  cachedInputTokens: 4,
  reasoningTokens: 2,
};
const claudeStart = {
  type: 'message_start',
  message: {
    model: 'claude-sonnet-4-5',
    usage: { input_tokens: 7, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 },
  },
};
const claudeDelta = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 42 } };
const claudeCounts: Usage = {
  inputTokens: 127,
  outputTokens: 42,
  totalTokens: 169,
  cachedInputTokens: 100,
  cacheWriteTokens: 20,
};
const geminiUsage = {
  promptTokenCount: 8,
  candidatesTokenCount: 3,
  thoughtsTokenCount: 11,
  totalTokenCount: 22,
  cachedContentTokenCount: 2,
};
const geminiCounts: Usage = {
  inputTokens: 8,
  outputTokens: 14,
  totalTokens: 22,
  cachedInputTokens: 2,
  reasoningTokens: 11,
};
const geminiChunk = {
  candidates: [{ content: { parts: [{ text: 'hi' }] } }],
  usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 },
};

const cases: [
  name: string,
  contentType: string | null,
  body: string,
  usage: Usage | undefined,
  model: string | undefined,
][] = [
  [
    'chat',
    JSON_TYPE,
    JSON.stringify({ model: 'gpt-4o-2024-08-06', choices: [], usage: chatUsage }),
    chatCounts,
    'gpt-4o-2024-08-06',
  ],
  ['a long chat', JSON_TYPE, JSON.stringify({ model: 'm', choices: [filler], usage: chatUsage }), chatCounts, 'm'],
  [
    'usage before a long text',
    JSON_TYPE,
    JSON.stringify({ usage: chatUsage, choices: [filler], model: 'm' }),
    chatCounts,
    'm',
  ],
  [
    'usage in the middle',
    JSON_TYPE,
    JSON.stringify({ a: filler, usage: chatUsage, choices: [filler] }),
    chatCounts,
    undefined,
  ],
  [
    'embeddings',
    JSON_TYPE,
    '{"object":"list","data":[],"model":"e","usage":{"prompt_tokens":8,"total_tokens":8}}',
    { inputTokens: 8, totalTokens: 8 },
    'e',
  ],
  [
    'DeepSeek',
    JSON_TYPE,
    '{"model":"d","usage":{"prompt_tokens":8,"completion_tokens":1,"total_tokens":9,"prompt_cache_hit_tokens":6}}',
    { inputTokens: 8, outputTokens: 1, totalTokens: 9, cachedInputTokens: 6 },
    'd',
  ],
  [
    'responses',
    JSON_TYPE,
    JSON.stringify({
      model: 'gpt-5',
      usage: {
        input_tokens: 9,
        output_tokens: 4,
        total_tokens: 13,
        input_tokens_details: { cached_tokens: 3 },
        output_tokens_details: { reasoning_tokens: 1 },
      },
    }),
    { inputTokens: 9, outputTokens: 4, totalTokens: 13, cachedInputTokens: 3, reasoningTokens: 1 },
    'gpt-5',
  ],
  [
    'messages',
    JSON_TYPE,
    JSON.stringify({ model: 'claude-x', content: [], usage: { ...claudeStart.message.usage, output_tokens: 42 } }),
    claudeCounts,
    'claude-x',
  ],
  [
    'Gemini',
    JSON_TYPE,
    JSON.stringify({ candidates: [], usageMetadata: geminiUsage, modelVersion: 'gemini-2.5-pro' }),
    geminiCounts,
    'gemini-2.5-pro',
  ],
  [
    'Gemini streamed as an array',
    JSON_TYPE,
    JSON.stringify([geminiChunk, { usageMetadata: geminiUsage, modelVersion: 'g' }]),
    geminiCounts,
    'g',
  ],
  [
    'Gemini streamed as a long array',
    JSON_TYPE,
    JSON.stringify([...Array(200).fill(geminiChunk), { usageMetadata: geminiUsage, modelVersion: 'g' }], null, 1),
    geminiCounts,
    'g',
  ],
  [
    'Converse',
    JSON_TYPE,
    '{"usage":{"inputTokens":5,"outputTokens":6,"totalTokens":11,"cacheReadInputTokens":0}}',
    { inputTokens: 5, outputTokens: 6, totalTokens: 11, cachedInputTokens: 0 },
    undefined,
  ],
  [
    'Cohere',
    JSON_TYPE,
    '{"usage":{"billed_units":{"input_tokens":1},"tokens":{"input_tokens":5,"output_tokens":6}}}',
    { inputTokens: 5, outputTokens: 6, totalTokens: 11 },
    undefined,
  ],
  [
    'streamed chat',
    EVENTS,
    sse({ model: 'gpt-4o', choices: [{}], usage: null }, { model: 'gpt-4o', choices: [], usage: chatUsage }, '[DONE]'),
    chatCounts,
    'gpt-4o',
  ],
  [
    'long streamed chat',
    EVENTS,
    sse(
      ...Array(2_000).fill({ model: 'gpt-4o', choices: [{ delta: { content: 'x' } }], usage: null }),
      { model: 'gpt-4o', usage: chatUsage },
      '[DONE]',
    ),
    chatCounts,
    'gpt-4o',
  ],
  [
    'streamed Groq',
    EVENTS,
    sse({ model: 'l', choices: [{}], x_groq: { usage: chatUsage } }, '[DONE]'),
    chatCounts,
    'l',
  ],
  [
    'streamed messages',
    EVENTS,
    sse(claudeStart, { type: 'content_block_delta', delta: { text: 'hi' } }, claudeDelta, { type: 'message_stop' }),
    claudeCounts,
    'claude-sonnet-4-5',
  ],
  [
    'long streamed messages',
    EVENTS,
    sse(claudeStart, ...Array(2_000).fill({ type: 'content_block_delta', delta: { text: 'hi' } }), claudeDelta),
    claudeCounts,
    'claude-sonnet-4-5',
  ],
  [
    'streamed responses',
    EVENTS,
    sse(
      { type: 'response.created', response: { model: 'gpt-5', usage: null } },
      {
        type: 'response.completed',
        response: { model: 'gpt-5', output: [filler], usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } },
      },
    ),
    { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    'gpt-5',
  ],
  [
    'streamed Gemini',
    EVENTS,
    sse(geminiChunk, { ...geminiChunk, usageMetadata: geminiUsage, modelVersion: 'g' }),
    geminiCounts,
    'g',
  ],
  [
    'JSON over several data lines',
    EVENTS,
    'event: x\r\ndata: {"model":\r\ndata:  "m",\r\ndata: "usage":\r\ndata: {"prompt_tokens":\r\ndata:1,"completion_tokens":2}}\r\n\r\n',
    { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    'm',
  ],
  [
    'lines that end in CR',
    EVENTS,
    'data: {"model":"m",\rdata: "usage":{"prompt_tokens":1,\rdata: "completion_tokens":2}}\r\r',
    { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    'm',
  ],
  [
    'text that talks about usage',
    JSON_TYPE,
    JSON.stringify({ model: 'm', choices: [`"usage":{"prompt_tokens":99} ${filler}`] }),
    undefined,
    'm',
  ],
  [
    'a transcription billed by time',
    JSON_TYPE,
    '{"text":"hi","usage":{"type":"duration","seconds":9}}',
    { seconds: 9 },
    undefined,
  ],
  ['an error', JSON_TYPE, '{"error":{"message":"no"}}', undefined, undefined],
  ['null', JSON_TYPE, 'null', undefined, undefined],
  ['nothing', null, '', undefined, undefined],
  [
    'negative and absurd counts',
    JSON_TYPE,
    '{"usage":{"prompt_tokens":-1,"completion_tokens":"7"}}',
    undefined,
    undefined,
  ],
];

for (const [name, contentType, body, usage, model] of cases) {
  test(`usage of ${name}`, () => {
    expect(read(contentType, body)).toEqual({ ...(usage && { usage }), ...(model && { model }) });
  });
}

test('a body that was captured in pieces, whole or cut, reads like one that came at once', () => {
  for (const [, contentType, body, usage, model] of cases) {
    const bytes = bytesOf(body);
    for (const cap of [HEAD_BYTES, 1_000_000]) {
      for (const step of [997, 6_000]) {
        const capture = new BodyCapture(cap);
        for (let at = 0; at < bytes.length; at += step) capture.add(bytes.slice(at, at + step));
        const head = capture.head(HEAD_BYTES);
        const reading = readUsage({ contentType, head, tail: capture.tail(head.byteLength) });
        // Only what lies in the middle of a body that was not kept cannot be found.
        if (body.startsWith('{"a":')) continue;
        expect(reading.usage).toEqual(usage as Usage);
        if (!body.includes(filler)) expect(reading.model).toBe(model as string);
      }
    }
  }
});

test('a stream that was cut anywhere never makes the reader throw or count what was not sent', () => {
  const whole = bytesOf(sse(claudeStart, { type: 'ping' }, claudeDelta, { type: 'message_stop' }));
  for (let end = 0; end <= whole.length; end++) {
    const { usage } = readUsage({ contentType: EVENTS, head: whole.subarray(0, end), tail: null });
    if (usage) expect([1, 42]).toContain(usage.outputTokens!);
  }
});

test('random bytes never make the reader throw', () => {
  const pieces = [
    '"usage":',
    '{',
    '}',
    '"model":',
    '\\',
    '"',
    'data: ',
    '\r',
    '\n',
    '[',
    'null',
    '1',
    '\u00e9',
    '"usageMetadata":{',
  ];
  let state = 7;
  const next = (limit: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % limit;
  };
  for (let round = 0; round < 2_000; round++) {
    const text = Array.from({ length: next(40) }, () => pieces[next(pieces.length)]).join('');
    const bytes = bytesOf(text);
    for (const contentType of [EVENTS, JSON_TYPE]) {
      const { usage } = readUsage({ contentType, head: bytes.subarray(next(3)), tail: next(2) ? bytes : null });
      expect(usage).toBeUndefined();
    }
  }
});

const encodings: [string, (text: Uint8Array) => Uint8Array][] = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['gzip, br', (bytes) => brotliCompressSync(gzipSync(bytes))],
];
for (const [name, encode] of encodings) {
  test(`content-encoding ${name} is taken off`, async () => {
    const decoded = await decodeForUsage(name, encode(bytesOf('{"model":"m"}')));
    expect(Buffer.from(decoded!).toString()).toBe('{"model":"m"}');
  });
}

test('the readable part of a cut gzip body is kept', async () => {
  const body = JSON.stringify({ model: 'm', noise: Array.from({ length: 20_000 }, (_, index) => index * 7_919) });
  const packed = gzipSync(bytesOf(body));
  const decoded = await decodeForUsage('gzip', packed.subarray(0, packed.length / 2));
  expect(body.startsWith(Buffer.from(decoded!).toString().slice(0, 1_000))).toBe(true);
  expect(decoded!.length).toBeGreaterThan(1_000);
});

test('an unknown coding, broken data and a bomb have no reading', async () => {
  expect(await decodeForUsage('rot13', bytesOf('x'))).toBeNull();
  expect(await decodeForUsage('gzip', bytesOf('not gzip'))).toBeNull();
  expect(await decodeForUsage('gzip', gzipSync(Buffer.alloc(50_000_000)))).toBeNull();
});
