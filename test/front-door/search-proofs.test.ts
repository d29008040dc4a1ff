import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { clientFor, scripted } from '../assistants/client.ts';
import { ATLAS, searching, storeWith } from '../assistants/file-stories.ts';
import { startIssuer } from '../attack/guardrail/scene.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { type Recorded, startRecorder } from '../recorder.ts';
import { query } from '../state-tables.ts';

const embedded = ({ json }: Recorded) =>
  Response.json({ data: json.input.map((_: string, index: number) => ({ index, embedding: [1, index, 0, 0] })) });

const UNPROVEN = 'no token was verified for it when this work was accepted';

describe.each(['sqlite', 'postgres'] as const)('where a token is asked for on %s', (engine) => {
  let gateway: TestGateway;
  let model: Awaited<ReturnType<typeof scripted>>;
  let issuer: Awaited<ReturnType<typeof startIssuer>>;
  let storeId: string;
  const embedder = startRecorder();

  beforeAll(async () => {
    const environment = { GATEWAY_EMBEDDINGS_VIRTUAL_KEY: 'vectors', GATEWAY_EMBEDDINGS_MODEL: 'embedder' };
    gateway = await startGateway({ engine, environment });
    await gateway.given.virtualKey({ slug: 'vectors', custom_host: `${embedder.origin}/v1` });
    embedder.answers(embedded);
    storeId = (await storeWith((await clientFor(gateway)).openai, { 'atlas.txt': ATLAS })).store.id;
    model = await scripted(
      gateway,
      searching(() => [{ text: 'Poseidonis.' }]),
    );
    issuer = await startIssuer();
    await impose({});
  });
  afterAll(async () => {
    model.provider.stop();
    embedder.stop();
    await gateway.stop();
  });

  /** On whatever calls a model in this organisation. */
  const impose = async (more: object) => {
    const { api } = gateway;
    const parameters = { jwks: issuer.jwks, headerKey: 'x-user-token', extractClaims: ['sub'], ...more };
    const organisation_id = (await api.get('/v1/admin/organisation')).json.id;
    const checks = [{ id: 'default.jwt', parameters }];
    const guardrail = { name: 'Users', checks, actions: { deny: true }, organisation_id };
    const { slug } = (await api.post('/v1/guardrails', guardrail)).json;
    const named = await api.put('/v1/admin/organisation/defaults', { input_guardrails: [slug] });
    if (named.status !== 200) throw new Error(named.text);
  };
  type Headers = Readonly<Record<string, string>>;
  const signed = async (): Promise<Headers> => ({ 'x-user-token': await issuer.token({ sub: 'ada@corp' }) });
  const post = (path: string, body: unknown, headers: Headers = {}) =>
    gateway.api.post(path, body, { key: model.key, headers });
  const get = async (path: string) => (await gateway.api.get(path, { key: model.key })).json;
  const upload = async (text = ATLAS): Promise<string> => {
    const form = new FormData();
    form.set('purpose', 'assistants');
    form.set('file', new File([text], 'atlas.txt'));
    return (await post('/v1/files', form)).json.id;
  };
  const takenIn = async (store: string, file: string) => {
    let row: { status?: string; last_error?: { message: string } } = {};
    await eventually('the file is taken in', async () => {
      row = await get(`/v1/vector_stores/${store}/files/${file}`);
      return row.status !== 'in_progress';
    });
    return row;
  };
  const modeOf = async (store: string, headers: Headers) =>
    (await post(`/v1/vector_stores/${store}/search`, { query: 'capital of Atlantis' }, headers)).headers.get(
      'x-gateway-search',
    );

  test('searches by meaning go on with what their caller has proven, and those of a run with what the run has', async () => {
    const headers = await signed();
    expect(await modeOf(storeId, {})).toBe('full-text');
    expect(await modeOf(storeId, headers)).toBe('hybrid');

    const tools = [{ type: 'file_search' }];
    const tool_resources = { file_search: { vector_store_ids: [storeId] } };
    const assistant_id = (await post('/v1/assistants', { model: 'gpt-5', tools, tool_resources })).json.id;
    const thread = { messages: [{ role: 'user', content: 'What is the capital of Atlantis?' }] };
    const before = embedder.requests.length;
    const run = (await post('/v1/threads/runs', { assistant_id, thread }, headers)).json;
    const ended = async () => (await get(`/v1/threads/${run.thread_id}/runs/${run.id}`)).status === 'completed';
    await eventually('the run is completed', ended);
    expect(embedder.requests.slice(before).map((call) => call.headers.get('x-jwt-sub'))).toEqual(['ada@corp']);
  });

  test('whoever brings files that are to be searched needs one, wherever they are brought', async () => {
    const file_id = await upload();
    const thread = (await post('/v1/threads', {})).json.id;
    const attachments = [{ file_id, tools: [{ type: 'file_search' }] }];
    const message = { role: 'user', content: 'Read this.', attachments };
    const tool_resources = { file_search: { vector_stores: [{ file_ids: [file_id] }] } };
    const tools = [{ type: 'file_search' }];
    const ways: [path: string, body: object][] = [
      ['/v1/vector_stores', { file_ids: [file_id] }],
      [`/v1/vector_stores/${storeId}/files`, { file_id }],
      [`/v1/vector_stores/${storeId}/file_batches`, { file_ids: [file_id] }],
      ['/v1/assistants', { model: 'gpt-5', tools, tool_resources }],
      ['/v1/threads', { tool_resources }],
      ['/v1/threads', { messages: [message] }],
      [`/v1/threads/${thread}/messages`, message],
    ];
    const rows = async () => {
      const tables = ['vector_stores', 'vector_store_files', 'assistants', 'threads', 'messages'];
      return Promise.all(tables.map(async (table) => (await query(gateway, `select * from ${table}`)).length));
    };
    const before = await rows();

    for (const [path, body] of ways) expect([path, (await post(path, body)).status]).toEqual([path, 446]);
    expect(await rows()).toEqual(before);
    const headers = await signed();
    for (const [path, body] of ways) expect([path, (await post(path, body, headers)).status]).toEqual([path, 200]);
    await eventually('all files are taken in', async () => {
      const states = await query<{ status: string }>(gateway, 'select status from vector_store_files');
      return states.length > before[1]! && states.every(({ status }) => status === 'completed');
    });
  });

  test('files are taken in by what was proven when they were brought, which is sealed and goes with the work', async () => {
    const { id } = (await post('/v1/vector_stores', {})).json;
    const file = await upload();
    const held = () =>
      query<{ payload: string }>(gateway, "select payload from work where kind = 'vector-store.ingest'");
    expect((await post(`/v1/vector_stores/${id}/files`, { file_id: file }, await signed())).status).toBe(200);
    expect(JSON.stringify(await held())).not.toContain('ada@corp');

    expect(await takenIn(id, file)).toMatchObject({ status: 'completed' });
    expect(embedder.last.headers.get('x-jwt-sub')).toBe('ada@corp');
    expect(await modeOf(id, await signed())).toBe('hybrid');
    await eventually('nothing of it is left', async () => (await held()).length === 0);
  });

  test('a file for which nothing was proven fails at once, and says why', async () => {
    const { id } = (await post('/v1/vector_stores', {})).json;
    const file = await upload();
    // While it is taken in, the operator trusts somebody else; a provider that is busy is asked again.
    embedder.answers(async () => {
      await impose({ jwks: (await startIssuer()).jwks });
      return new Response('{}', { status: 503 });
    });
    expect((await post(`/v1/vector_stores/${id}/files`, { file_id: file }, await signed())).status).toBe(200);

    const { status, last_error } = await takenIn(id, file);

    expect([status, last_error?.message]).toEqual(['failed', expect.stringContaining(UNPROVEN)]);
    embedder.answers(embedded);
    await impose({});
  });
});

test('without an embedding model nobody is asked for a token to bring files', async () => {
  const gateway = await startGateway();
  const { openai } = await clientFor(gateway);
  const { jwks } = await startIssuer();
  const organisation_id = (await gateway.api.get('/v1/admin/organisation')).json.id;
  const checks = [{ id: 'default.jwt', parameters: { jwks } }];
  const guardrail = { name: 'Users', checks, actions: { deny: true }, organisation_id };
  const { slug } = (await gateway.api.post('/v1/guardrails', guardrail)).json;
  await gateway.api.put('/v1/admin/organisation/defaults', { input_guardrails: [slug] });

  await storeWith(openai, { 'atlas.txt': ATLAS });

  await gateway.stop();
});
