import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { Visitor } from '../identity-provider.ts';
import { givenPerson } from '../mcp/connecting.ts';
import {
  beginConnecting,
  leaveAndReturn,
  type ProtectedOptions,
  type ProtectedServer,
  startProtectedServer,
} from '../mcp/protected-server.ts';
import { query } from '../state-tables.ts';

/** What others may try while a user connects an account. */
let gateway: TestGateway;
let server: ProtectedServer;
const answer = () => Response.json({ jsonrpc: '2.0', id: 1, result: { ok: true } });
beforeAll(async () => {
  gateway = await startGateway();
  server = await startProtectedServer({ answer });
});
afterAll(async () => {
  await gateway.stop();
  await server.stop();
});

let count = 0;
async function register(over: Record<string, unknown> = {}): Promise<string> {
  const slug = `attacked-${++count}`;
  const body = { name: slug, slug, url: server.url, auth_type: 'oauth_auto', ...over };
  const reply = await gateway.api.post('/v1/mcp-servers', body);
  if (reply.status !== 200) throw new Error(reply.text);
  return slug;
}
const linkTo = (slug: string) => `${gateway.url}/connect/${slug}`;
const tokens = () => query(gateway, 'select user_id from mcp_user_tokens');
const codes = () => server.grants.authorization_code ?? 0;

/** A user whom the authorization server has just sent back with a code. */
async function onTheWayBack() {
  const slug = await register();
  const person = await givenPerson(gateway);
  const back = await leaveAndReturn(person.visitor, linkTo(slug));
  return { slug, back, ...person };
}
const changed = (url: string, change: (query: URLSearchParams) => void): string => {
  const next = new URL(url);
  change(next.searchParams);
  return next.href;
};

test('an answer is good for one use', async () => {
  const { slug, back, visitor } = await onTheWayBack();
  const first = await visitor.open(back);
  expect(first.headers.get('location')).toBe(`/connect/${slug}`);
  const asked = codes();

  const second = await visitor.open(back);

  expect(second.status).toBe(400);
  expect(second.headers.get('location')).toBeNull();
  expect(await second.text()).toContain('done already');
  expect(codes()).toBe(asked);
});

test('an answer is of no use in the browser of another, and stays good in the right one', async () => {
  const { slug, back, visitor } = await onTheWayBack();
  const other = await givenPerson(gateway);
  const before = (await tokens()).length;

  expect((await other.visitor.open(back)).status).toBe(400);
  expect((await new Visitor().open(back)).status).toBe(400);

  expect((await tokens()).length).toBe(before);
  expect((await visitor.open(back)).headers.get('location')).toBe(`/connect/${slug}`);
});

test('an answer after signing out is refused', async () => {
  const { back, visitor, user } = await onTheWayBack();
  await gateway.api.put(`/v1/admin/users/${user.id}`, { password: 'another good password' });
  expect((await visitor.open(back)).status).toBe(400);
});

test('somebody who has left the workspace meanwhile is refused', async () => {
  const { back, visitor, user } = await onTheWayBack();
  const asked = codes();
  expect((await gateway.api.delete(`/v1/admin/workspaces/default/users/${user.id}`)).status).toBe(200);
  expect((await visitor.open(back)).status).toBeGreaterThanOrEqual(403);
  expect(codes()).toBe(asked);
});

test('a server that moved meanwhile gets no token', async () => {
  const { slug, back, visitor } = await onTheWayBack();
  await gateway.api.put(`/v1/mcp-servers/${slug}`, { url: `${server.url}/elsewhere` });
  const asked = codes();
  expect((await visitor.open(back)).status).toBe(400);
  expect(codes()).toBe(asked);
});

describe('an answer that was tampered with is refused, and no code is carried anywhere', () => {
  const attacks: [string, (query: URLSearchParams) => void, string][] = [
    ['of another issuer', (query) => query.set('iss', 'https://evil.example'), 'another authorization server'],
    ['of a longer issuer', (query) => query.set('iss', `${query.get('iss')}/`), 'another authorization server'],
    ['of no issuer, where there always is one', (query) => query.delete('iss'), 'does not say'],
    ['two issuers', (query) => query.append('iss', query.get('iss')!), 'iss twice'],
    ['two states', (query) => query.append('state', query.get('state')!), 'state twice'],
    ['no state', (query) => query.delete('state'), 'no state'],
    ['another state', (query) => query.set('state', 'x'.repeat(43)), 'another browser'],
    ['no code', (query) => query.delete('code'), 'no code'],
    ['a refusal', (query) => query.set('error', 'access_denied'), 'access_denied'],
    ['a refusal with markup', (query) => query.set('error', '<b>no</b>'), 'answered an error'],
  ];
  for (const [what, attack, why] of attacks)
    test(what, async () => {
      const { back, visitor } = await onTheWayBack();
      const asked = codes();

      const reply = await visitor.open(changed(back, attack));

      expect(reply.status).toBe(400);
      expect(reply.headers.get('location')).toBeNull();
      const text = await reply.text();
      expect(text).toContain(why);
      expect(text).not.toContain('<b>');
      expect(codes()).toBe(asked);
    });

  test('a code of somebody else', async () => {
    const victim = await onTheWayBack();
    const attacker = await onTheWayBack();
    const stolen = new URL(victim.back).searchParams.get('code')!;

    const reply = await attacker.visitor.open(changed(attacker.back, (query) => query.set('code', stolen)));

    expect(reply.status).toBe(400);
    expect(await reply.text()).toContain('invalid_grant');
    expect((await tokens()).filter(({ user_id }) => user_id === attacker.user.id)).toEqual([]);
  });
});

test('nothing that comes in decides where a browser is sent but the server itself', async () => {
  const { slug, back, visitor } = await onTheWayBack();
  const lured = changed(back, (query) => {
    for (const name of ['return_to', 'redirect_uri', 'next', 'url']) query.set(name, 'https://evil.example');
  });
  expect((await visitor.open(lured)).headers.get('location')).toBe(`/connect/${slug}`);
  const page = await visitor.open(`${linkTo(slug)}?return_to=https://evil.example`);
  expect(await page.text()).not.toContain('evil.example');
});

describe('an authorization server that is not what it should be gets nobody', () => {
  const faults: [string, NonNullable<ProtectedOptions['metadata']>, string][] = [
    [
      'metadata of another issuer',
      (said, path) =>
        path.includes('oauth-authorization-server') ? { ...said, issuer: 'https://evil.example' } : said,
      'names another issuer',
    ],
    ['no PKCE', ({ code_challenge_methods_supported: _, ...said }) => said, 'does not say that it supports PKCE'],
    [
      'metadata of another resource',
      (said) => (said.resource ? { ...said, resource: 'https://evil.example/mcp' } : said),
      'speaks of another resource',
    ],
    [
      'an issuer inside the network',
      (said) => (said.resource ? { ...said, authorization_servers: ['https://169.254.169.254'] } : said),
      'not globally reachable',
    ],
    [
      'an issuer without encryption',
      (said) => (said.resource ? { ...said, authorization_servers: ['http://issuer.example.com'] } : said),
      'plain http',
    ],
    [
      'a page that is a script',
      (said) => (said.resource ? said : { ...said, authorization_endpoint: 'javascript:alert(1)//' }),
      'no https address',
    ],
    [
      'a registration inside the network',
      (said) => (said.resource ? said : { ...said, registration_endpoint: 'http://10.0.0.1/register' }),
      'plain http',
    ],
  ];
  for (const [what, metadata, why] of faults)
    test(what, async () => {
      const bad = await startProtectedServer({ answer, metadata });
      try {
        const slug = await register({ url: bad.url });
        const { visitor } = await givenPerson(gateway);
        await expect(beginConnecting(visitor, linkTo(slug))).rejects.toThrow(why);
        await expect(beginConnecting(visitor, linkTo(slug))).rejects.toThrow('502');
      } finally {
        await bad.stop();
      }
    });

  test('metadata on another host than the server', async () => {
    const elsewhere = 'http://127.0.0.1:1/.well-known/oauth-protected-resource';
    const upstream = serve(
      () =>
        new Response(null, {
          status: 401,
          headers: { 'www-authenticate': `Bearer resource_metadata="${elsewhere}"` },
        }),
    );
    const slug = await register({ url: `${upstream.origin}/mcp` });
    const { visitor } = await givenPerson(gateway);
    await expect(beginConnecting(visitor, linkTo(slug))).rejects.toThrow('on another host');
    upstream.stop();
  });
});
