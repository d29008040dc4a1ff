import { createHash, randomBytes } from 'node:crypto';
import type { FetchSmall } from '../../auth/key-sets.ts';
import { fail } from '../../core/errors.ts';
import { type Sealer, sha256 } from '../../crypto/seal.ts';
import type { Store } from '../../storage/store.ts';
import type { McpServer } from '../server/server.ts';
import type { Discovered, Discovery } from './discovery.ts';
import { askForTokens, type Grant, GrantRefused } from './grant.ts';
import { CALLBACK, type OauthClient, type OauthClients } from './oauth-client.ts';
import type { Vault } from './vault.ts';

/** The browser in which a user has signed in. */
export interface SignedInBrowser {
  readonly userId: string;
  readonly sessionHash: string;
}

export interface ConnectingDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly fetch: FetchSmall;
  readonly discovery: Discovery;
  readonly clients: OauthClients;
  readonly vault: Pick<Vault, 'put'>;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

/** What is remembered while the user is away. */
interface Flow {
  readonly verifier: string;
  readonly url: string;
  readonly found: Discovered;
  readonly client: OauthClient;
  readonly audience: string | null;
}

const AWAY_MS = 10 * 60_000;
const LONGEST_VALUE = 4_096;
const random = () => randomBytes(32).toString('base64url');

/** Takes users to a server's authorization server and back: authorization code, PKCE, one use, one browser, one issuer. */
export function createConnecting(deps: ConnectingDeps) {
  const { store, sealer, discovery, clients, vault, publicUrl, now } = deps;
  const contextOf = (stateHash: string) => `flow ${stateHash}`;

  return {
    /** Where the browser is to go. With a scope that the server asked for on the way, it is asked for, too. */
    async begin(server: McpServer, browser: SignedInBrowser, challenged: string | null): Promise<string> {
      const usual = await discovery.discover(server);
      const found = challenged === null ? usual : { ...usual, scope: joinedScopes(usual.scope, challenged) };
      const client = await clients.clientFor(server, found);
      const state = random();
      const flow: Flow = {
        verifier: random(),
        url: server.url,
        found,
        client,
        audience: server.oauth?.audience ?? null,
      };
      const hash = sha256(state);
      await store.transaction(async (db) => {
        await db.deleteFrom('mcp_connect_flows').where('expires_at', '<=', now()).execute();
        // Of several tabs the last one counts; a user who presses a button a thousand times leaves one row.
        await db
          .deleteFrom('mcp_connect_flows')
          .where('session_hash', '=', browser.sessionHash)
          .where('server_id', '=', server.id)
          .execute();
        await db
          .insertInto('mcp_connect_flows')
          .values({
            state_hash: hash,
            server_id: server.id,
            user_id: browser.userId,
            session_hash: browser.sessionHash,
            sealed: sealer.seal('mcp-user-token', contextOf(hash), JSON.stringify(flow)),
            expires_at: now() + AWAY_MS,
          })
          .execute();
      });
      return authorizationUrl(flow, {
        state,
        redirectUri: publicUrl() + CALLBACK,
        more: server.oauth?.authorization_params,
      });
    },

    /** The server that a browser on its way back had left for; the flow is over with that, however it goes on. */
    async take(search: string, { sessionHash }: SignedInBrowser): Promise<{ serverId: string; returned: Returned }> {
      const said = answerIn(search);
      const hash = sha256(said.state ?? fail('mcp_connect_refused', 'the answer carries no state'));
      const row = await store.db
        .deleteFrom('mcp_connect_flows')
        .where('state_hash', '=', hash)
        // In another browser it is of no use, and stays good where it belongs.
        .where('session_hash', '=', sessionHash)
        .returningAll()
        .executeTakeFirst();
      if (!row || Number(row.expires_at) <= now())
        return fail(
          'mcp_connect_refused',
          'it was begun in another browser, took over ten minutes, or is done already',
        );
      const flow: Flow = JSON.parse(sealer.open('mcp-user-token', contextOf(hash), row.sealed));
      return { serverId: row.server_id, returned: { flow, said } };
    },

    /** The user's tokens, for the code that came back. */
    async finish(server: McpServer, { userId }: SignedInBrowser, { flow, said }: Returned): Promise<void> {
      const { found, client } = flow;
      checkIssuer(said.iss, found);
      if (said.error !== undefined)
        fail('mcp_connect_refused', `the authorization server answered ${wordIn(said.error)}`);
      const code = said.code ?? fail('mcp_connect_refused', 'the answer carries no code');
      if (server.url !== flow.url) fail('mcp_connect_refused', 'the server was changed meanwhile; begin again');
      const form = {
        grant_type: 'authorization_code',
        code,
        redirect_uri: publicUrl() + CALLBACK,
        code_verifier: flow.verifier,
        resource: found.resource,
        audience: flow.audience,
      };
      const issued = await askForTokens({ slug: server.slug, endpoint: found.tokenEndpoint, client, form }, deps).catch(
        (error) => {
          discovery.forget(server);
          return error instanceof GrantRefused ? fail('mcp_connect_refused', error.message) : Promise.reject(error);
        },
      );
      const grant: Grant = {
        ...issued,
        url: flow.url,
        issuer: found.issuer,
        tokenEndpoint: found.tokenEndpoint,
        revocationEndpoint: found.revocationEndpoint,
        resource: found.resource,
        audience: flow.audience,
        client,
      };
      await store.transaction((db) => vault.put(db, { serverId: server.id, userId }, grant));
    },
  };
}

export type Connecting = ReturnType<typeof createConnecting>;

export interface Returned {
  readonly flow: Flow;
  readonly said: Partial<Record<(typeof ANSWERED)[number], string>>;
}

const joinedScopes = (usual: string | null, more: string): string =>
  [...new Set([...(usual ?? '').split(' '), ...more.split(' ')])].filter(Boolean).join(' ');

const ANSWERED = ['state', 'code', 'iss', 'error'] as const;

function answerIn(search: string): Returned['said'] {
  const query = new URLSearchParams(search);
  const said: Partial<Record<(typeof ANSWERED)[number], string>> = {};
  for (const name of ANSWERED) {
    const [value, ...more] = query.getAll(name);
    if (more.length > 0) fail('mcp_connect_refused', `the answer carries ${name} twice`);
    if (value !== undefined && value.length > LONGEST_VALUE) fail('mcp_connect_refused', `its ${name} is too long`);
    if (value) said[name] = value;
  }
  return said;
}

/** RFC 9207: a code of one issuer must not be carried to another, wherever the browser was sent from. */
function checkIssuer(said: string | undefined, { issuer, authorizationEndpoint, namesItself }: Discovered) {
  if (said === undefined) {
    if (namesItself) fail('mcp_connect_refused', 'the answer does not say which authorization server it is from');
    return;
  }
  const isTheirs =
    issuer === null ? URL.parse(said)?.origin === new URL(authorizationEndpoint).origin : said === issuer;
  if (!isTheirs)
    fail('mcp_connect_refused', 'the answer is from another authorization server than the one that was asked');
}

/** As much of an answer as may be shown: an attacker may have written the link, so its text is not trusted. */
const wordIn = (text: string): string => (/^[\w.-]{1,64}$/.test(text) ? text : 'an error');

function authorizationUrl(
  { found, client, verifier, audience }: Flow,
  {
    state,
    redirectUri,
    more,
  }: { state: string; redirectUri: string; more: Readonly<Record<string, string>> | undefined },
): string {
  const url = new URL(found.authorizationEndpoint);
  const asked: Record<string, string | null> = {
    // OpenID providers give refresh tokens only to users who are asked again.
    prompt: found.scope?.split(' ').includes('offline_access') ? 'consent' : null,
    audience,
    ...more,
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: found.scope,
    resource: found.resource,
  };
  for (const [name, value] of Object.entries(asked)) if (value !== null) url.searchParams.set(name, value);
  return url.href;
}
