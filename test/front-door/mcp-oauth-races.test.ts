import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { newPkce, Person, post, redemption, requestFor, startClientSite } from '../mcp/oauth.ts';
import { startRecorder, toolCall } from '../mcp/recorder.ts';
import { givenUser, PASSWORD } from '../people.ts';
import { createDatabase } from '../postgres.ts';

/** Two nodes on one PostgreSQL, and an attacker who is faster than one of them. */
let nodes: readonly TestGateway[];
const upstream = startRecorder();
const site = startClientSite();
const clientId = site.describe('racer');
beforeAll(async () => {
  const databaseUrl = await createDatabase();
  const one = await startGateway({ engine: 'postgres', databaseUrl });
  const environment = { GATEWAY_PUBLIC_URL: one.url };
  nodes = [one, await startGateway({ engine: 'postgres', databaseUrl, environment })];
  await one.api.post('/v1/mcp-servers', { name: 'raced', slug: 'raced', url: upstream.url });
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  upstream.stop();
  site.stop();
});

const onAll = <Answer>(times: number, ask: (node: TestGateway) => Promise<Answer>) =>
  Promise.all(Array.from({ length: times }, (_, index) => ask(nodes[index % nodes.length]!)));
const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status);
const call = (node: TestGateway, token: string) =>
  node.api.post('/raced/mcp', toolCall(), { key: null, headers: { authorization: `Bearer ${token}` } });

let count = 0;
async function codeOf() {
  const [one] = nodes as [TestGateway];
  const user = await givenUser(one, { email: `racer-${++count}@example.com`, password: PASSWORD });
  const pkce = newPkce();
  const said = await new Person(one.url, user.email).consent(requestFor(one, { clientId, pkce, server: 'raced' }));
  return { code: said.get('code')!, pkce };
}

test('a code gives tokens once, and whoever used it again ends them on both nodes', async () => {
  const { code, pkce } = await codeOf();
  const answers = await onAll(20, (node) => post(node, '/oauth/token', redemption(code, clientId, pkce)));
  const good = answers.filter(({ status }) => status === 200);
  expect(good).toHaveLength(1);
  expect(statuses(answers).filter((status) => status === 400)).toHaveLength(19);
  const { access_token, refresh_token } = good[0]!.json;
  for (const node of nodes) {
    expect((await call(node, access_token)).status).toBe(401);
    const form = { grant_type: 'refresh_token', refresh_token, client_id: clientId };
    expect((await post(node, '/oauth/token', form)).json.error).toBe('invalid_grant');
  }
});

test('a refresh token that many bring at once gives all of them the same, and is over after that', async () => {
  const { code, pkce } = await codeOf();
  const first = (await post(nodes[0]!, '/oauth/token', redemption(code, clientId, pkce))).json;
  const renew = (refresh_token: string) => (node: TestGateway) =>
    post(node, '/oauth/token', { grant_type: 'refresh_token', refresh_token, client_id: clientId });
  const answers = await onAll(20, renew(first.refresh_token));
  expect(new Set(statuses(answers))).toEqual(new Set([200]));
  const second = answers[0]!.json;
  expect(new Set(answers.map(({ json }) => `${json.access_token} ${json.refresh_token}`)).size).toBe(1);
  expect(statuses(await onAll(2, (node) => call(node, second.access_token)))).toEqual([200, 200]);

  const [newer, older] = await Promise.all([
    renew(second.refresh_token)(nodes[0]!),
    renew(second.refresh_token)(nodes[1]!),
  ]);
  expect(newer.json.refresh_token).toBe(older.json.refresh_token);
  expect((await renew(first.refresh_token)(nodes[1]!)).json.error).toBe('invalid_grant');
  for (const node of nodes) expect((await call(node, newer.json.access_token)).status).toBe(401);
});
