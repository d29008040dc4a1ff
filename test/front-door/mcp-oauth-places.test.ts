import { afterEach, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { CLIENT, startIdentityProvider } from '../identity-provider.ts';
import { newPkce, Person, post, redemption, requestFor, startClientSite, tokensFor } from '../mcp/oauth.ts';
import { message, startRecorder, toolCall } from '../mcp/recorder.ts';
import { givenUser, PASSWORD } from '../people.ts';
import { createDatabase } from '../postgres.ts';
import { eventually } from '../process.ts';

/** The authorization server beside others: an identity provider, further nodes, several workspaces. */
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const until = <Thing extends { stop(): unknown }>(thing: Thing): Thing => {
  cleanups.push(() => thing.stop());
  return thing;
};

async function register({ api }: TestGateway, more: Record<string, unknown> = {}) {
  const upstream = until(startRecorder());
  const reply = await api.post('/v1/mcp-servers', { name: 'Weather', slug: 'weather', url: upstream.url, ...more });
  if (reply.status !== 200) throw new Error(reply.text);
}
const call = ({ api }: TestGateway, token: string) =>
  api.post('/weather/mcp', toolCall(), { key: null, headers: { authorization: `Bearer ${token}` } });

test('people sign in through the identity provider, and come back to consent', async () => {
  const provider = until(await startIdentityProvider());
  const gateway = until(
    await startGateway({
      environment: {
        GATEWAY_OIDC_ISSUER: provider.issuer,
        GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
        GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
        GATEWAY_OIDC_NEW_USERS: 'member',
      },
    }),
  );
  const back = `${gateway.url}/v1/sessions/oidc/callback`;
  provider.serve(back);
  provider.people.set('ada', { email: 'ada@idp.example.com', email_verified: true });
  await register(gateway);
  const clientId = until(startClientSite()).describe('notes');
  const person = new Person(gateway.url, 'ada@idp.example.com');
  const pkce = newPkce();

  const page = await person.open(
    `/oauth/authorize?${new URLSearchParams(requestFor(gateway, { clientId, pkce, server: 'weather' }))}`,
  );
  const link = /<a class="button" href="([^"]+)">Continue with ([^<]+)</.exec(page.text)!;
  expect(link[2]).toBe(new URL(provider.issuer).host);
  const leaving = await person.open(link[1]!.replaceAll('&amp;', '&'));
  const returned = await person.open(await person.visitor.passThrough(leaving.location!, 'ada', back));
  const consent = await person.open(returned.location!);
  expect(consent.text).toContain('ada@idp.example.com');
  const code = new URL((await person.submit(consent, { decision: 'allow' })).location!).searchParams.get('code')!;
  const { json } = await post(gateway, '/oauth/token', redemption(code, clientId, pkce));
  expect((await call(gateway, json.access_token)).status).toBe(200);
});

test('any node goes on with what another began, and a token that ends on one ends on all', async () => {
  const databaseUrl = await createDatabase();
  const environment = { GATEWAY_PUBLIC_URL: 'https://gateway.example' };
  const one = until(await startGateway({ engine: 'postgres', databaseUrl, environment }));
  const two = until(await startGateway({ engine: 'postgres', databaseUrl, environment }));
  const place = { url: 'https://gateway.example' };
  await register(one);
  const clientId = until(startClientSite()).describe('notes');
  await givenUser(one, { email: 'ann@example.com', password: PASSWORD });
  const person = new Person(one.url, 'ann@example.com');
  const pkce = newPkce();
  const jar = person.visitor.cookies;
  // One browser that a balancer sends to either of them.
  const shared = new Map<string, string>();
  for (const { url } of [one, two]) jar.set(new URL(url).host, shared);

  const path = `/oauth/authorize?${new URLSearchParams(requestFor(place, { clientId, pkce, server: 'weather' }))}`;
  const signIn = await person.open(one.url + path);
  await person.submit(
    { ...signIn, action: `${two.url}/oauth/sign-in` },
    { email: 'ann@example.com', password: PASSWORD },
  );
  const consent = await person.open(two.url + path);
  const answer = await person.submit({ ...consent, action: `${one.url}/oauth/consent` }, { decision: 'allow' });
  const said = new URL(answer.location!).searchParams;
  expect(said.get('iss')).toBe('https://gateway.example');
  const tokens = (await post(two, '/oauth/token', redemption(said.get('code')!, clientId, pkce))).json;
  for (const node of [one, two]) expect((await call(node, tokens.access_token)).status).toBe(200);

  const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: clientId };
  const answers = await Promise.all([one, two, one, two, one, two].map((node) => post(node, '/oauth/token', form)));
  expect(new Set(answers.map(({ json }) => json.access_token)).size).toBe(1);
  const [{ json: renewed }] = answers as [(typeof answers)[number]];
  for (const node of [one, two]) expect((await call(node, renewed.access_token)).status).toBe(200);
  await post(one, '/oauth/revoke', { token: renewed.refresh_token, client_id: clientId });
  expect((await call(one, renewed.access_token)).status).toBe(401);
  await eventually('the other node knows', async () => (await call(two, renewed.access_token)).status === 401);
});

test('a policy that counts callers counts each user by themselves', async () => {
  const gateway = until(await startGateway());
  await register(gateway);
  const made = await gateway.api.post('/v1/policies/rate-limits', {
    conditions: [{ key: 'workspace_id', value: '*' }],
    group_by: [{ key: 'api_key' }],
    type: 'requests',
    unit: 'rpd',
    value: 1,
    target: 'mcp_tools',
  });
  expect(made.status).toBe(200);
  const clientId = until(startClientSite()).describe('notes');
  for (const name of ['ann', 'bob']) {
    await givenUser(gateway, { email: `${name}@example.com`, password: PASSWORD });
    const person = new Person(gateway.url, `${name}@example.com`);
    const { access_token } = await tokensFor(gateway, person, { clientId, server: 'weather' });
    expect((await call(gateway, access_token)).status).toBe(200);
    expect((await call(gateway, access_token)).status).toBe(429);
  }
});

test('for all servers of a workspace at once, the user chooses which workspace', async () => {
  const gateway = until(await startGateway());
  const other = await gateway.given.workspace({ name: 'Laboratory', slug: 'laboratory' });
  const hidden = await gateway.given.workspace({ name: 'Archive', slug: 'archive' });
  const clientId = until(startClientSite()).describe('notes');
  const workspaces = [
    { id: 'default', role: 'member' },
    { id: other.id, role: 'member' },
  ];
  await givenUser(gateway, { email: 'ann@example.com', password: PASSWORD, workspaces });
  const person = new Person(gateway.url, 'ann@example.com');
  const pkce = newPkce();
  const request = requestFor(gateway, { clientId, pkce, server: '', resource: `${gateway.url}/mcp` });
  const page = await person.authorize(request);
  expect(page.text).toContain('Laboratory');
  expect(page.text).not.toContain('Archive');
  for (const workspace of ['', hidden.id]) {
    const refused = await person.submit(page, { decision: 'allow', workspace });
    expect([refused.status, refused.location]).toEqual([400, null]);
  }
  const allowed = await person.submit(page, { decision: 'allow', workspace: other.id });
  const code = new URL(allowed.location!).searchParams.get('code')!;
  const { status, json } = await post(gateway, '/oauth/token', redemption(code, clientId, pkce));
  expect(status).toBe(200);

  await register(gateway);
  const headers = { authorization: `Bearer ${json.access_token}` };
  const hello = message('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x' } });
  const greeted = await gateway.api.post('/mcp', hello, { key: null, headers });
  expect(greeted.status).toBe(200);
  expect(await gateway.logOf(greeted)).toMatchObject({ workspace_id: other.id });
  expect((await call(gateway, json.access_token)).status).toBe(401);
});
