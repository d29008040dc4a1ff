import type { Configuration } from 'openid-client';
import { fail, GatewayError } from '../core/errors.ts';
import { newId, type OrganisationId } from '../core/ids.ts';
import type { Secret } from '../core/secret.ts';
import type { Sealer } from '../crypto/seal.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import type { UserRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { FetchSmall } from './key-sets.ts';
import type { NewSession, Sessions } from './sessions.ts';
import type { Claims } from './token-claims.ts';
import { insertUser, isDeactivated, plainEmail } from './users.ts';
import { workspacesOf } from './users-invites.ts';

/** The identity provider of the people here. */
export interface OidcProvider {
  readonly issuer: string;
  readonly clientId: string;
  /** Null: a public client, which PKCE protects alone. */
  readonly clientSecret: Secret | null;
  /** What happens when a person without an invite signs in. */
  readonly newUsers: 'refuse' | 'member';
}

export interface OidcDeps {
  readonly provider: OidcProvider | null;
  readonly store: Store;
  readonly sealer: Sealer;
  /** Sends through the egress policy. */
  readonly fetch: FetchSmall;
  readonly sessions: Pick<Sessions, 'open'>;
  readonly organisationId: OrganisationId;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

/** What is remembered between the two halves of signing in: in the browser, sealed. */
interface Journey {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly returnTo: string;
  readonly endsAt: number;
}

const COOKIE = 'gateway_oidc';
const CALLBACK = '/v1/sessions/oidc/callback';
const JOURNEY_MS = 10 * 60_000;
const CONFIGURATION_MS = 3_600_000;
const RETRY_MS = 2_000;

export function createOidc(deps: OidcDeps) {
  const { provider, store, sealer, sessions, publicUrl, now } = deps;
  let configuration: { readonly found: Promise<Configuration>; readonly until: number } | null = null;

  const configured = (): Promise<Configuration> => {
    if (!configuration || configuration.until <= now()) {
      const found = discover(provider ?? fail('oidc_not_configured'), deps.fetch);
      configuration = { found, until: now() + CONFIGURATION_MS };
      // Until then all visitors get the same failure, so that a provider that is down is not asked for every visitor.
      found.catch(() => {
        if (configuration?.found === found) configuration = { found, until: now() + RETRY_MS };
      });
    }
    return configuration.found;
  };
  const attributes = (seconds: number) =>
    `Path=/v1/sessions/oidc; HttpOnly; SameSite=Lax; Max-Age=${seconds}${publicUrl().startsWith('https:') ? '; Secure' : ''}`;

  return {
    isConfigured: provider !== null,

    /** Where a browser is sent to sign in, and what it must bring back. */
    async begin(returnTo: string): Promise<{ location: string; cookie: string }> {
      const client = await import('openid-client');
      const config = await configured();
      const journey: Journey = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
        returnTo,
        endsAt: now() + JOURNEY_MS,
      };
      const location = client.buildAuthorizationUrl(config, {
        redirect_uri: publicUrl() + CALLBACK,
        scope: 'openid email profile',
        state: journey.state,
        nonce: journey.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(journey.verifier),
        code_challenge_method: 'S256',
      });
      const sealed = sealer.seal('session', 'oidc', JSON.stringify(journey));
      return { location: location.href, cookie: `${COOKIE}=${sealed}; ${attributes(JOURNEY_MS / 1_000)}` };
    },

    /** The browser is back: who is it? */
    async finish(search: string, headers: SentHeaders): Promise<NewSession & { returnTo: string }> {
      const config = await configured();
      const journey = journeyIn(headers, sealer) ?? fail('oidc_refused', 'it was not begun in this browser');
      if (journey.endsAt <= now()) fail('oidc_refused', 'it took longer than ten minutes; begin again');
      const claims = await exchange(config, new URL(publicUrl() + CALLBACK + search), journey);
      const opened = await store.transaction(async (db) => {
        const user = await userOf(db, claims, deps);
        return sessions.open(db, user);
      });
      return { ...opened, returnTo: journey.returnTo };
    },

    endCookie: () => `${COOKIE}=; ${attributes(0)}`,
  };
}

export type Oidc = ReturnType<typeof createOidc>;

async function discover({ issuer, clientId, clientSecret }: OidcProvider, fetch: FetchSmall): Promise<Configuration> {
  const client = await import('openid-client');
  const options: Parameters<typeof client.discovery>[4] = {
    [client.customFetch]: (url, { method, headers, body }) =>
      fetch(url, { method, headers, body: body === undefined || body === null ? undefined : String(body) }),
    // The egress policy decides where plain http may go. TLS says which host answered; only a signature by a key of the
    // provider's set says that the provider made the token.
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
  };
  const authentication = clientSecret === null ? client.None() : client.ClientSecretBasic(clientSecret.reveal());
  try {
    return await client.discovery(new URL(issuer), clientId, undefined, authentication, options);
  } catch (error) {
    return fail('identity_provider_unavailable', new URL(issuer).host, reasonOf(error));
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof GatewayError
    ? error.code
    : error instanceof Error
      ? error.message.slice(0, 200)
      : 'no usable answer';

interface Identity {
  readonly externalId: string;
  readonly email: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Claims that belong together are taken from one place: the ID token, else the answer of the userinfo endpoint. */
async function exchange(config: Configuration, url: URL, journey: Journey): Promise<Identity> {
  const client = await import('openid-client');
  try {
    const tokens = await client.authorizationCodeGrant(config, url, {
      expectedState: journey.state,
      expectedNonce: journey.nonce,
      pkceCodeVerifier: journey.verifier,
      idTokenExpected: true,
    });
    const { iss, sub } = tokens.claims()!;
    const places: readonly Claims[] = [tokens.claims()!, await userInfo(config, tokens.access_token, sub)];
    const address = places.find((said) => said.email !== undefined && said.email_verified !== undefined);
    const name = places.find((said) => said.given_name !== undefined || said.family_name !== undefined);
    return {
      externalId: `${iss} ${sub}`,
      // An address that the provider has not checked may belong to another person. `email_verified` counts only for the
      // address that stands beside it, not for one from the other place.
      email: address?.email_verified === true ? textOf(address.email) : null,
      firstName: textOf(name?.given_name),
      lastName: textOf(name?.family_name),
    };
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    return fail('oidc_refused', reasonOf(error));
  }
}

/** Many providers say who it is only there. */
async function userInfo(config: Configuration, accessToken: string, subject: string): Promise<Claims> {
  const client = await import('openid-client');
  if (!config.serverMetadata().userinfo_endpoint) return {};
  return client.fetchUserInfo(config, accessToken, subject);
}

function journeyIn(headers: SentHeaders, sealer: Sealer): Journey | null {
  const sealed = new RegExp(`(?:^|;\\s*)${COOKIE}=([^;]+)`).exec(headerOf(headers, 'cookie') ?? '')?.[1];
  if (!sealed) return null;
  try {
    return JSON.parse(sealer.open('session', 'oidc', sealed));
  } catch {
    return null;
  }
}

/** The user behind an identity: known from before, known by a checked address, invited, or new. */
async function userOf(db: Db, identity: Identity, { provider, organisationId, now }: OidcDeps): Promise<UserRow> {
  const users = () => db.selectFrom('users').selectAll().where('organisation_id', '=', organisationId);
  const mayEnter = (user: UserRow): UserRow =>
    isDeactivated(user) ? fail('oidc_refused', 'this user was deactivated; ask an administrator') : user;
  const known = await users().where('external_id', '=', identity.externalId).executeTakeFirst();
  if (known) return mayEnter(known);
  if (identity.email === null)
    return fail('oidc_refused', 'the identity provider does not vouch for an email address of yours');
  const email = plainEmail(identity.email);
  const named = await users().where('email', '=', email).executeTakeFirst();
  if (named) {
    mayEnter(named);
    if (named.external_id !== null)
      fail('oidc_refused', 'this address belongs to a user who signs in with another account of the identity provider');
    // Nothing else is written: a directory or an administrator may change the user at this moment, or shut them out.
    const linked = await db
      .updateTable('users')
      .set({ external_id: identity.externalId, updated_at: now() })
      .where('id', '=', named.id)
      .where('email', '=', email)
      .where('external_id', 'is', null)
      .where('deactivated_at', 'is', null)
      .returningAll()
      .executeTakeFirst();
    return linked ?? fail('oidc_refused', 'this user was changed at the same moment; sign in again');
  }
  const invite = await db
    .selectFrom('invites')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('email', '=', email)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now())
    .orderBy('id', 'desc')
    .executeTakeFirst();
  if (!invite && provider?.newUsers !== 'member')
    return fail('oidc_refused', `there is no user with the address ${email}; ask an administrator for an invite`);
  const row: UserRow = {
    id: newId(),
    organisation_id: organisationId,
    email,
    username: null,
    first_name: identity.firstName,
    last_name: identity.lastName,
    role: invite?.role ?? 'member',
    password_hash: null,
    external_id: identity.externalId,
    created_at: now(),
    updated_at: now(),
  };
  await insertUser(db, row, invite && (await workspacesOf(db, invite)));
  if (invite)
    await db
      .updateTable('invites')
      .set({ status: 'accepted', updated_at: now() })
      .where('id', '=', invite.id)
      .execute();
  return row;
}
