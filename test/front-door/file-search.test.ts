import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { checkMessage, clientFor, conversation, scripted } from '../assistants/client.ts';
import { ATLAS, COOKING, searching, storeWith } from '../assistants/file-stories.ts';
import { checkGrammar, eventsIn } from '../assistants/grammar.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

let gateway: TestGateway;
let plain: OpenAI;

beforeAll(async () => {
  gateway = await startGateway({
    environment: {
      GATEWAY_EMBEDDINGS_VIRTUAL_KEY: 'sim',
      GATEWAY_EMBEDDINGS_MODEL: 'text-embedding-3-small',
      GATEWAY_EMBEDDINGS_DIMENSIONS: '64',
    },
  });
  ({ openai: plain } = await clientFor(gateway));
});
afterAll(() => gateway.stop());

describe('searching a vector store', () => {
  test('finds passages by their words and by their meaning, with scores and attributes', async () => {
    const { store, ids } = await storeWith(plain, { 'atlas.txt': ATLAS, 'cooking.md': COOKING });
    await plain.vectorStores.files.update(ids['atlas.txt']!, {
      vector_store_id: store.id,
      attributes: { kind: 'geography', year: 2026 },
    });

    const { data: page, response } = await plain.vectorStores
      .search(store.id, { query: 'capital of Atlantis', ranking_options: { score_threshold: 0.5 } })
      .withResponse();

    expect(response.headers.get('x-gateway-search')).toBe('hybrid');
    expect(page.data[0]).toMatchObject({
      file_id: ids['atlas.txt'],
      filename: 'atlas.txt',
      attributes: { kind: 'geography', year: 2026 },
      content: [{ type: 'text', text: ATLAS }],
    });
    expect(page.data[0]!.score).toBeWithin(0.5, 1.000001);
    const raw = await gateway.api.post(`/v1/vector_stores/${store.id}/search`, { query: ['bread', 'Atlantis'] });
    expect(raw.json).toMatchObject({
      object: 'vector_store.search_results.page',
      search_query: ['bread', 'Atlantis'],
      has_more: false,
      next_page: null,
    });
    expect(raw.json.data).toHaveLength(2);
    const filters = { type: 'eq' as const, key: 'kind', value: 'geography' };
    const filtered = await plain.vectorStores.search(store.id, { query: 'bread and Atlantis', filters });
    expect(filtered.data.map(({ filename }) => filename)).toEqual(['atlas.txt']);
  });

  test('says which part of a request is wrong', async () => {
    const { id } = await plain.vectorStores.create({});
    const search = (body: object) => gateway.api.post(`/v1/vector_stores/${id}/search`, body);
    const faults: [object, string, string][] = [
      [{}, 'missing_required_parameter', 'query'],
      [{ query: '' }, 'string_below_min_length', 'query'],
      [{ query: [] }, 'array_below_min_length', 'query'],
      [{ query: 'a', max_num_results: 51 }, 'integer_above_max_value', 'max_num_results'],
      [{ query: 'a', ranking_options: { ranker: 'best' } }, 'invalid_value', 'ranking_options.ranker'],
      [
        { query: 'a', ranking_options: { score_threshold: 2 } },
        'decimal_above_max_value',
        'ranking_options.score_threshold',
      ],
      [
        { query: 'a', filters: { type: 'and', filters: [{ type: 'eq', key: 'a' }] } },
        'missing_required_parameter',
        'filters.filters[0].value',
      ],
      [{ query: 'a', limit: 3 }, 'unknown_parameter', 'limit'],
    ];
    for (const [body, code, param] of faults) {
      const reply = await search(body);
      expect({ body, status: reply.status, ...reply.json.error }).toMatchObject({ body, status: 400, code, param });
    }
    const missing = await gateway.api.post('/v1/vector_stores/vs_none/search', { query: 'a' });
    expect(missing.status).toBe(404);
    expect(missing.json.error.message).toBe("No vector store found with id 'vs_none'.");
    expect((await search({ query: 'anything' })).json.data).toEqual([]);
  });

  test('attributes may be any text, and so may filters', async () => {
    const { store, ids } = await storeWith(plain, { 'odd.txt': 'An odd file.' });
    const key = 'it\'s "$.odd"';
    await gateway.api.post(`/v1/vector_stores/${store.id}/files/${ids['odd.txt']}`, {
      attributes: { [key]: 'half a \ud83d pair' },
    });
    const filters = { type: 'ne', key, value: 'x' };
    const reply = await gateway.api.post(`/v1/vector_stores/${store.id}/search`, { query: 'odd', filters });
    expect(reply.status).toBe(200);
    expect(reply.json.data).toHaveLength(1);
  });

  test('without an embedding model of its own, a workspace is searched by words alone, and told so', async () => {
    const { id: workspace_id } = await gateway.given.workspace();
    const { key } = await gateway.given.apiKey({ workspace_id });
    const api = { headers: { 'x-gateway-api-key': key as string }, key: null };
    const made = await gateway.api.post('/v1/vector_stores', {}, api);
    const reply = await gateway.api.post(`/v1/vector_stores/${made.json.id}/search`, { query: 'a' }, api);
    expect(reply.text).toContain('search_results');
    expect(reply.headers.get('x-gateway-search')).toBe('full-text');
  });
});

test('vectors are made by calls like any others: the log has them, on the account of the workspace', async () => {
  const before = Date.now();
  const { store } = await storeWith(plain, { 'atlas.txt': ATLAS });
  await plain.vectorStores.search(store.id, { query: 'What is the harbour of Atlantis like?' });
  const calls = async () => {
    const { data } = (await gateway.api.get('/v1/logs?limit=50')).json as { data: Record<string, unknown>[] };
    return data.filter(({ path, created_at }) => path === '/v1/embeddings' && Number(created_at) >= before);
  };
  await eventually('both calls are in the log', async () => (await calls()).length === 2);
  for (const call of await calls())
    expect(call).toMatchObject({ virtual_key: 'sim', status: 200, model: 'text-embedding-3-small' });
});

test('PostgreSQL finds and cites the same', async () => {
  const node = await startGateway({
    engine: 'postgres',
    environment: { GATEWAY_EMBEDDINGS_VIRTUAL_KEY: 'sim', GATEWAY_EMBEDDINGS_MODEL: 'text-embedding-3-small' },
  });
  const { openai, provider } = await scripted(
    node,
    searching(([first]) => [{ text: `Poseidonis${first}` }]),
  );
  const { store, ids } = await storeWith(openai, { 'atlas.txt': ATLAS, 'cooking.md': COOKING });
  const { assistant_id, thread_id } = await conversation(openai, {
    assistant: { tools: [{ type: 'file_search' }], tool_resources: { file_search: { vector_store_ids: [store.id] } } },
  });
  await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
  const [message] = (await openai.beta.threads.messages.list(thread_id)).data;
  const [block] = checkMessage(message!).content as [OpenAI.Beta.Threads.TextContentBlock];
  expect(block.text.annotations).toMatchObject([{ file_citation: { file_id: ids['atlas.txt'] }, start_index: 10 }]);
  const filters = { type: 'ne' as const, key: 'kind', value: 'odd' };
  const page = await openai.vectorStores.search(store.id, { query: 'bread', filters, max_num_results: 1 });
  expect(page.data.map(({ filename }) => filename)).toEqual(['cooking.md']);
  provider.stop();
  await node.stop();
});

describe('file search in runs', () => {
  test('streams citations whole, though the model writes them in pieces', async () => {
    const { openai, key, provider } = await scripted(
      gateway,
      searching(() => [
        { text: 'Poseidonis【0' },
        { text: ':0†so' },
        { text: 'urce】 it' },
        { text: ' is.【0:0†sour' },
      ]),
    );
    const { store, ids } = await storeWith(openai, { 'atlas.txt': ATLAS });
    const { assistant_id, thread_id } = await conversation(openai, {
      assistant: {
        tools: [{ type: 'file_search' }],
        tool_resources: { file_search: { vector_store_ids: [store.id] } },
      },
    });
    const response = await fetch(`${gateway.url}/v1/threads/${thread_id}/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ assistant_id, stream: true }),
    });
    const events = eventsIn(await response.text());
    checkGrammar(events, 'create');
    const deltas = events
      .filter(({ event }) => event === 'thread.message.delta')
      .map(
        ({ data }) =>
          (data as { delta: { content: { text: { value: string; annotations?: object[] } }[] } }).delta.content[0]!
            .text,
      );
    expect(deltas.map(({ value }) => value).join('')).toBe('Poseidonis【0:0†source】 it is.');
    for (const { value } of deltas) expect(value.includes('【')).toBe(value.includes('†source】'));
    expect(deltas.flatMap(({ annotations = [] }) => annotations)).toEqual([
      {
        index: 0,
        type: 'file_citation',
        text: '【0:0†source】',
        start_index: 10,
        end_index: 22,
        file_citation: { file_id: ids['atlas.txt'] },
      },
    ]);

    const { id } = events.at(-1)!.data;
    const include = 'include[]=step_details.tool_calls[*].file_search.results[*].content';
    const again = await fetch(`${gateway.url}/v1/threads/${thread_id}/runs/${id}/events?${encodeURI(include)}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const isSearch = ({ event, data }: (typeof events)[number]) =>
      event === 'thread.run.step.completed' && data.type === 'tool_calls';
    const [found] = events.find(isSearch)!.data.step_details.tool_calls[0].file_search.results;
    const [whole] = eventsIn(await again.text()).find(isSearch)!.data.step_details.tool_calls[0].file_search.results;
    expect(whole).toEqual({ ...found, content: [{ type: 'text', text: ATLAS }] });

    const second = await openai.beta.threads.create({ messages: [{ role: 'user', content: 'Again' }] });
    const stream = openai.beta.threads.runs.stream(second.id, { assistant_id });
    const [message] = await stream.finalMessages();
    const [block] = message!.content as [OpenAI.Beta.Threads.TextContentBlock];
    expect(block.text.value).toBe('Poseidonis【0:0†source】 it is.');
    expect(block.text.annotations).toHaveLength(1);
    provider.stop();
  });

  test('searches what was attached to the thread, too, and does not show old marks to the next run', async () => {
    let outputs: string[] = [];
    const { openai, provider } = await scripted(gateway, (request) => {
      outputs = request.messages.filter(({ role }) => role === 'tool').map(({ content }) => content as string);
      return searching(([first]) => [{ text: `Yes.${first}` }])(request);
    });
    const file = await openai.files.create({
      file: await toFile(Buffer.from(ATLAS), 'notes.txt'),
      purpose: 'assistants',
    });
    const { id: assistant_id } = await openai.beta.assistants.create({
      model: 'gpt-5',
      tools: [{ type: 'file_search' }],
    });
    const thread = await openai.beta.threads.create({
      messages: [
        { role: 'user', content: 'Read this.', attachments: [{ file_id: file.id, tools: [{ type: 'file_search' }] }] },
      ],
    });

    for (let round = 0; round < 2; round++) {
      const run = await openai.beta.threads.runs.createAndPoll(thread.id, { assistant_id });
      expect(run).toMatchObject({ status: 'completed', last_error: null });
      expect(outputs[0]).toContain(ATLAS);
    }

    const said = provider.requests.at(-2)!.messages.filter(({ role }) => role === 'assistant');
    expect(said.map(({ content }) => content)).toEqual(['Yes.']);
    provider.stop();
  });

  test('a model that asks in another form is told the right one, and the run goes on', async () => {
    const { openai, provider } = await scripted(gateway, ({ messages }) =>
      messages.at(-1).role === 'tool'
        ? { parts: [{ text: messages.at(-1).content }] }
        : { parts: [{ call: 'file_search', arguments: '{"q": 3' }] },
    );
    const { assistant_id, thread_id } = await conversation(openai, { assistant: { tools: [{ type: 'file_search' }] } });
    const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
    expect(run.status).toBe('completed');
    const [message] = (await openai.beta.threads.messages.list(thread_id)).data;
    expect(JSON.stringify(message!.content)).toContain('give arguments of the form');
    provider.stop();
  });
});
