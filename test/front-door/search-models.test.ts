import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { clientFor, conversation } from '../assistants/client.ts';
import { type ChatRequest, type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { startIssuer } from '../attack/guardrail/scene.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

/** Models of the operator's choice that help searches: one that puts passages in order, and one that rewrites queries. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into it
type Loose = any;

const asked: { readonly path: string; readonly body: Loose }[] = [];
/** What the provider answers; by itself it likes the passage best that has the word `lynx`, and writes all in capitals. */
let answer: ((path: string, body: Loose) => Response | Promise<Response>) | null = null;
const scoreOf = (text: string) => (text.includes('lynx') ? 0.97 : text.includes('otter') ? 0.5 : -3);
const chat = (content: string) =>
  Response.json({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
  });
const provider = serve(async (incoming) => {
  const { pathname: path } = new URL(incoming.url);
  const body: Loose = await incoming.json();
  asked.push({ path, body });
  if (answer) return answer(path, body);
  if (path.endsWith('/rerank')) {
    const results = body.documents.map((text: string, index: number) => ({ index, relevance_score: scoreOf(text) }));
    return Response.json({ model: body.model, results, usage: { total_tokens: 9 } });
  }
  const lines: string[] = body.messages.at(-1).content.split('\n');
  return chat(lines.map((line) => line.replace(/^\d+\. /, '').toUpperCase()).join('\n'));
});

const MODELS = {
  ...{ GATEWAY_RERANK_VIRTUAL_KEY: 'ranks', GATEWAY_RERANK_MODEL: 'ranker-1' },
  ...{ GATEWAY_QUERY_REWRITE_VIRTUAL_KEY: 'rewrites', GATEWAY_QUERY_REWRITE_MODEL: 'writer-1' },
};

const TEXTS = {
  'bear.txt': 'The forest has a bear. The bear of the forest is large, and the forest is dark.',
  'otter.txt': 'The river has an otter, and the forest is near.',
  'lynx.txt': 'Somewhere there is a lynx, which is seldom seen by anybody at all, in a valley beside a forest.',
};

let gateway: TestGateway;
let store: string;
async function storeOf(api: TestGateway['api'], texts: Readonly<Record<string, string>>, chunking_strategy?: object) {
  const { id } = (await api.post('/v1/vector_stores', {})).json;
  for (const [name, text] of Object.entries(texts)) {
    const form = new FormData();
    form.set('purpose', 'assistants');
    form.set('file', new File([text], name));
    const { id: file_id } = (await api.post('/v1/files', form)).json;
    await api.post(`/v1/vector_stores/${id}/files`, { file_id, chunking_strategy });
  }
  await eventually('the files are taken in', async () => {
    const { file_counts } = (await api.get(`/v1/vector_stores/${id}`)).json;
    return file_counts.completed === Object.keys(texts).length;
  });
  return id as string;
}
const keys = async ({ given }: TestGateway, more: object = {}) => {
  const custom_host = `${provider.origin}/v1`;
  await given.virtualKey({ slug: 'ranks', provider: 'jina', key: 'k', custom_host, ...more });
  await given.virtualKey({ slug: 'rewrites', provider: 'groq', key: 'k', custom_host, ...more });
};

beforeAll(async () => {
  gateway = await startGateway({ environment: MODELS });
  await keys(gateway);
  store = await storeOf(gateway.api, TEXTS);
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
});
beforeEach(() => {
  asked.length = 0;
  answer = null;
});

async function search(body: object, options: { key?: string; headers?: Record<string, string> } = {}, at = store) {
  const reply = await gateway.api.post(`/v1/vector_stores/${at}/search`, body, options);
  expect([reply.status, reply.text]).toEqual([200, reply.text]);
  return {
    names: reply.json.data.map(({ filename }: Loose) => filename as string) as string[],
    scores: reply.json.data.map(({ score }: Loose) => score as number) as number[],
    said: reply.json.search_query as string[],
    ranker: reply.headers.get('x-gateway-ranker'),
    rewrite: reply.headers.get('x-gateway-query-rewrite'),
  };
}
const OWN = ['bear.txt', 'otter.txt', 'lynx.txt'];

describe('a model that ranks', () => {
  test('puts passages in its order, with its scores from 0 to 1, which the threshold means', async () => {
    const found = await search({ query: 'forest' });
    expect(found).toMatchObject({
      ranker: 'model',
      names: ['lynx.txt', 'otter.txt', 'bear.txt'],
      scores: [0.97, 0.5, 0],
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]!.body).toMatchObject({ model: 'ranker-1', query: 'forest', top_n: 3 });
    expect(asked[0]!.body.documents.toSorted()).toEqual(Object.values(TEXTS).toSorted());
    const few = await search({
      query: ['forest', 'valley'],
      ranking_options: { score_threshold: 0.4 },
      max_num_results: 1,
    });
    expect(few).toMatchObject({ ranker: 'model', names: ['lynx.txt'] });
    expect(asked[1]!.body.query).toBe('forest\nvalley');
    const strict = await search({ query: 'forest', ranking_options: { score_threshold: 0.6 } });
    expect(strict.names).toEqual(['lynx.txt']);
  });

  test('is not asked where the caller wants none, and where nothing is found', async () => {
    const plain = await search({ query: 'forest', ranking_options: { ranker: 'none' } });
    expect(plain).toMatchObject({ ranker: 'own', names: OWN });
    expect(await search({ query: 'zebra' })).toMatchObject({ ranker: 'own', names: [] });
    expect(asked).toEqual([]);
  });

  test('is shown the best fifty', async () => {
    const text = Array.from({ length: 1_500 }, (_, index) => `The heron ${index} stands in the reeds.`).join('\n');
    const chunking = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } };
    const large = await storeOf(gateway.api, { 'large.txt': text }, chunking);
    const found = await search({ query: 'heron', max_num_results: 50 }, {}, large);
    expect(found).toMatchObject({ ranker: 'model' });
    expect(asked[0]!.body.documents).toHaveLength(50);
    expect(found.names).toHaveLength(50);
  });

  test('that fails, answers nonsense or does not answer leaves passages in our own order, and that is said', async () => {
    const failures: Record<string, (path: string, body: Loose) => Response | Promise<Response>> = {
      'an error': () => Response.json({ message: 'not now' }, { status: 500 }),
      refused: () => Response.json({ detail: 'no' }, { status: 401 }),
      'no JSON': () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
      'too few': () => Response.json({ results: [{ index: 0, relevance_score: 1 }] }),
      'one twice': (_, { documents }) =>
        Response.json({ results: documents.map(() => ({ index: 0, relevance_score: 1 })) }),
      'one that is none': (_, { documents }) =>
        Response.json({
          results: documents.map((_: string, index: number) => ({ index: index + 1, relevance_score: 1 })),
        }),
      'no answer': () => new Promise(() => {}),
    };
    for (const [what, fails] of Object.entries(failures)) {
      answer = fails;
      const found = await search({ query: 'forest' });
      expect({ what, ...found }).toMatchObject({ what, ranker: 'failed', names: OWN });
      expect(found.scores[0]).toBeGreaterThan(0.5);
    }
  });

  test('counts against the limits of the caller, obeys its guardrails, and is in the log', async () => {
    const limited = await gateway.given.apiKey({ rate_limits: [{ type: 'requests', unit: 'rph', value: 1 }] });
    expect(await search({ query: 'forest' }, { key: limited.key })).toMatchObject({ ranker: 'model' });
    expect(await search({ query: 'forest' }, { key: limited.key })).toMatchObject({ ranker: 'failed', names: OWN });
    expect(asked).toHaveLength(1);
    await eventually('both are in the log', async () => {
      const { data } = (await gateway.api.get(`/v1/logs?api_key_id=${limited.id}&limit=50`)).json;
      const calls = data.filter(({ path }: Loose) => path === '/v1/rerank').map(({ status }: Loose) => status);
      return calls.toSorted().join() === '200,429';
    });
    const denying = {
      name: 'no lynx',
      ...{
        checks: [{ id: 'default.contains', parameters: { words: ['lynx'], operator: 'none' } }],
        actions: { deny: true },
      },
    };
    const made = await gateway.api.post('/v1/guardrails', denying);
    expect([made.status, made.text]).toEqual([200, made.text]);
    const guarded = await gateway.given.apiKey({ defaults: { input_guardrails: [made.json.slug] } });
    expect(await search({ query: 'forest' }, { key: guarded.key })).toMatchObject({ ranker: 'failed', names: OWN });
    expect(asked).toHaveLength(1);
  });

  test('of another workspace is not asked: one without such a virtual key has our own order', async () => {
    const { id: workspace_id } = await gateway.given.workspace();
    const { key } = await gateway.given.apiKey({ workspace_id });
    const as = { key };
    const api = {
      ...gateway.api,
      get: (path: string) => gateway.api.get(path, as),
      post: (path: string, body?: unknown) => gateway.api.post(path, body, as),
    };
    const elsewhere = await storeOf(api as TestGateway['api'], TEXTS);
    const found = await search({ query: 'forest', rewrite_query: true }, as, elsewhere);
    expect(found).toMatchObject({ ranker: 'own', rewrite: 'off', names: OWN, said: ['forest'] });
    expect(asked).toEqual([]);
  });

  test('orders what models of runs and of responses are shown', async () => {
    const searches = ({ messages, stream }: ChatRequest): ScriptedAnswer => ({
      parts: messages.some(({ role }) => role === 'tool')
        ? [{ text: 'Found.' }]
        : [{ call: 'file_search', arguments: '{"queries":["forest"]}' }],
      isWhole: stream !== true,
    });
    const model = startScriptedProvider(searches);
    await gateway.given.virtualKey({ slug: 'searches', provider: 'groq', key: 'k', custom_host: model.url });
    const { openai } = await clientFor(gateway, 'searches');
    const told = () =>
      model.requests
        .at(-1)!
        .messages.find(({ role }) => role === 'tool')!
        .content.match(/"\w+\.txt"/g);
    const { assistant_id, thread_id } = await conversation(openai, {
      assistant: { tools: [{ type: 'file_search' }], tool_resources: { file_search: { vector_store_ids: [store] } } },
    });
    const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
    expect([run.status, run.last_error]).toEqual(['completed', null]);
    expect(told()).toEqual(['"lynx.txt"', '"otter.txt"', '"bear.txt"']);
    const ask = (ranking_options?: { ranker: 'auto' }) =>
      openai.responses.create({
        ...{ model: 'any', input: 'Where?' },
        tools: [{ type: 'file_search', vector_store_ids: [store], ranking_options }],
      });
    await ask();
    expect(told()).toEqual(['"lynx.txt"', '"otter.txt"', '"bear.txt"']);
    expect(asked).toHaveLength(2);
    await ask({ ranker: 'none' as 'auto' });
    expect(told()).toEqual(OWN.map((name) => `"${name}"`));
    answer = () => Response.json({}, { status: 503 });
    await ask();
    expect(told()).toEqual(OWN.map((name) => `"${name}"`));
    model.stop();
  });
});

describe('a model that rewrites', () => {
  const chats = () => asked.filter(({ path }) => path.endsWith('/chat/completions'));

  test('says what is searched for, where the caller wants it', async () => {
    answer = (path, body) =>
      path.endsWith('/rerank')
        ? Response.json({ results: body.documents.map((_: string, index: number) => ({ index, relevance_score: 1 })) })
        : chat('1. otter river');
    const found = await search({ query: 'Could you tell me who swims here, please?', rewrite_query: true });
    expect(found).toMatchObject({ rewrite: 'model', said: ['otter river'], names: ['otter.txt'] });
    expect(chats()[0]!.body.model).toBe('writer-1');
    expect(chats()[0]!.body.messages.at(-1).content).toBe('1. Could you tell me who swims here, please?');
    answer = null;
    const several = await search({ query: ['the otter?', 'a\nlynx'], rewrite_query: true });
    expect(several).toMatchObject({ rewrite: 'model', said: ['THE OTTER?', 'A LYNX'] });
    const plain = await search({ query: 'otter' });
    expect(plain).toMatchObject({ rewrite: null, said: ['otter'] });
    expect(chats()).toHaveLength(2);
  });

  test('that fails, or says something else, leaves the query as it is, and that is said', async () => {
    const failures: Record<string, () => Response | Promise<Response>> = {
      'an error': () => Response.json({ error: { message: 'no' } }, { status: 500 }),
      nothing: () => chat('  \n '),
      'more lines': () => chat('otter\nriver'),
      'no chat': () => Response.json({ choices: [] }),
      'no answer': () => new Promise(() => {}),
    };
    for (const [what, fails] of Object.entries(failures)) {
      answer = fails;
      const found = await search({ query: 'otter', rewrite_query: true, ranking_options: { ranker: 'none' } });
      expect({ what, ...found }).toMatchObject({ what, rewrite: 'failed', said: ['otter'], names: ['otter.txt'] });
    }
  });
});

test('where a token is asked for, a search and a run need one for the model that ranks, and go on without it', async () => {
  const guarded = await startGateway({ environment: MODELS });
  await keys(guarded);
  const at = await storeOf(guarded.api, TEXTS);
  const model = startScriptedProvider(({ messages, stream }) => ({
    parts: messages.some(({ role }) => role === 'tool')
      ? [{ text: 'Found.' }]
      : [{ call: 'file_search', arguments: '{"queries":["forest"]}' }],
    isWhole: stream !== true,
  }));
  await guarded.given.virtualKey({ slug: 'searches', provider: 'groq', key: 'k', custom_host: model.url });
  const { openai, key } = await clientFor(guarded, 'searches');
  const { assistant_id, thread_id } = await conversation(openai, {
    assistant: { tools: [{ type: 'file_search' }], tool_resources: { file_search: { vector_store_ids: [at] } } },
  });
  const issuer = await startIssuer();
  const checks = [{ id: 'default.jwt', parameters: { jwks: issuer.jwks, headerKey: 'x-user-token' } }];
  const organisation_id = (await guarded.api.get('/v1/admin/organisation')).json.id;
  const body = { name: 'Users', checks, actions: { deny: true }, organisation_id };
  const { slug } = (await guarded.api.post('/v1/guardrails', body)).json;
  const named = await guarded.api.put('/v1/admin/organisation/defaults', { input_guardrails: [slug] });
  expect([named.status, named.text]).toEqual([200, named.text]);
  const signed = { 'x-user-token': await issuer.token({ sub: 'ada@corp' }) };
  const searchAs = async (headers: Record<string, string>) => {
    const query = { query: 'forest', rewrite_query: true };
    const reply = await guarded.api.post(`/v1/vector_stores/${at}/search`, query, { key, headers });
    return ['x-gateway-ranker', 'x-gateway-query-rewrite'].map((name) => reply.headers.get(name));
  };
  expect(await searchAs({})).toEqual(['failed', 'failed']);
  expect(asked).toEqual([]);
  expect(await searchAs(signed)).toEqual(['model', 'model']);
  const run = await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id }, { headers: signed });
  expect([run.status, run.last_error]).toEqual(['completed', null]);
  const told = model.requests
    .at(-1)!
    .messages.find(({ role }) => role === 'tool')!
    .content.match(/"\w+\.txt"/g);
  expect(told).toEqual(['"lynx.txt"', '"otter.txt"', '"bear.txt"']);
  model.stop();
  await guarded.stop();
});

test('without these settings no model is asked', async () => {
  const plain = await startGateway();
  await keys(plain);
  const at = await storeOf(plain.api, TEXTS);
  const reply = await plain.api.post(`/v1/vector_stores/${at}/search`, { query: 'forest', rewrite_query: true });
  expect(reply.headers.get('x-gateway-ranker')).toBe('own');
  expect(reply.headers.get('x-gateway-query-rewrite')).toBe('off');
  expect(reply.json).toMatchObject({ search_query: ['forest'] });
  expect(reply.json.data.map(({ filename }: Loose) => filename)).toEqual(OWN);
  expect(asked).toEqual([]);
  await plain.stop();
});

test('half a setting is refused at the start, and says which half is missing', async () => {
  for (const name of ['RERANK', 'QUERY_REWRITE']) {
    const start = (environment: Record<string, string>) =>
      startGateway({ environment }).then(
        () => 'started',
        (error: Error) => error.message,
      );
    expect(await start({ [`GATEWAY_${name}_MODEL`]: 'm' })).toContain(
      `GATEWAY_${name}_MODEL is set without GATEWAY_${name}_VIRTUAL_KEY`,
    );
    expect(await start({ [`GATEWAY_${name}_VIRTUAL_KEY`]: 'k' })).toContain(`GATEWAY_${name}_MODEL is missing`);
  }
});
