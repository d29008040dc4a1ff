import { afterAll, beforeAll, expect, test } from 'bun:test';
import { DATA_SCOPES } from '../../src/core/scopes.ts';
import type { Route } from '../../src/http/route.ts';
import { startGateway, type TestGateway } from '../gateway.ts';

/**
 * Routes on which nothing is judged, and why nothing has to be. Every other route that a key without admin scopes may
 * call must stand before the guard: one that is new here fails until it does, or until it says why not.
 */
const WITHOUT: readonly [pattern: RegExp, why: string][] = [
  [/^\/v1\/(files|uploads)\b/, 'bytes are stored; what is made of them is judged where it is sent'],
  [/^GET \/v1\/responses$/, 'a list, without anything that was said'],
  [/^\/v1\/responses\/:/, 'reads and deletes what was judged when it was made'],
  [/^\/v1\/conversations\b/, 'stored; a response that goes on in one sends it to a model, and is judged'],
  [
    /^\/v1\/(assistants|threads)(\/:\w+(\/messages.*)?)?$/,
    'stored; a run sends them to a model, and its calls are judged',
  ],
  [/^\/v1\/threads\/(:thread_id\/)?runs\b/, 'each step of a run is a model call of its own'],
  [/^\/v1\/realtime\b/, 'sealed into a secret; judged when a conversation is opened with it'],
  [/^\/v1\/batches\b/, 'each line is a model call of its own'],
  [/^\/v1\/fine_tuning\b/, 'a file is given to a provider to learn from; nobody asks a model anything'],
  [/^\/v1\/vector_stores\b/, 'stored; a run sends what is found to a model'],
  [/^\/v1\/(models|providers)/, 'names of models and providers'],
  [/^\/v1beta\/models(\/\{model\})?$|^\/api\/(tags|ps|show)$/, 'names of models'],
  [/^\/v1\/(feedback|logs|analytics)\b/, 'for those who operate this'],
  [/^\/v1\/(otel|traces|metrics)\b/, 'what clients tell of themselves is stored; no model is asked'],
  [/^\/(managed\/settings|user\/bootstrap)$/, 'what a program is told of its settings and its user'],
  [/^\/v1\/containers\b/, 'files for code; what code makes of them is judged when a model is told'],
  [/^\/mcp(?:\/(?:search|code|sets\/[^/]+))?$/, 'what it sends to a server goes the way of a call of that server'],
];

/** The simulated provider is one of OpenAI's kind, which has neither of these. */
const SERVED_BY: Readonly<Record<string, string>> = { '/v1/rerank': 'ranker', '/v1/messages/count_tokens': 'claude' };

/** Something for every endpoint. */
const content = { parts: [{ text: 'x' }] };
const BODY = JSON.stringify({
  model: 'm',
  input: 'x',
  prompt: 'x',
  max_tokens: 1,
  messages: [{ role: 'user', content: 'x' }],
  contents: [content],
  content,
  requests: [{ content }],
});

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway();
  const { api, given, provider } = gateway;
  await given.virtualKey({ name: 'ranker', slug: 'ranker', provider: 'modal', custom_host: provider.url });
  await given.virtualKey({ name: 'claude', slug: 'claude', provider: 'anthropic', custom_host: provider.url });
  await api.post('/v1/mcp-servers', { name: 'x', slug: 'x', url: `${provider.origin}/mcp` });
  const organisation = (await api.get('/v1/admin/organisation')).json.id;
  // No caller has such a token, so whatever stands before the guard is denied.
  const checks = [
    { id: 'default.jwt', parameters: { jwks: { keys: [{ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'k' }] } } },
  ];
  const made = await api.post('/v1/guardrails', {
    name: 'Gate',
    checks,
    actions: { deny: true },
    organisation_id: organisation,
  });
  const named = await api.put('/v1/admin/organisation/defaults', { input_guardrails: [made.json.slug] });
  if (named.status !== 200) throw new Error(made.text + named.text);
});
afterAll(() => gateway.stop());

const isData = ({ scopes, audit }: Route) =>
  scopes !== 'public' && !audit && scopes.every((scope) => (DATA_SCOPES as readonly string[]).includes(scope));

test('every route of the data plane stands before the guard, or says why it need not', async () => {
  const unguarded: string[] = [];
  for (const route of gateway.routes.filter(isData)) {
    const names = [route.path, `${route.method} ${route.path}`];
    if (WITHOUT.some(([pattern]) => names.some((name) => pattern.test(name)))) continue;
    const path = route.path
      .replace('*', 'any/thing')
      .replace(/\/:\w+/g, '/x')
      .replace('{model}', 'm');
    const hasBody = route.method !== 'GET' && route.method !== 'HEAD';
    const before = gateway.provider.calls;
    const { status } = await gateway.api.call(route.method, path, {
      headers: { 'x-gateway-virtual-key': SERVED_BY[path] ?? 'sim', 'content-type': 'application/json' },
      ...(hasBody && { body: BODY }),
    });
    if (status !== 446 || gateway.provider.calls > before) unguarded.push(`${route.method} ${route.path} → ${status}`);
  }

  expect(unguarded).toEqual([]);
});
