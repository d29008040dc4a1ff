import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN_SCOPES } from '../../src/core/scopes.ts';
import { startGateway, type TestGateway } from '../gateway.ts';

const IN_SERIES = 'Overview and Explore draw it from /v1/analytics/series, which has it beside all other figures';
const IN_LIST = 'the list has all of it';

/** Figures of their own for programs. */
const FIGURES = [
  'graphs/requests',
  'graphs/cost',
  'graphs/latency',
  'graphs/first-byte',
  'graphs/tokens',
  'graphs/errors/rate',
  'graphs/errors/origins',
  'graphs/bytes',
  'graphs/users',
  'graphs/users/requests',
  'graphs/errors',
  'graphs/errors/status-codes',
  'graphs/feedbacks/weighted',
  'groups/users',
  'groups/ai-models',
  'groups/providers',
  'groups/virtual-keys',
  'groups/api-keys',
  'groups/status-codes',
  'groups/workspaces',
  'groups/error-codes',
  'groups/endpoints',
  'groups/cache-statuses',
  'groups/metadata/{key}',
];

/** Routes of administrators that no page needs, one by one. */
const BY_DIRECTORY = 'directories call it; the page of the organisation says what their groups mean';
const BY_TERRAFORM = 'Terraform calls it; pages have the same under the names of our own';
const NOT_FOR_PAGES: Readonly<Record<string, string>> = {
  'POST /v1/admin/apply/plan': 'for gateway apply, whose file lies in version control',
  'POST /v1/admin/apply': 'for gateway apply',
  'GET /v1/admin/export': 'for gateway export',
  ...Object.fromEntries(
    [
      'POST /v1/integrations',
      'GET /v1/integrations',
      ...['GET', 'PUT', 'DELETE'].map((method) => `${method} /v1/integrations/{slug}`),
      ...['GET', 'PUT'].map((method) => `${method} /v1/integrations/{slug}/workspaces`),
      ...['GET', 'PUT', 'DELETE'].map((method) => `${method} /v1/integrations/{slug}/models`),
      'POST /v1/mcp-integrations',
      'GET /v1/mcp-integrations',
      ...['GET', 'PUT', 'DELETE'].map((method) => `${method} /v1/mcp-integrations/{slug}`),
      ...['workspaces', 'capabilities'].flatMap((part) =>
        ['GET', 'PUT'].map((method) => `${method} /v1/mcp-integrations/{slug}/${part}`),
      ),
      'POST /v1/scim/workspaces',
      'GET /v1/scim/workspaces',
      'DELETE /v1/scim/workspaces/{id}',
      'GET /v1/secret-references',
      'POST /v1/secret-references',
      'GET /v1/secret-references/{id}',
      'GET /v1/admin/health',
      'POST /v1/providers',
      ...['GET', 'PUT', 'DELETE'].map((method) => `${method} /v1/providers/{provider}`),
    ].map((route) => [route, BY_TERRAFORM]),
  ),
  ...Object.fromEntries(
    ['organisation/service', 'organisation/user', 'workspace/service', 'workspace/user'].map((type) => [
      `POST /v1/api-keys/${type}`,
      BY_TERRAFORM,
    ]),
  ),
  ...Object.fromEntries(
    ['ServiceProviderConfig', 'ResourceTypes', 'ResourceTypes/{name}', 'Schemas', 'Schemas/{name}'].map((path) => [
      `GET /scim/v2/${path}`,
      BY_DIRECTORY,
    ]),
  ),
  ...Object.fromEntries(
    ['Users', 'Groups'].flatMap((kind) => [
      ...['GET', 'POST'].map((method) => [`${method} /scim/v2/${kind}`, BY_DIRECTORY]),
      ...['GET', 'PUT', 'PATCH', 'DELETE'].map((method) => [`${method} /scim/v2/${kind}/{id}`, BY_DIRECTORY]),
    ]),
  ),
  'GET /v1/alert-channels/{id}': IN_LIST,
  'GET /v1/alerts/{id}': IN_LIST,
  'GET /v1/views/{id}': IN_LIST,
  'GET /v1/mcp-tool-sets/{slug}': IN_LIST,
  'GET /v1/mcp-apps/{id}': IN_LIST,
  'GET /v1/policies/rate-limits/{id}': IN_LIST,
  'GET /v1/policies/usage-limits/{id}': 'the list and the groups have all of it',
  'GET /v1/admin/users/invites/{id}': IN_LIST,
  'GET /v1/admin/workspaces/{workspace}/users/{user}': IN_LIST,
  'GET /v1/admin/workspaces/{workspace}': IN_LIST,
  'GET /v1/api-keys/{id}': IN_LIST,
  'GET /v1/virtual-keys/{slug}': IN_LIST,
  'GET /v1/webhooks/{id}': IN_LIST,
  'GET /v1/admin/erasures': 'each erasure shows its report when it is done; the audit log keeps who asked',
  'POST /v1/admin/users': 'people are invited, and choose their passwords themselves; scripts make users at once',
  ...Object.fromEntries(FIGURES.map((path) => [`GET /v1/analytics/${path}`, IN_SERIES])),
  'POST /v1/analytics/rebuild': 'an operator counts figures anew after a repair, with gateway analytics',
  'GET /v1/analytics/rebuild': 'gateway analytics shows how far it is',
  'GET /v0.1/servers': 'for clients that speak the format of the public registry; the MCP page shows the same servers',
};

const WEB = join(import.meta.dir, '../../web');
const withoutNames = (path: string) => path.replace(/\$?\{[^}]*\}/g, '{}');

/** The sources of pages, with constants that hold a path put in, and every parameter nameless. */
const files = readdirSync(WEB, { recursive: true })
  .map(String)
  .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'))
  .map((file) => ({ file, text: readFileSync(join(WEB, file), 'utf8') }));
const sources = files
  .map(({ text }) =>
    [...text.matchAll(/const (\w+) = ('\/v1[^']*')/g)].reduce(
      (filled, [, name, path]) => filled.replaceAll(new RegExp(`\\(${name}\\b`, 'g'), `(${path}`),
      text,
    ),
  )
  .map((text) => text.replace(/(['"`])\/[^'"`\n]*/g, withoutNames))
  .join('\n');

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** What changes something is asked for by the call of its method; a GET by its path, which stands in none of those calls. */
function isCalled(method: string, path: string): boolean {
  const literal = `['"\`]${escaped(withoutNames(path))}['"\`?]`;
  const call = method === 'GET' ? '(?<!\\.(?:post|put|patch|delete)\\(\\s*)' : `\\.${method.toLowerCase()}\\(\\s*`;
  return new RegExp(call + literal).test(sources);
}

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

test('every route of administrators is reached by some page, or it is written down why not', async () => {
  const { paths } = (await gateway.api.get('/openapi.json')).json;
  const isAdmins = (operation: { 'x-scopes'?: string[] }) =>
    operation['x-scopes']?.some((scope) => (ADMIN_SCOPES as readonly string[]).includes(scope)) ?? false;
  const routes = Object.entries<Record<string, { 'x-scopes'?: string[] }>>(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method, operation]) => /^(get|post|put|patch|delete)$/.test(method) && isAdmins(operation))
      .map(([method]) => ({ method: method.toUpperCase(), path })),
  );
  expect(routes.length).toBeGreaterThan(100);
  const missing = routes
    .filter(({ method, path }) => !isCalled(method, path) && !NOT_FOR_PAGES[`${method} ${path}`])
    .map(({ method, path }) => `${method} ${path}`);
  expect(missing).toEqual([]);

  const known = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  const outdated = Object.keys(NOT_FOR_PAGES).filter((name) => !known.has(name));
  expect(outdated).toEqual([]);
});

/** Files whose deletions lose nothing that a name would save. */
const WITHOUT_A_NAME: Readonly<Record<string, string>> = {
  'pages/apps/apps.tsx': "an application or an account of one's own is let in again with two clicks",
  'pages/account/account.tsx': "a session of one's own that ends is begun again by signing in",
  'shell/header-menus.tsx': 'signing out',
  'pages/assistants/timeline.tsx': 'an answer that is stopped is asked for again',
  'pages/responses/response-list.tsx': 'what was reached stays, and a response that is stopped is asked for again',
  'api/hooks.ts': 'an example in a comment',
};

test('what is deleted or cancelled for good is asked for by its name, on every page', () => {
  const careless = files
    .filter(({ text }) => /\bapi\.delete\(|\/cancel'/.test(text) && !text.includes('ConfirmByName'))
    .map(({ file }) => file);
  expect(careless.filter((file) => !WITHOUT_A_NAME[file])).toEqual([]);
});
