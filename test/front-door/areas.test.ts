import { afterEach, expect, test } from 'bun:test';
import { everyArea } from '../../src/areas.ts';
import type { Route } from '../../src/http/route.ts';
import { beginBatch, chatLine, ended } from '../batch-lines.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

/** A path of each area that can be left out. */
const OF_AREA: Readonly<Record<string, string>> = {
  console: '/console/*',
  feedback: '/v1/feedback',
  ingest: '/v1/otel/v1/traces',
  webhooks: '/v1/webhooks',
  alerts: '/v1/alerts',
  views: '/v1/views',
  'fine-tuning': '/v1/fine_tuning/jobs',
  batches: '/v1/batches',
  assistants: '/v1/vector_stores',
  mcp: '/:server/mcp',
  scim: '/scim/v2/Users',
};
const optional = everyArea.list.filter(({ isOptional }) => isOptional).map(({ name }) => name);

let gateway: TestGateway;
afterEach(() => gateway.stop());

const pathsOf = (routes: readonly Route[]) => new Set(routes.map(({ path }) => path));

async function callsModel() {
  const reply = await gateway.api.post(
    '/v1/chat/completions',
    { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] },
    { headers: { 'x-gateway-virtual-key': 'sim' } },
  );
  expect(reply.json.choices[0].message.role).toBe('assistant');
  expect((await gateway.logOf(reply)).status).toBe(200);
}

/** What an area does when a file or a workspace goes is missed by nobody. */
async function endsThings() {
  const { api, given } = gateway;
  const workspace = await given.workspace({ name: 'Doomed' });
  const { key } = await given.apiKey({ workspace_id: workspace.id });
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('file', new File(['kept for a moment'], 'note.txt'));
  const { json: file } = await api.post('/v1/files', form, { key });
  expect((await api.delete(`/v1/files/${file.id}`, { key })).json.deleted).toBe(true);
  await api.delete(`/v1/admin/workspaces/${workspace.id}`);
  await eventually('the workspace is gone', async () => {
    const { json } = await api.get(`/v1/admin/workspaces/${workspace.id}/deletion`);
    return json.status === 'completed';
  });
}

for (const name of optional)
  test(`without ${name} the gateway starts, calls models and ends workspaces`, async () => {
    gateway = await startGateway({ without: [name] });
    expect(pathsOf(gateway.routes)).not.toContain(OF_AREA[name]!);
    for (const [other, path] of Object.entries(OF_AREA))
      if (other !== name) expect(pathsOf(gateway.routes)).toContain(path);
    await callsModel();
    await endsThings();
  });

for (const engine of ['sqlite', 'postgres'] as const)
  test(`on ${engine}, without all of them what is left does its work`, async () => {
    gateway = await startGateway({ engine, without: optional });
    await callsModel();
    await endsThings();
  });

test('a batch ends though nobody can be told of it', async () => {
  gateway = await startGateway({ without: ['webhooks'] });
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
  const openai = openaiClient(gateway.url, key);
  const batch = await beginBatch(openai, [chatLine('only')]);
  expect((await ended(openai, batch.id)).status).toBe('completed');
});

test('an area that others need cannot be left out', async () => {
  gateway = await startGateway();
  for (const name of ['relay', 'auth', 'nonsense'])
    expect(() => everyArea.without(name)).toThrow(`There is no optional area "${name}".`);
});
