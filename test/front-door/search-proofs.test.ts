import { expect, test } from 'bun:test';
import { clientFor, scripted } from '../assistants/client.ts';
import { ATLAS, searching, storeWith } from '../assistants/file-stories.ts';
import { startIssuer } from '../attack/guardrail/scene.ts';
import { startGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

for (const engine of ['sqlite', 'postgres'] as const)
  test(`where a token is asked for on ${engine}, searches by meaning go on with what their caller has proven`, async () => {
    const environment = { GATEWAY_EMBEDDINGS_VIRTUAL_KEY: 'sim', GATEWAY_EMBEDDINGS_MODEL: 'text-embedding-3-small' };
    const gateway = await startGateway({ engine, environment });
    const { api } = gateway;
    const { store } = await storeWith((await clientFor(gateway)).openai, { 'atlas.txt': ATLAS });
    const { provider, key } = await scripted(
      gateway,
      searching(() => [{ text: 'Poseidonis.' }]),
    );
    const issuer = await startIssuer();
    const checks = [{ id: 'default.jwt', parameters: { jwks: issuer.jwks, headerKey: 'x-user-token' } }];
    const organisation_id = (await api.get('/v1/admin/organisation')).json.id;
    const guardrail = { name: 'Users', checks, actions: { deny: true }, organisation_id };
    const { slug } = (await api.post('/v1/guardrails', guardrail)).json;
    await api.put('/v1/admin/organisation/defaults', { input_guardrails: [slug] });
    const headers = { 'x-user-token': await issuer.token({ sub: 'ada' }) };
    const search = (sent: Record<string, string>) =>
      api.post(`/v1/vector_stores/${store.id}/search`, { query: 'capital of Atlantis' }, { key, headers: sent });

    expect((await search({})).headers.get('x-gateway-search')).toBe('full-text');
    expect((await search(headers)).headers.get('x-gateway-search')).toBe('hybrid');

    const tools = [{ type: 'file_search' }];
    const tool_resources = { file_search: { vector_store_ids: [store.id] } };
    const assistant = { model: 'gpt-5', tools, tool_resources };
    const assistant_id = (await api.post('/v1/assistants', assistant, { key, headers })).json.id;
    const thread = { messages: [{ role: 'user', content: 'What is the capital of Atlantis?' }] };
    const before = Date.now();
    const run = (await api.post('/v1/threads/runs', { assistant_id, thread }, { key, headers })).json;
    await eventually('the run is completed', async () => {
      const { json } = await api.get(`/v1/threads/${run.thread_id}/runs/${run.id}`, { key, headers });
      return json.status === 'completed';
    });
    await eventually('its call of the embedding model was let through', async () => {
      const { data } = (await api.get('/v1/logs?limit=50')).json as { data: Record<string, unknown>[] };
      const calls = data.filter(({ path, created_at }) => path === '/v1/embeddings' && Number(created_at) >= before);
      return calls.length === 1 && calls[0]!.status === 200;
    });
    provider.stop();
    await gateway.stop();
  }, 30_000);
