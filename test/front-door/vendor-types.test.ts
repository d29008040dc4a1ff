import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import OpenAI, { toFile } from 'openai';
import { ATLAS } from '../assistants/file-stories.ts';
import { dataDirWithSnapshot, PREPARED_MS } from '../assistants/sandbox.ts';
import { type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { seeded } from '../fuzz.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { type SmallServer, startSmallServer } from '../mcp/small-server.ts';
import { eventually } from '../process.ts';
import { fits, judgedFetch } from '../vendor/judged-fetch.ts';
import { type Schema, vendorSchemas } from '../vendor/schemas.ts';
import { orderFaults } from '../vendor/stream-order.ts';

/** Every answer and every event of these walks is held against the types that the vendor publishes with its client. */

// biome-ignore lint/suspicious/noExplicitAny: requests and events of every kind go through one place
type Loose = any;
/** What the provider speaks; `responses` is the vendor's own format, which knows such tools itself: the gateway once more. */
const FORMATS = ['chat', 'anthropic', 'gemini', 'responses'] as const;
type Format = (typeof FORMATS)[number];
type Random = ReturnType<typeof seeded>;

const MOST_MS = 120_000;
const PNG = Buffer.from('\x89PNG one', 'latin1').toString('base64');
/** Makes images and searches the web for models that cannot. */
const serving = serve(async (incoming) => {
  const { pathname } = new URL(incoming.url);
  const body = (await incoming.json()) as Loose;
  if (pathname.endsWith('/images/generations')) {
    if (!body.stream) return Response.json({ created: 1, data: [{ b64_json: PNG, revised_prompt: 'a red cat' }] });
    const events = [
      { type: 'image_generation.partial_image', b64_json: 'cGFydDA=', partial_image_index: 0, size: '1024x1024' },
      { type: 'image_generation.completed', b64_json: PNG, size: '1024x1024', quality: 'low' },
    ];
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  }
  const url = 'https://weather.example/bern';
  const annotations = [{ type: 'url_citation', start_index: 0, end_index: 2, url, title: 'Bern' }];
  const content = [{ type: 'output_text', text: 'It rains in Bern.', annotations }];
  const action = { type: 'search', query: 'x', sources: [{ type: 'url', url: 'https://second.example/' }] };
  return Response.json({
    ...{ id: 'resp_1', object: 'response', created_at: 1_700_000_000, status: 'completed', model: body.model },
    output: [
      { type: 'web_search_call', id: 'ws_vendor', status: 'completed', action },
      { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content },
    ],
    usage: { input_tokens: 7, output_tokens: 8, total_tokens: 15 },
  });
});

let gateway: TestGateway;
let dataDir: string;
let judged: Awaited<ReturnType<typeof judgedFetch>>;
let server: SmallServer;
let storeId: string;
let openai: OpenAI;
const stops: (() => void)[] = [];
const clientOf = (apiKey: string) =>
  new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, fetch: judged.fetch });
const clients = {} as Record<Format, OpenAI>;

beforeAll(async () => {
  dataDir = await dataDirWithSnapshot();
  judged = await judgedFetch();
  gateway = await startGateway({
    environment: {
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_IMAGE_GENERATION_VIRTUAL_KEY: 'served',
      GATEWAY_IMAGE_GENERATION_MODEL: 'gpt-image-1',
      GATEWAY_WEB_SEARCH_VIRTUAL_KEY: 'served',
      GATEWAY_WEB_SEARCH_MODEL: 'gpt-searcher',
    },
  });
  await gateway.given.virtualKey({ slug: 'served', key: 'k', custom_host: `${serving.origin}/v1` });
  const { given, provider, url } = gateway;
  const format = async (slug: Format, name: string, custom_host: string, key = 'simulated') => {
    await given.virtualKey({ slug, provider: name, key, custom_host });
    const made = await given.apiKey({ defaults: { virtual_key: slug } });
    clients[slug] = clientOf(made.key);
    return made.key as string;
  };
  const chat = await format('chat', 'groq', provider.url);
  await format('anthropic', 'anthropic', provider.url);
  await format('gemini', 'google', `${provider.origin}/v1beta`);
  await format('responses', 'openai', `${url}/v1`, chat);
  openai = clients.anthropic;
  server = startSmallServer({ era: 'older', tools: ['echo', 'erase'] });
  await gateway.api.post('/v1/mcp-servers', { name: 'desk', slug: 'desk', url: server.url });
  storeId = (await openai.vectorStores.create({ name: 'knowledge' })).id;
  await openai.vectorStores.files.uploadAndPoll(storeId, new File([ATLAS], 'atlas.txt'));
}, PREPARED_MS);
afterAll(async () => {
  await gateway.stop();
  for (const stop of [...stops, server.stop, serving.stop]) stop();
  rmSync(dataDir, { recursive: true, force: true });
});
afterEach(async () => {
  expect(await judged.faults()).toEqual([]);
});

/** The whole stream, or the answer as its only event. */
async function told(client: OpenAI, body: Loose): Promise<Loose[]> {
  const answer = (await client.responses.create({ model: 'any', ...body })) as Loose;
  return body.stream ? Array.fromAsync(answer) : [{ response: answer }];
}
const ask = async (client: OpenAI, body: Loose): Promise<Loose> => (await told(client, body)).at(-1)!.response;
const typesOf = ({ output }: Loose): string[] =>
  output.map(({ type }: { type: string }) => type).filter((type: string) => type !== 'reasoning');
/** The gateway runs the tool also where the provider has one of that name. */
const ours = { headers: { 'x-gateway-hosted-tools': 'gateway' } };

/** A model that gives these answers one after the other. */
async function scripted(...answers: ScriptedAnswer[]) {
  const provider = startScriptedProvider((request, number) => ({
    isWhole: request.stream !== true,
    ...(answers[number - 1] ?? { parts: [{ text: 'Done.' }] }),
  }));
  stops.push(provider.stop);
  const slug = `told-${crypto.randomUUID().slice(0, 8)}`;
  await gateway.given.virtualKey({ slug, provider: 'groq', key: 'k', custom_host: provider.url });
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: slug } });
  return clientOf(key);
}

const weather = {
  ...{ type: 'function', name: 'weather', strict: false },
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};
/** The first one is made by itself, and its sandbox goes on for the others. */
let usedContainer: string | undefined;
const mcp = (more = {}) => ({ type: 'mcp', server_label: 'desk', ...more });

for (const name of FORMATS)
  for (const stream of [false, true])
    describe(`${name}, ${stream ? 'streamed' : 'whole'}`, () => {
      const asked = async (body: Loose) => {
        const client = clients[name].withOptions({ defaultHeaders: ours.headers });
        return ask(client, { stream, ...body });
      };

      test('text, functions and schemas', async () => {
        expect(typesOf(await asked({ input: 'Hello', instructions: 'Be brief.', metadata: { a: 'b' } }))).toEqual([
          'message',
        ]);
        const calls = await asked({ input: 'call weather {"city":"Oslo"}', tools: [weather] });
        expect(typesOf(calls)).toEqual(['function_call']);
        const output = [{ type: 'function_call_output', call_id: calls.output.at(-1).call_id, output: 'rain' }];
        await asked({ input: output, tools: [weather], previous_response_id: calls.id });
        const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
        await asked({ input: 'Hello', text: { format: { type: 'json_schema', name: 'a', schema } } });
        await asked({ input: 'Think.', reasoning: { effort: 'low', summary: 'auto' }, store: false });
      });

      test('file_search', async () => {
        const body = { input: 'call file_search {"queries":["capital of Atlantis"]}' };
        const tools = [{ type: 'file_search', vector_store_ids: [storeId] }];
        const found = await asked({ ...body, tools, include: ['file_search_call.results'] });
        expect(typesOf(found)).toEqual(['file_search_call', 'message']);
        expect(found.output[0].results).toHaveLength(1);
        expect(typesOf(await asked({ ...body, tools }))).toEqual(['file_search_call', 'message']);
      });

      test('mcp, with and without approval', async () => {
        const input = 'call desk__echo {"a":1}';
        const done = await asked({ input, tools: [mcp({ require_approval: 'never' })] });
        expect(typesOf(done)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
        for (const approve of [true, false]) {
          const waits = await asked({ input: 'call desk__erase {}', tools: [mcp()] });
          expect(typesOf(waits)).toEqual(['mcp_list_tools', 'mcp_approval_request']);
          const approval_request_id = waits.output.at(-1).id;
          const goesOn = await asked({
            ...{ tools: [mcp()], previous_response_id: waits.id },
            input: [{ type: 'mcp_approval_response', approval_request_id, approve }],
          });
          expect(typesOf(goesOn)).toEqual(approve ? ['mcp_call', 'message'] : ['message']);
          await clients[name].responses.inputItems.list(goesOn.id);
        }
      });

      test('image_generation and web_search', async () => {
        const image = { type: 'image_generation', size: '1024x1024', ...(stream && { partial_images: 1 }) };
        const drawn = await asked({ input: 'call image_generation {"prompt":"a red cat"}', tools: [image] });
        expect(typesOf(drawn)).toEqual(['image_generation_call', 'message']);
        for (const include of [undefined, ['web_search_call.action.sources']]) {
          const body = { input: 'call web_search {"query":"weather in Bern"}', tools: [{ type: 'web_search' }] };
          expect(typesOf(await asked({ ...body, include }))).toEqual(['web_search_call', 'message']);
        }
      });

      // A sandbox takes seconds, and knows nothing of what the model speaks.
      const isRun = stream ? name !== 'responses' : name === 'chat';
      if (isRun)
        test(
          'code_interpreter',
          async () => {
            const code = `open("${name}.txt", "w").write("42")\nprint(6 * 7)`;
            const made = await asked({
              input: `call code_interpreter ${JSON.stringify({ code })}`,
              tools: [{ type: 'code_interpreter', container: usedContainer ?? { type: 'auto' } }],
              ...(stream && { include: ['code_interpreter_call.outputs'] }),
            });
            expect(typesOf(made)).toEqual(['code_interpreter_call', 'message']);
            const { container_id } = made.output.find(({ type }: Loose) => type === 'code_interpreter_call');
            usedContainer = container_id;
            const { data } = await openai.containers.files.list(container_id);
            expect(data.map(({ path }) => path)).toContain(`/mnt/data/${name}.txt`);
          },
          MOST_MS,
        );

      test('chat, with and without servers', async () => {
        const chat = async (content: string, more: Loose = {}) => {
          const body = { model: 'any', messages: [{ role: 'user', content }], stream, ...more };
          const answer = (await clients[name].chat.completions.create(body as Loose)) as Loose;
          if (stream) await Array.fromAsync(answer);
        };
        const usage = stream ? { stream_options: { include_usage: true } } : {};
        await chat('Hello');
        await chat('Hello', usage);
        const { type, ...declared } = weather;
        await chat('call weather {"city":"Oslo"}', { tools: [{ type, function: declared }], ...usage });
        await chat('call desk__echo {}', { tools: [mcp({ require_approval: 'never' })], ...usage });
      });
    });

const fileSearch = () => ({ type: 'file_search', vector_store_ids: [storeId] });
const searches: ScriptedAnswer = { parts: [{ call: 'file_search', arguments: '{"queries":["capital"]}' }] };

describe('responses that are kept', () => {
  test('are read, listed by their items, and deleted', async () => {
    const made = await ask(openai, { input: 'call file_search {"queries":["capital"]}', tools: [fileSearch()] });
    await openai.responses.retrieve(made.id);
    await openai.responses.retrieve(made.id, { include: ['file_search_call.results'] });
    const next = await ask(openai, {
      previous_response_id: made.id,
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: 'Be kind.' },
        { role: 'assistant', content: [{ type: 'output_text', text: 'I am.' }] },
        {
          ...{ type: 'message', role: 'user' },
          content: [
            { type: 'input_text', text: 'And?' },
            { type: 'input_image', image_url: `data:image/png;base64,${PNG}` },
          ],
        },
      ],
    });
    for (const order of ['asc', 'desc'] as const) await openai.responses.inputItems.list(next.id, { order, limit: 2 });
    expect(judged.seen.get('ResponseItemList')).toBeGreaterThan(0);
    const { output } = await openai.responses.compact({ model: 'any', previous_response_id: next.id });
    await ask(openai, { input: [...output, { role: 'user', content: 'Go on.' }] });
    expect(judged.seen.get('CompactedResponse')).toBeGreaterThan(0);
    await openai.responses.delete(made.id);
    const gone = await openai.responses.retrieve(made.id).catch((error) => error);
    expect(gone).toMatchObject({ status: 404 });
  });

  test(
    'are made in the background, heard from any place, and cancelled',
    async () => {
      const client = await scripted(searches, { parts: [{ text: 'It is Poseidonis, in the sea.' }] });
      const body = { input: 'Which?', tools: [fileSearch()], background: true };
      const events = await told(client, { ...body, stream: true });
      expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
      const { id } = events[0].response;
      for (const starting_after of [0, 5, events.length - 2]) {
        const rest = await Array.fromAsync(await client.responses.retrieve(id, { stream: true, starting_after }));
        expect(rest).toEqual(events.slice(starting_after + 1));
      }
      await client.responses.retrieve(id);

      const slow = await scripted({ parts: [{ text: 'One two' }], stallAfter: 2, isWhole: false });
      const asked = await ask(slow, { input: 'Go', background: true });
      expect(asked.status).toBe('queued');
      await eventually('it is under way', async () => (await slow.responses.retrieve(asked.id)).status !== 'queued');
      expect(await slow.responses.cancel(asked.id)).toMatchObject({ status: 'cancelled' });
      expect(await slow.responses.retrieve(asked.id)).toMatchObject({ status: 'cancelled' });
      const heard = await scripted({ parts: [{ text: 'One two' }], stallAfter: 2, isWhole: false });
      const stream = (await heard.responses.create({
        ...{ model: 'any', input: 'Go', background: true, stream: true },
      })) as AsyncIterable<Loose>;
      let last: Loose;
      for await (last of stream)
        if (last.type === 'response.in_progress') await heard.responses.cancel(last.response.id);
      expect(last).toMatchObject({ type: 'response.cancelled' });
      const broken = await scripted({ status: 500 });
      const failing = await ask(broken, { input: 'Go', background: true });
      const stateOf = async () => (await broken.responses.retrieve(failing.id)).status;
      await eventually('it has failed', async () => (await stateOf()) === 'failed', MOST_MS);
    },
    MOST_MS,
  );

  test('that fail, are cut short or are refused say so as the vendor does', async () => {
    const failed = await told(await scripted(searches, { status: 429, error: { message: 'Too fast.' } }), {
      ...{ input: 'Go', tools: [fileSearch()], stream: true },
    });
    expect(failed.at(-1)).toMatchObject({ type: 'response.failed' });
    for (const finish of ['length', 'content_filter'] as const)
      for (const stream of [false, true])
        for (const tools of [undefined, [fileSearch()]]) {
          const client = await scripted({ parts: [{ text: 'It is' }], finish });
          expect(await ask(client, { input: 'Go', stream, tools })).toMatchObject({ status: 'incomplete' });
        }
    const lengthy = await scripted({ parts: [{ call: 'weather', arguments: '{"ci' }], finish: 'length' });
    expect(await ask(lengthy, { input: 'Go', stream: true, tools: [weather] })).toMatchObject({ status: 'incomplete' });
    const refusing = await scripted({ parts: [{ refusal: 'No.' }] });
    await ask(refusing, { input: 'Go', stream: true });
    for (const tools of [undefined, [fileSearch()]]) {
      const breaking = await scripted({ parts: [{ text: 'It is broken.' }], failAfter: 2 });
      const events = await told(breaking, { input: 'Go', stream: true, tools }).catch((error) => error);
      expect(events).toBeDefined();
    }
    const wrong = await openai.responses.create({ model: 'any', input: 7 as never }).catch((error) => error);
    expect(wrong).toMatchObject({ status: 400 });
  });
});

test(
  'a model that says and calls whatever it likes, round after round, is told in order',
  async () => {
    const say = (random: Random) => (random.chance(0.2) ? { thought: 'Let me see. Or not?' } : spoken(random));
    const spoken = (random: Random) => ({
      text: random.pick([
        'Well. ',
        'It is Poseidonis【0:0†source】, in the sea. ',
        '【1:0†source】',
        '【9',
        'a\n\nb【】 ',
      ]),
    });
    /** Behind these the model is asked again. */
    const ours = [
      ['file_search', '{"queries":["capital"]}'],
      ['file_search', '{"queries":["harbour"]}'],
      ['file_search', 'no JSON'],
      ['desk__echo', '{"a":1}'],
      ['image_generation', '{"prompt":"a cat"}'],
      ['web_search', '{"query":"Bern"}'],
    ] as const;
    /** These wait for a person or for the client. */
    const waiting = [
      ['desk__erase', '{}'],
      ['weather', '{"city":"Oslo"}'],
    ] as const;
    const called = ([call, args]: readonly [string, string]) => ({ call, arguments: args });
    const anyOf = (random: Random, calls: readonly (readonly [string, string])[]) =>
      Array.from({ length: random.below(3) }, () => (random.chance(0.6) ? say(random) : called(random.pick(calls))));
    const round = (random: Random): ScriptedAnswer => ({
      parts: [...anyOf(random, ours), called(random.pick(ours)), ...anyOf(random, ours)],
    });
    const tools = [
      ...[fileSearch(), mcp({ require_approval: { never: { tool_names: ['echo'] } } }), weather],
      ...[{ type: 'image_generation', partial_images: 1 }, { type: 'web_search' }],
    ];
    for (let seed = 1; seed <= 15; seed++) {
      const random = seeded(seed);
      const rounds = Array.from({ length: 1 + random.below(3) }, () => round(random));
      const answers = [...rounds, { parts: anyOf(random, [...ours, ...waiting]) }];
      const client = await scripted(...answers);
      const more = random.below(3) === 0 ? { max_tool_calls: 2 } : {};
      const background = random.below(4) === 0 ? { background: true } : {};
      const events = await told(client, { input: 'Go', tools, stream: true, ...more, ...background });
      const { response } = events.at(-1);
      expect({ seed, status: response.status }).toEqual({ seed, status: 'completed' });
      const { output } = await client.responses.retrieve(response.id);
      expect({ seed, output }).toEqual({ seed, output: response.output });
      expect({ seed, faults: await judged.faults() }).toEqual({ seed, faults: [] });
    }
  },
  MOST_MS,
);

test('tools that are called wrongly fail as items of the vendor', async () => {
  const calls = ['file_search', 'desk__echo', 'image_generation', 'web_search', 'code_interpreter'];
  for (const stream of [false, true]) {
    const client = await scripted({ parts: calls.map((call) => ({ call, arguments: '[]' })) });
    const made = await ask(client, {
      ...{ input: 'Go', stream },
      tools: [
        ...[fileSearch(), mcp({ require_approval: 'never' }), { type: 'image_generation' }, { type: 'web_search' }],
        { type: 'code_interpreter', container: { type: 'auto' } },
      ],
    });
    expect(made).toMatchObject({ status: 'completed' });
    expect(made.output.filter(({ status }: Loose) => status === 'failed').length).toBeGreaterThanOrEqual(4);
    await client.responses.retrieve(made.id);
  }
});

test('conversations and their items', async () => {
  const user = (content: string) => ({ type: 'message' as const, role: 'user' as const, content });
  const { id } = await openai.conversations.create({ metadata: { topic: 'a' }, items: [user('One')] });
  await openai.conversations.update(id, { metadata: { topic: 'b' } });
  await openai.conversations.retrieve(id);
  const { data } = await openai.conversations.items.create(id, { items: [user('Two'), user('Three')] });
  const place = { conversation_id: id };
  await openai.conversations.items.retrieve(data[0]!.id!, place);
  const code = { code: 'print(1)' };
  for (const [input, tool] of [
    ['call file_search {"queries":["capital"]}', fileSearch()],
    ['call desk__echo {"a":1}', mcp({ require_approval: 'never' })],
    ['call desk__erase {"a":1}', mcp()],
    ['call image_generation {"prompt":"a cat"}', { type: 'image_generation' }],
    ['call web_search {"query":"Bern"}', { type: 'web_search' }],
    [`call code_interpreter ${JSON.stringify(code)}`, { type: 'code_interpreter', container: { type: 'auto' } }],
    ['call weather {"city":"Oslo"}', weather],
  ] as const)
    await ask(openai, { input, tools: [tool], conversation: id });
  const items = await openai.conversations.items.list(id, { order: 'asc', limit: 100 });
  const types = new Set(items.data.map(({ type }) => type as string));
  for (const type of ['file_search', 'mcp', 'image_generation', 'web_search', 'code_interpreter', 'function'])
    expect(types).toContain(`${type}_call`);
  for (const item of items.data) await openai.conversations.items.retrieve(item.id!, place);
  await openai.conversations.items.delete(data[0]!.id!, place);
  await openai.conversations.delete(id);
}, 120_000);

test('containers and their files', async () => {
  const { id } = await openai.containers.create({ name: 'sums' });
  await openai.containers.retrieve(id);
  await openai.containers.list();
  const file = await openai.containers.files.create(id, { file: await toFile(Buffer.from('one'), 'one.txt') });
  await openai.containers.files.retrieve(file.id, { container_id: id });
  await openai.containers.files.list(id);
  await openai.containers.files.delete(file.id, { container_id: id });
  await openai.containers.delete(id);
});

test('vector stores, their files, batches and searches', async () => {
  const { vectorStores } = openai;
  const store = await vectorStores.create({
    name: 'two',
    metadata: { a: 'b' },
    expires_after: { anchor: 'last_active_at', days: 1 },
  });
  await vectorStores.update(store.id, { name: 'three' });
  const file = await openai.files.create({ purpose: 'assistants', file: new File([ATLAS], 'atlas.md') });
  await vectorStores.fileBatches.createAndPoll(store.id, { file_ids: [file.id] });
  await vectorStores.files.list(store.id);
  await vectorStores.files.update(file.id, { vector_store_id: store.id, attributes: { country: 'no', year: 7 } });
  await vectorStores.files.content(file.id, { vector_store_id: store.id });
  const found = await vectorStores.search(store.id, { query: 'capital' });
  expect(found.data).toHaveLength(1);
  await vectorStores.list({ limit: 2 });
  await vectorStores.files.delete(file.id, { vector_store_id: store.id });
  await vectorStores.delete(store.id);
  await openai.files.retrieve(file.id);
  await openai.files.list();
  await openai.files.delete(file.id);
});

test('runs of assistants, their steps and events', async () => {
  const { type, ...declared } = weather;
  const tools: Loose[] = [{ type, function: declared }, { type: 'file_search' }, { type: 'code_interpreter' }];
  const { assistants, threads } = openai.beta;
  const { id: assistant_id } = await assistants.create({
    ...{ model: 'any', name: 'Ada', tools, tool_resources: { file_search: { vector_store_ids: [storeId] } } },
  });
  await assistants.list();
  const walk = async (content: string) => {
    const { id: thread_id } = await threads.create({ messages: [{ role: 'user', content }] });
    await threads.retrieve(thread_id);
    let run: Loose;
    const hear = async (stream: AsyncIterable<Loose>) => {
      for await (const { event, data } of stream)
        if (event.startsWith('thread.run.') && !event.includes('step')) run = data;
    };
    await hear(await threads.runs.create(thread_id, { assistant_id, stream: true }));
    if (run.status === 'requires_action') {
      const [call] = run.required_action.submit_tool_outputs.tool_calls;
      const tool_outputs = [{ tool_call_id: call.id, output: 'rain' }];
      await hear(await threads.runs.submitToolOutputs(run.id, { thread_id, tool_outputs, stream: true }));
    }
    expect(run).toMatchObject({ status: 'completed' });
    await threads.runs.retrieve(run.id, { thread_id });
    await threads.runs.steps.list(run.id, { thread_id });
    await threads.runs.steps.list(run.id, {
      thread_id,
      include: ['step_details.tool_calls[*].file_search.results[*].content'],
    });
    await threads.messages.list(thread_id);
    await threads.delete(thread_id);
  };
  await walk('Hello');
  await walk('call weather {"city":"Oslo"}');
  await walk('call file_search {"queries":["capital of Atlantis"]}');
  await walk(`call code_interpreter ${JSON.stringify({ code: 'print(6 * 7)' })}`);
  await assistants.delete(assistant_id);
}, 120_000);

test('runs that fail, are cut short or are cancelled, and threads made with them', async () => {
  const hear = async (answer: ScriptedAnswer, meanwhile = async (_client: OpenAI, _event: Loose) => {}) => {
    const client = await scripted(answer);
    const { id: assistant_id } = await client.beta.assistants.create({ model: 'any' });
    const thread = { messages: [{ role: 'user' as const, content: 'Go' }] };
    const heard: string[] = [];
    for await (const event of await client.beta.threads.createAndRun({ assistant_id, thread, stream: true })) {
      heard.push(event.event);
      await meanwhile(client, event);
    }
    return heard;
  };
  let [runId, threadId] = ['', ''];
  expect(await hear({ status: 500 })).toContain('thread.run.failed');
  expect(await hear({ parts: [{ text: 'It is' }], finish: 'length' })).toContain('thread.run.incomplete');
  const cancelled = await hear({ parts: [{ text: 'One two' }], stallAfter: 2 }, async (client, { event, data }) => {
    if (event === 'thread.message.delta') await client.beta.threads.runs.cancel(runId, { thread_id: threadId });
    if (event === 'thread.run.created') [runId, threadId] = [data.id, data.thread_id];
  });
  expect(cancelled).toContain('thread.run.cancelled');
  const { id: thread_id } = await openai.beta.threads.create({});
  const { id } = await openai.beta.threads.messages.create(thread_id, { role: 'user', content: 'One' });
  await openai.beta.threads.messages.delete(id, { thread_id });
});

describe('the judge', () => {
  test('finds what is missing, of another kind or unknown, and names the place', async () => {
    const schemas = await vendorSchemas();
    const made = await ask(openai, { input: 'call file_search {"queries":["capital"]}', tools: [fileSearch()] });
    const { output_text: _, _request_id: __, ...answer } = made;
    const judge = (change: (copy: Loose) => void) => {
      const copy = structuredClone(answer);
      change(copy);
      return fits(schemas, 'Response', copy).filter((found) => found.startsWith('openai 6'));
    };
    expect(judge(() => {})).toEqual([]);
    for (const name of ['id', 'created_at', 'error', 'object', 'output', 'parallel_tool_calls', 'tool_choice', 'tools'])
      expect(judge((copy) => delete copy[name])[0]).toStartWith(`openai 6: Response.${name}: missing, expected `);
    expect(judge((copy) => delete copy.output[0].queries)).toEqual([
      'openai 6: Response.output[0].queries: missing, expected array',
    ]);
    expect(judge((copy) => (copy.output[1].content[0].annotations = null))).toEqual([
      'openai 6: Response.output[1].content[0].annotations: null, expected array',
    ]);
    expect(judge((copy) => (copy.output[1].type = 'massage'))[0]).toContain('Response.output[1]: {"type":"massage"');
    expect(judge((copy) => (copy.surprise = 1))).toEqual(['openai 6: Response.surprise: unknown to the vendor']);
  });

  test('finds events out of order', async () => {
    const events = await told(openai, { input: 'Hello', stream: true });
    expect(orderFaults(events)).toEqual([]);
    const swapped = (at: number) => events.with(at, events[at + 1]).with(at + 1, events[at]);
    for (const at of events.keys()) {
      if (at < events.length - 1) expect(orderFaults(swapped(at))).not.toEqual([]);
      expect(orderFaults(events.toSpliced(at, 1))).not.toEqual([]);
    }
    const renamed = events.map((event) => ('item_id' in event ? { ...event, item_id: 'msg_other' } : event));
    expect(orderFaults(renamed)[0]).toContain('item_id msg_other, expected msg_');
    const lost = events.filter(({ type }, at) => type !== 'response.output_text.delta' || at % 2);
    expect(orderFaults(lost.map((event, sequence_number) => ({ ...event, sequence_number })))[0]).toContain(
      'text is not what its pieces make',
    );
  });
});

/** Kinds of events that were not seen above, and why. */
const UNSEEN: Readonly<Record<string, string>> = {
  'response.audio.': 'No model speaks in a response of the gateway.',
  'response.shell_call_': 'Shells are run by the vendor, or by the client without events of these kinds.',
  'response.compaction.': "Of compactions in the middle of a response, which are the vendor's.",
  'response.custom_tool_call_input.': 'Judged in src/dialects/vendor-types.test.ts.',
  'response.reasoning_text.': 'Thoughts of other vendors are shown as summaries.',
  'response.mcp_list_tools.failed': 'Where a server does not list its tools, the request fails.',
  'thread.run.expired': 'After ten minutes.',
  'thread.run.step.expired': 'After ten minutes.',
  'thread.run.step.failed': 'A model that fails before it says anything has no step.',
};

test('every kind of event that the vendor has was judged above, or is named with a reason', async () => {
  const { roots, defs } = await vendorSchemas();
  const whole = (schema: Schema): Schema => (schema.$ref === undefined ? schema : defs[schema.$ref]!);
  const kinds = (['ResponseStreamEvent', 'AssistantStreamEvent'] as const).flatMap((type) =>
    roots['7'][type].anyOf!.map((each) => {
      const { event, type: named } = whole(each).properties!;
      return String((event ?? named)!.const);
    }),
  );
  expect(kinds.length).toBeGreaterThan(60);
  const unseen = kinds.filter((kind) => !judged.seen.has(kind));
  expect(unseen.filter((kind) => !Object.keys(UNSEEN).some((start) => kind.startsWith(start)))).toEqual([]);
});
