import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { openaiClient } from '../sdk-clients.ts';
import { givenProviders, PROVIDERS, type ProviderKeys } from '../three-providers.ts';

type Item = OpenAI.Responses.ResponseInputItem;

const user = (content: string): Item => ({ type: 'message', role: 'user', content });
const CONVERSATION: Item[] = [
  user('The code word is heron.'),
  { type: 'message', role: 'assistant', content: 'Noted.' },
  { type: 'function_call', call_id: 'call_1', name: 'look_up', arguments: '{"bird":"heron"}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'It is 98 cm tall.' },
];

interface Sent {
  readonly body: string;
}

/** What went to the provider, which may be the words of the client. */
const sentIn = ({ request, attempts }: { request: Sent; attempts: readonly { request: Sent | null }[] }): string =>
  (attempts[0]!.request ?? request).body;

interface Asked {
  readonly model: string;
  readonly input: readonly { readonly content: string | readonly { readonly text: string }[] }[];
}

/** A provider that has the Responses API itself: it says what it was told last. */
async function native(request: Request): Promise<Response> {
  if (request.url.endsWith('/compact'))
    return Response.json({ id: 'resp_theirs', object: 'response.compaction', output: [] });
  const { model, input } = (await request.json()) as Asked;
  const told = input.at(-1)!.content;
  const text = `Told: ${typeof told === 'string' ? told : told[0]!.text}`;
  return Response.json({
    ...{ id: 'resp_native', object: 'response', status: 'completed', created_at: 1, model },
    output: [
      {
        ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
        content: [{ type: 'output_text', text, annotations: [] }],
      },
    ],
    usage: {
      ...{ input_tokens: 5, output_tokens: 5, total_tokens: 10 },
      ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
    },
  });
}

describe('conversations that are written down in short', () => {
  let gateway: TestGateway;
  let keys: ProviderKeys;
  let foreign = '';
  const vendor = serve(native);
  beforeAll(async () => {
    gateway = await startGateway();
    await gateway.given.virtualKey({ slug: 'native', provider: 'openai', custom_host: `${vendor.origin}/v1` });
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'native' } });
    keys = { ...(await givenProviders(gateway)), openai: key as string };
    const { id: workspace_id } = await gateway.given.workspace();
    foreign = (await gateway.given.apiKey({ workspace_id })).key as string;
  });
  afterAll(async () => {
    await gateway.stop();
    vendor.stop();
  });
  const client = (provider: (typeof PROVIDERS)[number] = 'anthropic') => openaiClient(gateway.url, keys[provider]);
  const compact = (body: object, headers: Record<string, string> = {}) =>
    gateway.api.post('/v1/responses/compact', body, { headers: { 'x-gateway-api-key': keys.anthropic, ...headers } });

  /** What the model was asked that wrote it. */
  const sentUnder = async (trace: string): Promise<string> => {
    for (let attempt = 0; attempt < 1_000; attempt++) {
      const { json } = await gateway.api.get(`/v1/logs?trace_id=${trace}`);
      const inner = json.data.find(({ provider }: { provider: string | null }) => provider !== null);
      if (inner) return sentIn((await gateway.api.get(`/v1/logs/${inner.id}`)).json);
      await Bun.sleep(20);
    }
    throw new Error('no entry of the call that wrote it');
  };

  for (const provider of PROVIDERS)
    test(`a model of ${provider} writes it, and the conversation goes on from there`, async () => {
      const asked = client(provider).responses.compact({ model: 'any', input: CONVERSATION });
      const { data: compacted, response } = await asked.withResponse();
      const told = await sentUnder(response.headers.get('x-gateway-trace-id')!);
      for (const part of ['It is 98 cm tall.', 'look_up', 'The code word is heron.']) expect(told).toContain(part);
      expect(compacted).toMatchObject({ object: 'response.compaction', id: expect.stringMatching(/^resp_/) });
      expect(compacted.usage.total_tokens).toBeGreaterThan(0);
      expect(compacted.output).toMatchObject([
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'The code word is heron.' }] },
        { type: 'compaction', id: expect.stringMatching(/^cmp_/) },
      ]);
      const [, item] = compacted.output as [unknown, OpenAI.Responses.ResponseCompactionItem];
      expect(item.encrypted_content).not.toContain('98 cm');

      const next = client(provider).responses.create({ model: 'any', input: [item, user('How tall is it?')] });
      const gone = await next.withResponse();
      expect(gone.data.output_text).toContain('How tall is it?');
      const sent = sentIn(await gateway.logOf(gone.response));
      expect(sent).toContain('written down in short');
      expect(sent).toContain('The code word is heron.');
      expect(sent).not.toContain(item.encrypted_content);
    });

  test('one made with one provider goes on with another, and is compacted again', async () => {
    const first = await client('google').responses.compact({ model: 'any', input: CONVERSATION });
    const again = await client('anthropic').responses.compact({
      model: 'any',
      input: [...(first.output as Item[]), user('And its wings?')],
    });
    expect(again.output.map(({ type }) => type)).toEqual(['message', 'message', 'compaction']);
    const { data, response } = await client('openai')
      .responses.create({ model: 'any', input: [...(again.output as Item[]), user('Go on')] })
      .withResponse();
    expect(data.output_text).toContain('Go on');
    expect(sentIn(await gateway.logOf(response))).toContain('The code word is heron.');
  });

  test('an earlier response is compacted by its id', async () => {
    const openai = client();
    const earlier = await openai.responses.create({ model: 'any', input: 'The code word is heron.' });
    const compacted = await openai.responses.compact({ model: 'any', previous_response_id: earlier.id });
    expect(compacted.output.map(({ type }) => type)).toEqual(['message', 'compaction']);
  });

  test('a conversation that is kept goes on from it, with tools of the gateway or without', async () => {
    const openai = client();
    const { output } = await openai.responses.compact({ model: 'any', input: CONVERSATION });
    const first = await openai.responses.create({ model: 'any', input: [...(output as Item[]), user('One')] });
    const second = await openai.responses.create({ model: 'any', input: 'Two', previous_response_id: first.id });
    expect(second.output_text).toContain('Two');
    const { id } = await openai.conversations.create({ items: output.slice(-1) as Item[] });
    const third = await openai.responses.create({ model: 'any', input: 'Three', conversation: id }).withResponse();
    expect(third.data.output_text).toContain('Three');
  });

  test('a request longer than a megabyte is compacted as well', async () => {
    const long = 'All work and no play. '.repeat(80_000);
    const { status, json } = await compact({ model: 'any', input: [...CONVERSATION, user(long)] });
    expect(status).toBe(200);
    expect(json.output).toHaveLength(3);
  });

  test('who leaves it to the provider gets what the provider says', async () => {
    const asked = await compact(
      { model: 'gpt-5', input: 'Hello' },
      { 'x-gateway-hosted-tools': 'provider', 'x-gateway-api-key': keys.openai },
    );
    expect(asked).toMatchObject({ status: 200, json: { id: 'resp_theirs' } });
  });

  test('what is asked wrongly is refused in words, and nothing is sent', async () => {
    for (const [body, param] of [
      [{ input: 'Hello' }, 'model'],
      [{ model: 'any' }, 'input'],
      [{ model: 'any', input: [] }, 'input'],
      [{ model: 'any', input: 5 }, 'input'],
      [{ model: 'any', input: 'x', instructions: 5 }, 'instructions'],
      [{ model: 'any', input: [user('x'), null] }, 'input[1]'],
      [{ model: 'any', input: [{ role: 'user', content: null }] }, 'input[0].content'],
      [{ model: 'any', input: [{ role: 'nobody', content: 'x' }] }, 'input[0].role'],
      [{ model: 'any', input: [JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`)] }, 'input'],
      [{ model: 'any', input: [{ type: 'compaction', encrypted_content: 'theirs' }] }, 'input[0]'],
      [
        { model: 'any', input: [{ type: 'compaction', encrypted_content: 'gwc.v1.a.b' }] },
        'input[0].encrypted_content',
      ],
    ] as const)
      expect(await compact(body)).toMatchObject({ status: 400, json: { error: { param } } });
    expect(await compact({ model: 'any', previous_response_id: 'resp_none' })).toMatchObject({ status: 400 });
    const { id } = await client().responses.create({ model: 'any', input: 'Hello' });
    const theirs = { model: 'any', previous_response_id: id };
    expect(await compact(theirs, { 'x-gateway-api-key': foreign })).toMatchObject({
      json: { error: { code: 'previous_response_not_found' } },
    });
    expect(await compact({ model: 'any', input: 'x' }, { 'x-gateway-hosted-tools': 'both' })).toMatchObject({
      status: 400,
    });
  });

  test('another workspace cannot read it, nor one that was altered', async () => {
    const { output } = await client().responses.compact({ model: 'any', input: CONVERSATION });
    const item = output.at(-1) as OpenAI.Responses.ResponseCompactionItem;
    const ask = (key: string, encrypted_content: string) =>
      gateway.api.post(
        '/v1/responses',
        { model: 'any', input: [{ type: 'compaction', encrypted_content }, user('x')] },
        { headers: { 'x-gateway-api-key': key, 'x-gateway-virtual-key': 'simulator' } },
      );
    const refusal = { status: 400, json: { error: { param: 'input[0].encrypted_content' } } };
    expect(await ask(foreign, item.encrypted_content)).toMatchObject(refusal);
    const altered = `${item.encrypted_content.slice(0, -2)}${item.encrypted_content.endsWith('AA') ? 'BB' : 'AA'}`;
    expect(await ask(keys.anthropic, altered)).toMatchObject(refusal);
  });

  test('a guardrail of the caller judges what is written down, and a failing model is told as it failed', async () => {
    const config = JSON.stringify({
      virtual_key: 'anthropic',
      before_request_hooks: [
        {
          type: 'guardrail',
          deny: true,
          checks: [{ id: 'default.contains', parameters: { words: ['heron'], operator: 'none' } }],
        },
      ],
    });
    const denied = await compact({ model: 'any', input: CONVERSATION }, { 'x-gateway-config': config });
    expect(denied.status).toBe(446);
    const failing = await compact({ model: 'any', input: CONVERSATION }, { 'x-gateway-virtual-key': 'none-of-these' });
    expect(failing.status).toBeGreaterThanOrEqual(400);
    expect(failing.status).toBeLessThan(500);
  });
});
