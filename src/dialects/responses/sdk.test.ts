import { expect, test } from 'bun:test';
import OpenAI from 'openai';
import type { ReplyContext } from '../dialect.ts';
import { unfold } from '../fold.ts';
import type { Failure, ModelReply, ModelRequest, ReplyEvent } from '../ir.ts';
import { formatSse } from '../sse.ts';
import { encodeRequest } from './encode.ts';
import { encodeReply } from './reply.ts';
import { responses } from './responses.ts';
import type { OutputItem, ResponseReply, ResponsesRequest } from './wire.ts';

/** OpenAI's own helper and types are strict readers: what they put together must be what was said. */

const request: ModelRequest = responses.inbound.decodeRequest({
  model: 'asked-for',
  instructions: 'Be brief.',
  input: 'Hi',
  tools: [{ type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: true }],
  stream: true,
});
const context: ReplyContext = { request, id: 'resp_MadeHere', now: 1_760_000_000_000 };

const reply: ModelReply = {
  id: 'msg_01',
  model: 'model-1',
  createdAt: 1_760_000_000,
  choices: [
    {
      parts: [
        { type: 'reasoning', text: 'Let me see. 🌊', signature: 'c2ln', signedBy: 'anthropic' },
        { type: 'text', text: 'I will look, 言葉 after word.' },
        { type: 'text', text: ' At once.' },
        { type: 'tool-call', id: 'call_1', name: 'get_weather', argsText: '{"city":"Paris"}' },
        { type: 'tool-call', id: 'call_2', name: 'get_weather', argsText: '{"city":"Rome","unit":"c"}' },
        { type: 'tool-call', id: 'call_3', name: 'sql', argsText: 'select 1', custom: true },
        { type: 'reasoning', redacted: 'hidden', signedBy: 'anthropic' },
        { type: 'refusal', text: 'No more.' },
        { type: 'media', kind: 'image', source: { type: 'data', data: 'AAECAw==' }, mime: 'image/png' },
      ],
      finish: { reason: 'tool-calls' },
    },
  ],
  usage: { inputTokens: 120, outputTokens: 30, cachedInputTokens: 100, cacheWriteTokens: 5, reasoningTokens: 7 },
};

function written(events: Iterable<ReplyEvent>) {
  const encoder = responses.inbound.encodeStream(context);
  return [...[...events].flatMap((event) => encoder.push(event)), ...encoder.end()];
}

const streamed = (events: Iterable<ReplyEvent>) =>
  new Response(written(events).map(formatSse).join(''), { headers: { 'content-type': 'text/event-stream' } });

const openai = (response: Response) =>
  new OpenAI({ apiKey: 'none', maxRetries: 0, fetch: (async () => response) as unknown as typeof fetch });
const helped = (events: Iterable<ReplyEvent>) => {
  const stream = openai(streamed(events)).responses.stream({ model: 'm', input: 'Hi' });
  return stream.finalResponse();
};

/** The same reply, with the parts at these two places coming at the same time. */
function overlapping(one: number, other: number): ReplyEvent[] {
  const events = [...unfold(reply, 3)];
  const isOf = (index: number) => (event: ReplyEvent) => 'index' in event && event.index === index;
  const [first, second] = [events.filter(isOf(one)), events.filter(isOf(other))];
  const mixed = Array.from({ length: Math.max(first.length, second.length) }, (_, at) => [
    first[at],
    second[at],
  ]).flat();
  const others = events.filter((event) => !isOf(one)(event) && !isOf(other)(event));
  const at = others.findIndex((event) => 'index' in event && event.index > one);
  return [...others.slice(0, at), ...mixed.filter((event) => event !== undefined), ...others.slice(at)];
}

const ORDERS = {
  'one after the other': () => unfold(reply, 4),
  'two calls at once': () => overlapping(3, 4),
  'two texts at once': () => overlapping(1, 2),
  'a text and a call at once': () => overlapping(2, 3),
  'a thought and a text at once': () => overlapping(0, 1),
};
for (const [kind, events] of Object.entries(ORDERS))
  test(`OpenAI’s helper puts a stream together, with ${kind}`, async () => {
    const whole = await helped(events());
    const inOnePiece = encodeReply(reply, context).body;
    const { output_text, output_parsed, output, ...rest } = whole;
    expect(
      JSON.parse(JSON.stringify(output, (name, value) => (name.startsWith('parsed') ? undefined : value))),
    ).toEqual(inOnePiece.output);
    expect(rest as unknown).toEqual({ ...inOnePiece, output: undefined });
    expect(output_text).toBe('I will look, 言葉 after word. At once.');
  });

test('the snapshot that OpenAI’s helper keeps is the whole answer at every event', async () => {
  const stream = openai(streamed(unfold(reply, 5))).responses.stream({ model: 'm', input: 'Hi' });
  const snapshots: string[] = [];
  stream.on('response.output_text.delta', ({ snapshot }) => snapshots.push(snapshot));
  await stream.done();
  expect(snapshots.at(-1)).toBe(' At once.');
  expect(snapshots).toContain('I will look, 言葉 after word.');
});

const ONCE = [/^response\.created$/, /^response\.(completed|incomplete|failed)$/];

test('events are numbered, named, in order, and each item is added once and done once', () => {
  for (const events of Object.values(ORDERS)) {
    const all = written(events()).map(({ event, data }) => ({ event, ...JSON.parse(data) }));
    expect(all.map(({ sequence_number }) => sequence_number)).toEqual(all.map((_, index) => index));
    for (const { event, type } of all) expect(type).toBe(event);
    expect(all.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
    for (const type of ONCE) expect(all.filter((event) => type.test(event.type))).toHaveLength(1);
    expect(all.at(-1).type).toBe('response.completed');
    const items = all.filter(({ type }) => type === 'response.output_item.added');
    expect(items.map(({ output_index }) => output_index)).toEqual(items.map((_, index) => index));
    const done = all.filter(({ type }) => type === 'response.output_item.done');
    expect(done.map(({ output_index }) => output_index).toSorted()).toEqual(items.map((_, index) => index));
    for (const { output_index, item } of done) expect(item.id).toBe(items[output_index].item.id);
  }
});

test('pieces of every kind end with the whole that they add up to', () => {
  const all = written(unfold(reply, 3)).map(({ data }) => JSON.parse(data));
  const added = (type: string, item: string) =>
    all
      .filter((event) => event.type === `${type}.delta` && event.item_id === item)
      .map(({ delta }) => delta)
      .join('');
  const WHOLES: readonly [type: string, member: string][] = [
    ['response.function_call_arguments', 'arguments'],
    ['response.custom_tool_call_input', 'input'],
    ['response.reasoning_summary_text', 'text'],
    ['response.refusal', 'refusal'],
  ];
  for (const [type, member] of WHOLES) {
    const done = all.filter((event) => event.type === `${type}.done`);
    expect(done.length).toBeGreaterThan(0);
    for (const event of done) expect(added(type, event.item_id)).toBe(event[member]);
  }
});

const failure: Failure = { kind: 'rate-limit', status: 429, message: 'Too busy.', code: 'slow_down' };

test('a failure inside a stream reaches the helper as an error, and other readers as a failed response', async () => {
  const events: ReplyEvent[] = [...[...unfold(reply, 4)].slice(0, 12), { type: 'error', failure }];
  await expect(helped(events)).rejects.toThrow('Too busy.');
  const [error, failed] = written(events)
    .slice(-2)
    .map(({ data }) => JSON.parse(data));
  expect(error).toMatchObject({ type: 'error', code: 'slow_down', message: 'Too busy.', param: null });
  expect(failed.response).toMatchObject({
    id: 'resp_MadeHere',
    status: 'failed',
    error: { code: 'rate_limit_exceeded', message: 'Too busy.' },
  });
});

test('a failure before anything else is an error without a response', async () => {
  expect(written([{ type: 'error', failure }]).map(({ event }) => event)).toEqual(['error']);
  await expect(helped([{ type: 'error', failure }])).rejects.toThrow('Too busy.');
});

test('a stream that was never finished never ends cleanly', async () => {
  const cut = [...unfold(reply, 4)].slice(0, 12);
  await expect(helped(cut)).rejects.toThrow('ended the stream before the answer was complete');
  expect(await streamed(cut).text()).not.toContain('response.completed');
});

test('an answer that was cut by the limit is incomplete', async () => {
  const short: ModelReply = {
    choices: [{ parts: [{ type: 'text', text: 'Once' }], finish: { reason: 'length' } }],
  };
  const whole = await helped(unfold(short));
  expect(whole.status).toBe('incomplete');
  expect(whole.incomplete_details).toEqual({ reason: 'max_output_tokens' });
  expect(whole.output[0]).toMatchObject({ type: 'message', status: 'incomplete' });
});

test('an error is the one that the client knows by its class', async () => {
  const { status, body } = responses.inbound.encodeError(failure);
  const asked = openai(Response.json(body, { status })).responses.create({ model: 'm', input: 'Hi' });
  await expect(Promise.resolve(asked)).rejects.toThrow(OpenAI.RateLimitError);
});

test('bodies are of the vendor’s types: tsc fails when they are not what its own client would send or get', () => {
  const asked: ResponsesRequest = encodeRequest(request).body;
  asked satisfies Pick<OpenAI.Responses.ResponseCreateParams, keyof OpenAI.Responses.ResponseCreateParams>;
  const answered: ResponseReply = encodeReply(reply, context).body;
  answered satisfies Omit<OpenAI.Responses.Response, 'output_text'>;
  const items: OutputItem[] = answered.output;
  items satisfies OpenAI.Responses.ResponseOutputItem[];
  expect(answered).toMatchObject({ id: 'resp_MadeHere', object: 'response', instructions: 'Be brief.', store: true });
  expect(asked).toMatchObject({ model: 'asked-for', instructions: 'Be brief.', stream: true });
});
