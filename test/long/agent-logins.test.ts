import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { CLAUDE, CODEX, ensureInstalled, eventsOf } from '../clients/agents.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { Person } from '../mcp/oauth.ts';
import { givenUser, PASSWORD } from '../people.ts';
import { commands, eventually } from '../process.ts';
import { startRecorder } from '../recorder.ts';

/** The real Claude Code and the real Codex, signed in as a person, and with a subscription of their own. */

let gateway: TestGateway;
let user: { id: string; email: string };
beforeAll(async () => {
  await ensureInstalled();
  gateway = await startGateway();
  await gateway.api.put('/v1/admin/workspaces/default', { member_keys: {} });
  await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
  user = await givenUser(gateway, { email: 'ada@example.com', password: PASSWORD });
});
afterAll(() => gateway.stop());

const post = async (path: string, fields: Record<string, string>) =>
  (await (await fetch(gateway.url + path, { method: 'POST', body: new URLSearchParams(fields) })).json()) as Record<
    string,
    string
  >;

/** What a program gets whose user lets it in. */
async function login(client_id: string) {
  const { user_code, device_code } = await post('/oauth/device_authorization', { client_id });
  const person = new Person(gateway.url, user.email);
  const path = `/oauth/device?user_code=${user_code}`;
  await person.submit(await person.open(path), { email: user.email, password: PASSWORD });
  const shown = await person.open(path);
  const workspace = /<option value="([^"]+)"/.exec(shown.text)![1]!;
  await person.submit(shown, { workspace, decision: 'allow' });
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  return post('/oauth/token', { grant_type, device_code: device_code!, client_id });
}

const claude = async (environment: Record<string, string>, model = '@claude/claude-x') => {
  const events = await eventsOf({
    command: [CLAUDE, '-p', '--verbose', '--model', model, '--output-format', 'stream-json', 'Hello'],
    environment: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', ...environment },
  });
  return events.findLast(({ type }) => type === 'result');
};
/** The log is written a moment later. */
const isLogged = (path: string) =>
  eventually(`a call of ${path} is in the log`, async () => {
    const { data } = (await gateway.api.get(`/v1/logs?limit=50&path=${path}`)).json;
    return data.some((entry: Record<string, unknown>) => entry.user_id === user.id && entry.status === 200);
  });

test('Claude Code works with a token of a login, and its calls are those of the person', async () => {
  const { access_token } = await login('Claude Code');
  const result = await claude({ ANTHROPIC_BASE_URL: gateway.url, ANTHROPIC_AUTH_TOKEN: access_token! });
  expect(result).toMatchObject({ is_error: false });
  await isLogged('/v1/messages');
}, 300_000);

test('Codex asks `gateway token` for its credential, and its calls are those of the person', async () => {
  const tokens = await login('gateway');
  const kept = {
    url: gateway.url,
    tokens: { access: tokens.access_token, refresh: tokens.refresh_token, expires_at: 0 },
  };
  const [command, ...args] = [...commands.bundle, 'token'];
  const config = `model = "@claude/claude-x"
model_provider = "gateway"
[model_providers.gateway]
name = "gateway"
base_url = "${gateway.url}/v1"
wire_api = "responses"
[model_providers.gateway.auth]
command = ${JSON.stringify(command)}
args = ${JSON.stringify(args)}
`;
  const events = await eventsOf({
    command: [CODEX, 'exec', '--skip-git-repo-check', '--json', '--', 'Hello'],
    environment: {},
    files: { 'config.toml': config, [join('.config', 'gateway', 'login.json')]: JSON.stringify(kept) },
  });
  expect(events.findLast(({ item }) => item?.type === 'agent_message')).toBeDefined();
  await isLogged('/v1/responses');
}, 300_000);

test("Claude Code with a subscription: its own Authorization reaches the provider, beside a gateway key that doesn't", async () => {
  const provider = startRecorder();
  try {
    provider.answers(({ text }) =>
      gateway.provider.simulator.simulate(
        new Request(`${gateway.provider.url}/messages`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-api-key': 'x', 'anthropic-version': '2023-06-01' },
          body: text,
        }),
      ),
    );
    await gateway.api.post('/v1/virtual-keys', {
      ...{ name: 'max', slug: 'max', provider: 'anthropic', custom_host: `${provider.origin}/v1` },
      configurations: { paid_by: 'caller' },
    });
    const { key } = await gateway.given.apiKey();
    const environment = {
      ANTHROPIC_BASE_URL: gateway.url,
      CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-of-a-person',
      ANTHROPIC_CUSTOM_HEADERS: `x-gateway-api-key: ${key}\nx-gateway-virtual-key: max`,
    };
    const result = await claude(environment, 'claude-x');
    expect(result).toMatchObject({ is_error: false });
    expect(provider.last.headers.get('authorization')).toBe('Bearer sk-ant-oat01-of-a-person');
    expect(provider.last.headers.get('anthropic-beta')).toContain('oauth-');
    expect(JSON.stringify([...provider.last.headers])).not.toContain(key);
  } finally {
    provider.stop();
  }
}, 300_000);
