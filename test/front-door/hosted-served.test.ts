import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import OpenAI7 from 'openai-7';
import { type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

type Responses = OpenAI.Responses.Response;
// biome-ignore lint/suspicious/noExplicitAny: tests look into it
type Loose = any;

/** A provider that makes images and searches the web, and remembers how it was asked. */
const asked: { path: string; body: Record<string, Loose> }[] = [];
let refusal: { status: number; message: string } | null = null;
let isSearching = true;
const PNG = Buffer.from('\x89PNG one', 'latin1').toString('base64');
const serving = serve(async (incoming) => {
  const { pathname: path } = new URL(incoming.url);
  const body = (await incoming.json()) as Record<string, Loose>;
  asked.push({ path, body });
  if (refusal) return Response.json({ error: { message: refusal.message } }, { status: refusal.status });
  if (path.endsWith('/images/generations')) {
    if (!body.stream)
      return Response.json({
        created: 1,
        size: '1024x1024',
        output_format: 'png',
        data: [{ b64_json: PNG, revised_prompt: 'a red cat' }],
      });
    const events = [
      { type: 'image_generation.partial_image', b64_json: 'cGFydDA=', partial_image_index: 0, size: '1024x1024' },
      { type: 'image_generation.partial_image', b64_json: 'cGFydDE=', partial_image_index: 1, size: '1024x1024' },
      {
        type: 'image_generation.completed',
        b64_json: PNG,
        size: '1024x1024',
        quality: 'low',
        usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      },
    ];
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  }
  const message = {
    ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
    content: [
      {
        ...{ type: 'output_text', text: 'It rains in Bern (weather.example).' },
        annotations: [
          {
            type: 'url_citation',
            start_index: 0,
            end_index: 2,
            url: 'https://weather.example/bern?d=1',
            title: 'Bern [today]',
          },
          { type: 'url_citation', start_index: 0, end_index: 2, url: 'javascript:alert(1)', title: 'no' },
        ],
      },
    ],
  };
  const action = { type: 'search', query: 'x', sources: [{ type: 'url', url: 'https://second.example/' }] };
  const search = { type: 'web_search_call', id: 'ws_vendor', status: 'completed', action };
  return Response.json({
    ...{ id: 'resp_1', object: 'response', created_at: 1_700_000_000, status: 'completed', model: body.model },
    ...{
      output: isSearching ? [search, message] : [message],
      usage: { input_tokens: 7, output_tokens: 8, total_tokens: 15 },
    },
  });
});

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({
    environment: {
      GATEWAY_IMAGE_GENERATION_VIRTUAL_KEY: 'served-tools',
      GATEWAY_IMAGE_GENERATION_MODEL: 'gpt-image-1',
      GATEWAY_WEB_SEARCH_VIRTUAL_KEY: 'served-tools',
      GATEWAY_WEB_SEARCH_MODEL: 'gpt-searcher',
    },
  });
  const custom_host = `${serving.origin}/v1`;
  await gateway.given.virtualKey({ slug: 'served-tools', provider: 'openai', key: 'k', custom_host });
});
afterAll(async () => {
  await gateway.stop();
  serving.stop();
});

/** A model of another provider that gives these answers one after the other. */
async function scripted(...answers: ScriptedAnswer[]) {
  const provider = startScriptedProvider((request, number) => ({
    ...(answers[number - 1] ?? { parts: [{ text: 'Done.' }] }),
    isWhole: request.stream !== true,
  }));
  const slug = `served-${crypto.randomUUID().slice(0, 8)}`;
  await gateway.given.virtualKey({ slug, provider: 'groq', key: 'k', custom_host: provider.url });
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: slug } });
  const options = { apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 };
  asked.length = 0;
  refusal = null;
  isSearching = true;
  return { provider, client: new OpenAI(options), newer: new OpenAI7(options), key };
}
const draws: ScriptedAnswer = { parts: [{ call: 'image_generation', arguments: '{"prompt":"a red cat"}' }] };
const searches: ScriptedAnswer = { parts: [{ call: 'web_search', arguments: '{"query":"weather in Bern"}' }] };
const LINKED = 'It rains ([Bern](https://weather.example/bern?d=1)).';
const image = { type: 'image_generation' as const, size: '1024x1024' as const, quality: 'low' as const };

async function all<Event>(stream: AsyncIterable<Event>): Promise<Event[]> {
  return Array.fromAsync(stream);
}

describe('image_generation', () => {
  test('is served by the model that the operator names, as an item of the vendor', async () => {
    const { client, provider } = await scripted(draws, { parts: [{ text: 'Here it is.' }] });
    const response: Responses = await client.responses.create({ model: 'any', input: 'Draw a cat.', tools: [image] });

    expect(asked).toEqual([
      {
        path: '/v1/images/generations',
        body: { prompt: 'a red cat', n: 1, size: '1024x1024', quality: 'low', model: 'gpt-image-1' },
      },
    ]);
    expect(response.output[0]).toEqual({
      ...{ id: expect.stringMatching(/^ig_/), type: 'image_generation_call', status: 'completed', result: PNG },
      ...{ revised_prompt: 'a red cat', size: '1024x1024', output_format: 'png' },
    } as never);
    expect([response.output_text, response.tools]).toEqual(['Here it is.', [image]] as never);
    expect(JSON.stringify(provider.requests[1])).not.toContain(PNG);
    expect(JSON.stringify(provider.requests[1]!.messages)).toContain('The image was made');
    // What goes on from it, and what is read again, has the image where the client expects it.
    const again = await client.responses.retrieve(response.id);
    expect(again.output[0]).toMatchObject({ type: 'image_generation_call', result: PNG });
    await client.responses.create({ model: 'any', input: 'Thanks.', previous_response_id: response.id });
    expect(JSON.stringify(provider.requests.at(-1))).not.toContain(PNG);
  });

  test('streams partial images while it is made, with the events of the vendor', async () => {
    const { newer } = await scripted(draws, { parts: [{ text: 'Here.' }] });
    const tools = [{ ...image, partial_images: 2 }];
    const events = await all(await newer.responses.create({ model: 'any', input: 'Draw.', tools, stream: true }));

    expect(asked[0]!.body).toMatchObject({ stream: true, partial_images: 2 });
    const ofImage = events.filter(({ type }) => type.startsWith('response.image_generation_call.'));
    expect(ofImage.map(({ type }) => type.split('.').at(-1))).toEqual([
      ...['in_progress', 'generating', 'partial_image', 'partial_image', 'completed'],
    ] as never);
    const item_id = (events.find(({ type }) => type === 'response.output_item.added') as Loose).item.id;
    expect(ofImage[3]).toMatchObject({
      item_id,
      output_index: 0,
      partial_image_b64: 'cGFydDE=',
      partial_image_index: 1,
    } as never);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    expect((events.at(-1) as Loose).response.output[0]).toMatchObject({
      status: 'completed',
      result: PNG,
      quality: 'low',
    });
  });

  test('is made in the background', async () => {
    const { client } = await scripted(draws, { parts: [{ text: 'Here.' }] });
    const { id, status } = await client.responses.create({
      model: 'any',
      input: 'Draw.',
      tools: [image],
      background: true,
    });
    expect(status).toBe('queued');
    let last = await client.responses.retrieve(id);
    await eventually('it is made', async () => {
      last = await client.responses.retrieve(id);
      return last.status === 'completed';
    });
    expect(last.output[0]).toMatchObject({ type: 'image_generation_call', status: 'completed', result: PNG });
  });

  test('that is refused is told to the model, and its item is failed', async () => {
    const { client, provider } = await scripted(draws, { parts: [{ text: 'Sorry.' }] });
    refusal = { status: 400, message: 'Your prompt was rejected.' };
    const response = await client.responses.create({ model: 'any', input: 'Draw.', tools: [image] });

    expect(response.output[0]).toMatchObject({ type: 'image_generation_call', status: 'failed', result: null });
    expect(JSON.stringify(provider.requests[1]!.messages)).toContain('400: Your prompt was rejected.');
  });

  test('with what cannot be done here is 400 and names it', async () => {
    const { client } = await scripted();
    const refused: [object, string][] = [
      [{ input_image_mask: { file_id: 'x' } }, 'tools[0].input_image_mask'],
      [{ action: 'edit' }, 'tools[0].action'],
      [{ model: 'gpt-image-9' }, 'tools[0].model'],
      [{ partial_images: 9 }, 'tools[0].partial_images'],
      [{ output_format: 'gif' }, 'tools[0].output_format'],
      [{ frame_count: 3 }, 'tools[0].frame_count'],
    ];
    for (const [rest, param] of refused) {
      const tools = [{ ...image, ...rest }] as never;
      const error = await client.responses.create({ model: 'any', input: 'x', tools }).catch((each: unknown) => each);
      expect(error).toMatchObject({ status: 400, param, code: 'invalid_request' });
    }
    expect(asked).toEqual([]);
  });
});

describe('web_search', () => {
  const tools = [
    {
      type: 'web_search' as const,
      search_context_size: 'low' as const,
      user_location: { type: 'approximate' as const, country: 'CH' },
    },
  ];

  test('is served by the model that the operator names, and links to what it found are citations', async () => {
    const { client, provider } = await scripted(searches, { parts: [{ text: LINKED }] });
    const response = await client.responses.create({ model: 'any', input: 'Weather?', tools });

    expect(asked[0]).toMatchObject({
      path: '/v1/responses',
      body: { model: 'gpt-searcher', input: 'weather in Bern', tools, store: false },
    });
    expect(response.output[0]).toEqual({
      ...{ id: expect.stringMatching(/^ws_/), type: 'web_search_call', status: 'completed' },
      action: { type: 'search', query: 'weather in Bern', queries: ['weather in Bern'] },
    } as never);
    const found = JSON.stringify(provider.requests[1]!.messages);
    expect(found).toContain('It rains in Bern');
    expect(found).toContain('- [Bern today](https://weather.example/bern?d=1)');
    expect(found).not.toContain('javascript:');
    const [{ annotations, text }] = (response.output[1] as Loose).content;
    const url = 'https://weather.example/bern?d=1';
    expect(annotations).toEqual([
      {
        type: 'url_citation',
        url,
        title: 'Bern today',
        start_index: text.indexOf(url),
        end_index: text.indexOf(url) + url.length,
      },
    ]);
  });

  test('streams the events of the vendor, with sources for a client that asks for them', async () => {
    const { newer } = await scripted(searches, { parts: [{ text: LINKED }] });
    const include = ['web_search_call.action.sources' as const];
    const events = await all(
      await newer.responses.create({ model: 'any', input: 'Weather?', tools, include, stream: true }),
    );

    const ofSearch = events.filter(({ type }) => type.startsWith('response.web_search_call.'));
    expect(ofSearch.map(({ type }) => type.split('.').at(-1))).toEqual([
      'in_progress',
      'searching',
      'completed',
    ] as never);
    expect((events.at(-1) as Loose).response.output[0].action.sources).toEqual([
      { type: 'url', url: 'https://weather.example/bern?d=1' },
      { type: 'url', url: 'https://second.example/' },
    ]);
    const added = events.filter(({ type }) => type === 'response.output_text.annotation.added');
    expect(added).toMatchObject([{ annotation: { type: 'url_citation', title: 'Bern today' } }] as never);
  });

  test('is made in the background', async () => {
    const { client } = await scripted(searches, { parts: [{ text: LINKED }] });
    const { id } = await client.responses.create({ model: 'any', input: 'Weather?', tools, background: true });
    await eventually('it is made', async () => (await client.responses.retrieve(id)).status === 'completed');
    const { output } = await client.responses.retrieve(id);
    expect(output.map(({ type }) => type)).toEqual(['web_search_call', 'message']);
  });

  test('that was not made by a model that cannot search is said to have failed', async () => {
    const { client, provider } = await scripted(searches, { parts: [{ text: 'Sorry.' }] });
    isSearching = false;
    const response = await client.responses.create({ model: 'any', input: 'Weather?', tools });

    expect(response.output[0]).toMatchObject({ type: 'web_search_call', status: 'failed' });
    expect(JSON.stringify(provider.requests[1]!.messages)).toContain('has not done so');
  });
});

test('the calls that serve tools stand in the log of who asked, under one trace', async () => {
  const { client } = await scripted(draws, { parts: [{ text: 'Here.' }] });
  const traceId = crypto.randomUUID();
  const headers = { 'x-gateway-trace-id': traceId };
  await client.responses.create({ model: 'any', input: 'Draw.', tools: [image] }, { headers });

  await eventually('the log has it', async () => {
    const { data } = (await gateway.api.get(`/v1/logs?trace_id=${traceId}`)).json;
    return data.some((entry: unknown) => JSON.stringify(entry).includes('/images/generations'));
  });
});

test('a provider that has the tools itself keeps them, unless the caller chooses the gateway', async () => {
  const { key } = await scripted();
  const post = async (headers: Record<string, string>) => {
    const reply = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-gateway-virtual-key': 'served-tools',
        ...headers,
      },
      body: JSON.stringify({ model: 'gpt-own', input: 'x', tools: [image, { type: 'web_search' }] }),
    });
    return reply.status;
  };
  expect(await post({})).toBe(200);
  expect(asked.at(-1)!.body.tools.map(({ type }: { type: string }) => type)).toEqual([
    'image_generation',
    'web_search',
  ]);
  expect(await post({ 'x-gateway-hosted-tools': 'gateway' })).toBe(200);
  expect(asked.at(-1)!.body.tools.map(({ type }: { type: string }) => type)).toEqual(['function', 'function']);
});

const without = {
  'the operator names no model': {},
  'the workspace has no such virtual key': {
    ...{ GATEWAY_IMAGE_GENERATION_VIRTUAL_KEY: 'absent', GATEWAY_IMAGE_GENERATION_MODEL: 'm' },
    ...{ GATEWAY_WEB_SEARCH_VIRTUAL_KEY: 'absent', GATEWAY_WEB_SEARCH_MODEL: 'm' },
  },
};
for (const [why, environment] of Object.entries(without))
  test(`where ${why}, image_generation is 400 with its name, and web_search where the gateway is to run it`, async () => {
    const off = await startGateway({ environment });
    const provider = startScriptedProvider((request) => ({ parts: [{ text: 'x' }], isWhole: request.stream !== true }));
    await off.given.virtualKey({ slug: 'served-off', provider: 'groq', key: 'k', custom_host: provider.url });
    const { key } = await off.given.apiKey({ defaults: { virtual_key: 'served-off' } });
    const client = new OpenAI({ apiKey: key, baseURL: `${off.url}/v1`, maxRetries: 0 });
    const faultOf = (tool: object, headers = {}) =>
      client.responses
        .create({ model: 'any', input: 'x', tools: [tool] as never }, { headers })
        .catch((each: unknown) => each);
    const wanted = { 'x-gateway-hosted-tools': 'gateway' };

    for (const fault of [await faultOf(image), await faultOf(image, wanted)])
      expect(fault).toMatchObject({
        status: 400,
        code: 'hosted_tool_off',
        message: expect.stringContaining('image_generation'),
      });
    expect(await faultOf({ type: 'web_search' }, wanted)).toMatchObject({
      status: 400,
      code: 'hosted_tool_off',
      message: expect.stringContaining('web_search'),
    });
    // Coding agents name it in every call: it is left out there, and the answer says so.
    const left = await client.responses
      .create({ model: 'any', input: 'x', tools: [{ type: 'web_search' }] })
      .withResponse();
    expect(left.response.headers.get('x-gateway-dropped')).toContain('tools[0] (web_search)');
    await off.stop();
  });
