import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

import { selfSignedCertificate } from '../certificate.ts';
import { type Chromium, startChromium } from '../chromium.ts';
import { client as apiClient, startGateway, type TestGateway } from '../gateway.ts';
import { Person } from '../mcp/oauth.ts';
import { type ReferenceServer, startReferenceServer } from '../mcp/reference-server.ts';
import { givenUser, PASSWORD } from '../people.ts';
import { forTests, startProcess } from '../process.ts';

/** The official MCP client, with its own OAuth, against ours. */
let reference: ReferenceServer;
let gateway: TestGateway;
beforeAll(async () => {
  reference = startReferenceServer();
  gateway = await startGateway({ environment: { GATEWAY_OAUTH_REGISTRATION: 'true' } });
  const made = await gateway.api.post('/v1/mcp-servers', { name: 'Reference', slug: 'reference', url: reference.url });
  if (made.status !== 200) throw new Error(made.text);
});
afterAll(async () => {
  await gateway.stop();
  reference.stop();
});
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** An application that keeps in memory what it is given. */
class Application implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly clientMetadataUrl?: string;
  information?: OAuthClientInformationMixed;
  saved?: OAuthTokens;
  /** Where the user is to go. */
  asked?: URL;
  #verifier = '';
  #discovered: Parameters<NonNullable<OAuthClientProvider['saveDiscoveryState']>>[0] | undefined;

  constructor(redirectUrl: string, clientMetadataUrl?: string) {
    this.redirectUrl = redirectUrl;
    this.clientMetadataUrl = clientMetadataUrl;
    this.clientMetadata = {
      client_name: 'Test application',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    };
  }
  state = () => 'its own state';
  clientInformation = () => this.information;
  saveClientInformation(information: OAuthClientInformationMixed) {
    this.information = information;
  }
  tokens = () => this.saved;
  saveTokens(tokens: OAuthTokens) {
    this.saved = tokens;
  }
  redirectToAuthorization(url: URL) {
    this.asked = url;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier = () => this.#verifier;
  saveDiscoveryState(state: NonNullable<typeof this.discovered>) {
    this.#discovered = state;
  }
  get discovered() {
    return this.#discovered;
  }
  discoveryState = () => this.#discovered;
}

const newClient = () => new Client({ name: 'test', version: '1.0.0' });
const transportTo = (url: string, application: Application) =>
  new StreamableHTTPClientTransport(new URL(`${url}/reference/mcp`), { authProvider: application });

/** Connects as an application does: asked for a token, it sends its user away, and comes back with what they bring. */
async function connect(url: string, application: Application, visit: (url: URL) => Promise<URLSearchParams>) {
  const first = transportTo(url, application);
  const refusal = await newClient()
    .connect(first)
    .then(() => null)
    .catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(UnauthorizedError);
  const said = await visit(application.asked!);
  expect(said.get('state')).toBe('its own state');
  await first.finishAuth(said);
  const client = newClient();
  await client.connect(transportTo(url, application));
  cleanups.push(() => client.close());
  return client;
}

const callTool = async (client: Client) => {
  const { content } = await client.callTool({ name: 'test_simple_text', arguments: {} });
  return JSON.stringify(content);
};

test('it registers, has its user consent, calls a tool, and renews its token when that has expired', async () => {
  const user = await givenUser(gateway, { password: PASSWORD });
  const application = new Application('http://127.0.0.1:49200/callback');
  const person = new Person(gateway.url, user.email);
  const client = await connect(gateway.url, application, (url) => person.consent(url.search));
  expect(await callTool(client)).toContain('simple text');
  const { access_token, refresh_token } = application.saved!;

  const revoked = await fetch(`${gateway.url}/oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token: access_token, client_id: application.information!.client_id }),
  });
  expect(revoked.status).toBe(200);
  expect(await callTool(client)).toContain('simple text');
  expect(application.saved!.access_token).not.toBe(access_token);
  expect(application.saved!.refresh_token).not.toBe(refresh_token);
});

test('it brings the address of its own description instead of registering', async () => {
  const certificate = selfSignedCertificate('localhost');
  const folder = mkdtempSync(join(tmpdir(), 'gateway-oauth-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'authority.pem'), certificate.cert);
  const redirectUrl = 'https://app.example/callback';
  const site = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: certificate,
    fetch: ({ url }) =>
      Response.json({
        client_id: url,
        client_name: 'Described',
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
      }),
  });
  cleanups.push(() => site.stop(true));
  const gatewayProcess = await startProcess({
    environment: {
      ...forTests,
      TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost',
      NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
    },
  });
  cleanups.push(() => gatewayProcess.stop());
  const api = apiClient(gatewayProcess.url);
  const made = await api.post('/v1/mcp-servers', { name: 'Reference', slug: 'reference', url: reference.url });
  expect(made.status).toBe(200);
  await api.post('/v1/admin/users', { email: 'ann@example.com', role: 'member', password: PASSWORD });

  const clientId = `https://localhost:${site.port}/client.json`;
  const application = new Application(redirectUrl, clientId);
  const person = new Person(gatewayProcess.url, 'ann@example.com');
  const client = await connect(gatewayProcess.url, application, (url) => {
    expect(url.searchParams.get('client_id')).toBe(clientId);
    return person.consent(url.search);
  });
  expect(await callTool(client)).toContain('simple text');
});

test('a real browser fills in the forms', async () => {
  const user = await givenUser(gateway, { password: PASSWORD, first_name: 'Ann' });
  const received = Promise.withResolvers<URLSearchParams>();
  const listener = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => {
      const { pathname, searchParams } = new URL(url);
      if (pathname === '/callback') received.resolve(searchParams);
      return new Response('You can close this page.');
    },
  });
  cleanups.push(() => listener.stop(true));
  const browser: Chromium = await startChromium();
  cleanups.push(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 720, height: 820 } });
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));

  const application = new Application(`http://127.0.0.1:${listener.port}/callback`);
  const client = await connect(gateway.url, application, async (url) => {
    await page.goto(url.href);
    await keep('sign-in');
    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Allow “Test application” to use “Reference”?' }).waitFor();
    await keep('consent');
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('You can close this page.').waitFor();
    return received.promise;
  });
  expect(await callTool(client)).toContain('simple text');
  expect(complaints.filter((text) => /content security policy/i.test(text))).toEqual([]);

  /** For tests that look at them. */
  async function keep(name: string) {
    const folder = process.env.GATEWAY_TEST_SCREENSHOTS;
    if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
  }
});
