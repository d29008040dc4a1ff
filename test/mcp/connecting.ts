import { createSealer } from '../../src/crypto/seal.ts';
import type { Grant } from '../../src/mcp/upstream-oauth/grant.ts';
import type { TestGateway } from '../gateway.ts';
import { Visitor } from '../identity-provider.ts';
import { givenUser, PASSWORD, signIn } from '../people.ts';
import { query } from '../state-tables.ts';
import { toolCall } from './recorder.ts';

/** A user with a key of their own, and a browser in which they have signed in. */
export async function givenPerson(gateway: TestGateway, over: Record<string, unknown> = {}) {
  const user = await givenUser(gateway, { password: PASSWORD, ...over });
  const { key } = await gateway.given.apiKey({ user_id: user.id });
  return { user, key, visitor: await visitorOf(gateway, user.email), ...callsOf(gateway, key) };
}

/** The browser of a user who has signed in. */
export async function visitorOf(gateway: TestGateway, email: string): Promise<Visitor> {
  const { headers } = await signIn(gateway, email);
  const [name = '', value = ''] = headers.cookie!.split('=');
  const visitor = new Visitor();
  visitor.cookies.set(new URL(gateway.url).host, new Map([[name, value]]));
  return visitor;
}

export const callsOf = (gateway: Pick<TestGateway, 'api'>, key: string) => ({
  call: (slug: string, body: unknown = toolCall(), version: string | null = '2025-06-18') =>
    gateway.api.post(`/${slug}/mcp`, body, {
      key,
      headers: version === null ? {} : { 'mcp-protocol-version': version },
    }),
});

/** A connection that was made without visiting an authorization server. */
export async function givenConnection(gateway: TestGateway, serverId: string, userId: string): Promise<void> {
  const grant: Grant = {
    url: 'https://notes.example/mcp',
    accessToken: 'made-up',
    refreshToken: null,
    issuedAt: Date.now(),
    expiresAt: null,
    scope: null,
    issuer: null,
    tokenEndpoint: 'https://notes.example/token',
    revocationEndpoint: null,
    resource: null,
    audience: null,
    client: { id: 'made-up', secret: null, method: 'none' },
  };
  const sealed = createSealer(Buffer.alloc(32, 1)).seal(
    'mcp-user-token',
    `${serverId} ${userId}`,
    JSON.stringify(grant),
  );
  await query(
    gateway,
    `insert into mcp_user_tokens (server_id, user_id, sealed, created_at, updated_at)
     values ('${serverId}', '${userId}', '${sealed}', 1, 1)`,
  );
}

/** The form by which a connected user leaves, filled in. */
export async function filledLeaving(gateway: TestGateway) {
  const slug = `left-${crypto.randomUUID().slice(0, 8)}`;
  const url = `${gateway.provider.origin}/mcp`;
  const made = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url, auth_type: 'oauth_auto' });
  const user = await givenUser(gateway, { password: PASSWORD });
  await givenConnection(gateway, made.json.id, user.id);
  const { cookie } = (await signIn(gateway, user.email)).headers;
  const page = await gateway.api.get(`/connect/${slug}`, { key: null, headers: { cookie: cookie! } });
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)![1]!;
  return {
    path: `/connect/${slug}/disconnect`,
    form: new URLSearchParams({ csrf }).toString(),
    status: 303,
    as: {
      key: null,
      headers: { cookie: cookie!, origin: gateway.url, 'content-type': 'application/x-www-form-urlencoded' },
    },
  };
}
