import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { callsOf, givenPerson, visitorOf } from '../mcp/connecting.ts';
import {
  beginConnecting,
  connectAccount,
  leaveAndReturn,
  type ProtectedServer,
  startProtectedServer,
} from '../mcp/protected-server.ts';
import { createDatabase } from '../postgres.ts';
import { query } from '../state-tables.ts';

/** Two gateways on one PostgreSQL, and an issuer that ends a grant when a refresh token is used twice. */
const publicUrl = 'https://gateway.example.com';
let one: TestGateway;
let other: TestGateway;
let server: ProtectedServer;
beforeAll(async () => {
  const databaseUrl = await createDatabase();
  const environment = { GATEWAY_PUBLIC_URL: publicUrl };
  one = await startGateway({ engine: 'postgres', databaseUrl, environment });
  other = await startGateway({ engine: 'postgres', databaseUrl, environment });
  server = await startProtectedServer({ answer: () => Response.json({ jsonrpc: '2.0', id: 1, result: { ok: true } }) });
});
afterAll(async () => {
  await Promise.all([one.stop(), other.stop()]);
  await server.stop();
});

let count = 0;
async function connected() {
  const slug = `shared-${++count}`;
  await one.api.post('/v1/mcp-servers', { name: slug, slug, url: server.url, auth_type: 'oauth_auto' });
  const person = await givenPerson(one);
  await connectAccount(person.visitor, `${one.url}/connect/${slug}`, { publicUrl });
  const calls = [callsOf(one, person.key), callsOf(other, person.key)];
  const call = (index: number) => calls[index % 2]!.call(slug);
  expect((await call(0)).json.result).toEqual({ ok: true });
  return { slug, person, call };
}
const refreshes = () => server.grants.refresh_token ?? 0;
const refuseLast = () => server.refused.add(server.shown.at(-1)!);

test('a rotating refresh token is used once, whichever nodes need a new token at the same time', async () => {
  const { call } = await connected();
  for (let round = 0; round < 3; round++) {
    refuseLast();
    const before = refreshes();
    server.slowness = 150;

    const replies = await Promise.all(Array.from({ length: 24 }, (_, index) => call(index)));

    server.slowness = 0;
    expect(replies.map(({ json }) => json.result?.ok)).toEqual(Array(24).fill(true));
    expect(refreshes()).toBe(before + 1);
  }
  expect(server.grants.error ?? 0).toBe(0);
});

test('what a node left behind when it was killed holds the others up only for a while', async () => {
  const { call, person } = await connected();
  refuseLast();
  const before = refreshes();
  const soon = Date.now() + 700;
  await query(
    one,
    `update mcp_user_tokens set lease = 'of the dead', lease_until = ${soon} where user_id = '${person.user.id}'`,
  );

  const reply = await call(1);

  expect(reply.json.result).toEqual({ ok: true });
  expect(Date.now()).toBeGreaterThanOrEqual(soon);
  expect(refreshes()).toBe(before + 1);
});

test('who disconnects at one node is disconnected at the other at once', async () => {
  const { slug, call, person } = await connected();
  await one.api.delete(`/v1/mcp-servers/${slug}/connections/${person.user.id}`);
  expect((await call(1)).json.result.content[0].text).toContain('/connect/');
});

test('a flow that began at one node ends at the other', async () => {
  const slug = `shared-${++count}`;
  await one.api.post('/v1/mcp-servers', { name: slug, slug, url: server.url, auth_type: 'oauth_auto' });
  const person = await givenPerson(one);
  const back = await leaveAndReturn(person.visitor, `${one.url}/connect/${slug}`, { publicUrl });
  const { cookies } = person.visitor;
  cookies.set(new URL(other.url).host, cookies.get(new URL(one.url).host)!);

  const ended = await person.visitor.open(back.replace(one.url, other.url));

  expect(ended.headers.get('location')).toBe(`/connect/${slug}`);
  expect((await person.call(slug)).json.result).toEqual({ ok: true });
});

test('an issuer that reads documents about clients learns ours, and nothing is registered', async () => {
  const gateway = await startGateway({ environment: { GATEWAY_PUBLIC_URL: publicUrl } });
  const read: string[] = [];
  const reading = await startProtectedServer({
    answer: () => Response.json({ jsonrpc: '2.0', id: 1, result: { ok: true } }),
    fetchDocument: (url) => {
      read.push(url);
      return fetch(url.replace(publicUrl, gateway.url));
    },
  });
  await gateway.api.post('/v1/mcp-servers', { name: 'n', slug: 'n', url: reading.url, auth_type: 'oauth_auto' });
  const { user, call } = await givenPerson(gateway);
  const visitor = await visitorOf(gateway, user.email);

  const link = `${gateway.url}/connect/n`;
  const away = await beginConnecting(visitor, link);
  await connectAccount(visitor, link, { publicUrl });

  expect((await call('n')).json.result).toEqual({ ok: true });
  expect(new URL(away).searchParams.get('client_id')).toBe(`${publicUrl}/.well-known/oauth-client`);
  expect(read).toContain(`${publicUrl}/.well-known/oauth-client`);
  expect(reading.asked).not.toContain('POST /reg');
  await gateway.stop();
  await reading.stop();
});
