import { fail, GatewayError } from '../../core/errors.ts';
import type { Caller } from '../caller/caller.ts';
import type { McpServer } from '../server/server.ts';
import type { Discovery } from './discovery.ts';
import type { Grant } from './grant.ts';
import type { Renew } from './renewal.ts';
import type { StepUps } from './step-ups.ts';
import type { AccountHolder, StoredGrant, Vault } from './vault.ts';
import { challengeIn } from './well-known.ts';

export interface UserTokensDeps {
  readonly vault: Pick<Vault, 'find'>;
  readonly renew: Renew;
  readonly discovery: Pick<Discovery, 'forget'>;
  readonly stepUps: Pick<StepUps, 'seal'>;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

/** The tokens with which users' calls get in at servers that know them by accounts of their own. */
export interface UserTokens {
  /** The value of Authorization. Throws when the caller is no user, or must connect first. */
  authorizationFor(server: McpServer, caller: Caller): Promise<string>;
  /** Another value in the place of one that the server refused; null when there is none without the user. */
  renewed(server: McpServer, caller: Caller, refused: string): Promise<string | null>;
  /** After a refusal that nothing here can mend: throws what the user can do, if there is anything. */
  refused(server: McpServer, caller: Caller, refusal: Refusal): void;
}

/** What a server answers who does not let a call in. */
export interface Refusal {
  readonly status: number;
  readonly challenge: string | null;
}

/** A token this close to its end is renewed first: the call it is for takes time, too. */
const MARGIN_MS = 60_000;
const MARGIN_PART = 0.1;

/** With what a server has asked for beyond what was granted. */
export const connectUrl = (publicUrl: string, slug: string, stepUp: string | null = null): string =>
  `${publicUrl}/connect/${slug}${stepUp === null ? '' : `?more=${stepUp}`}`;

const bearer = ({ accessToken }: Grant): string => `Bearer ${accessToken}`;

export function createUserTokens({ vault, renew, discovery, stepUps, publicUrl, now }: UserTokensDeps): UserTokens {
  const mustConnect = ({ slug }: McpServer, why: string, stepUp: string | null = null): never =>
    fail('mcp_connection_required', slug, connectUrl(publicUrl(), slug, stepUp), why);

  const holderOf = (server: McpServer, { userId }: Caller): AccountHolder =>
    userId === null ? fail('mcp_user_required', server.slug) : { serverId: server.id, userId };

  const find = async (server: McpServer, holder: AccountHolder): Promise<StoredGrant | null> => {
    const kept = await vault.find(holder);
    // A token for another address is none for this one.
    return kept?.grant.url === server.url ? kept : null;
  };

  /** Renewed ahead of time; while that does not work the old one serves to its end. */
  const renewAhead = async (
    server: McpServer,
    holder: AccountHolder,
    kept: StoredGrant,
  ): Promise<StoredGrant | null> => {
    try {
      return await renew(server, holder, kept);
    } catch (error) {
      const isLeft = kept.grant.expiresAt! > now();
      if (isLeft && error instanceof GatewayError && error.code === 'mcp_upstream_oauth_failed') return kept;
      throw error;
    }
  };

  return {
    refused(server, caller, { status, challenge }) {
      const { error, scope } = challengeIn(challenge);
      const isMore = error === 'insufficient_scope';
      if (status !== 401 && !isMore) return;
      discovery.forget(server);
      const stepUp = stepUps.seal(holderOf(server, caller), scope);
      if (!isMore) mustConnect(server, 'it refuses what you granted', stepUp);
      mustConnect(server, `it asks for more than you granted${scopeNamed(scope)}`, stepUp);
    },

    async authorizationFor(server, caller) {
      const holder = holderOf(server, caller);
      const kept = (await find(server, holder)) ?? mustConnect(server, 'none is connected yet');
      const { grant } = kept;
      if (!isDue(grant, now())) return bearer(grant);
      if (grant.refreshToken === null)
        return grant.expiresAt! > now() ? bearer(grant) : mustConnect(server, 'what you granted has expired');
      const renewed = await renewAhead(server, holder, kept);
      if (renewed) return bearer(renewed.grant);
      discovery.forget(server);
      return mustConnect(server, 'what you granted is over');
    },

    async renewed(server, caller, refused) {
      const holder = holderOf(server, caller);
      const kept = await find(server, holder);
      if (!kept) return null;
      // Another call or node has renewed it since.
      if (bearer(kept.grant) !== refused) return bearer(kept.grant);
      const renewed = kept.grant.refreshToken === null ? null : await renew(server, holder, kept);
      return renewed && bearer(renewed.grant);
    },
  };
}

/** The server's words, as far as they can be a scope. */
const scopeNamed = (scope: string | null): string =>
  scope !== null && /^[\w.:/ -]{1,256}$/.test(scope) ? ` (${scope})` : '';

function isDue({ issuedAt, expiresAt }: Grant, now: number): boolean {
  if (expiresAt === null) return false;
  return now >= expiresAt - Math.min(MARGIN_MS, (expiresAt - issuedAt) * MARGIN_PART);
}
