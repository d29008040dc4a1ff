import { randomUUID } from 'node:crypto';
import { fail, GatewayError } from '../../core/errors.ts';
import type { McpServer } from '../server/server.ts';
import { type Grant, GrantRefused, renewGrant, type TokenEndpointDeps } from './grant.ts';
import { configuredClient } from './oauth-client.ts';
import type { AccountHolder, StoredGrant, Vault } from './vault.ts';

export interface RenewalDeps extends TokenEndpointDeps {
  readonly vault: Vault;
  /** To be called when the issuer does not know this gateway any more: the next user's connecting registers it anew. */
  readonly forgetClients: (serverId: string) => Promise<void>;
  readonly waitMs?: number;
}

/** A grant that is as new as can be; null when the user must connect again. */
export type Renew = (server: McpServer, holder: AccountHolder, kept: StoredGrant) => Promise<StoredGrant | null>;

const LOOK_AGAIN_MS = 50;
/** Longer than a lease that a dead node left behind. */
const WAIT_MS = 25_000;
const MOST_ATTEMPTS = 5;

/**
 * Renews a grant once, however many calls on however many nodes wait for it: an issuer that rotates refresh tokens takes
 * a second use of one for theft and ends the grant.
 */
export function createRenewal(deps: RenewalDeps): Renew {
  const underWay = new Map<string, Promise<StoredGrant | null>>();
  return (server, holder, kept) => {
    const key = `${holder.serverId} ${holder.userId} ${kept.sealed}`;
    let renewing = underWay.get(key);
    if (!renewing) {
      renewing = renewOrWait(server, holder, kept, deps).finally(() => underWay.delete(key));
      underWay.set(key, renewing);
    }
    return renewing;
  };
}

async function renewOrWait(
  server: McpServer,
  holder: AccountHolder,
  kept: StoredGrant,
  deps: RenewalDeps,
): Promise<StoredGrant | null> {
  const { vault, waitMs = WAIT_MS } = deps;
  const deadline = performance.now() + waitMs;
  const lease = randomUUID();
  while (!(await vault.claim(holder, kept, lease))) {
    const current = await vault.find(holder);
    if (current?.sealed !== kept.sealed) return current;
    if (performance.now() > deadline)
      fail('mcp_upstream_oauth_failed', server.slug, 'renewing the token takes too long; try again shortly');
    await Bun.sleep(LOOK_AGAIN_MS);
  }
  return renew(server, holder, kept, { ...deps, lease });
}

async function renew(
  server: McpServer,
  holder: AccountHolder,
  kept: StoredGrant,
  deps: RenewalDeps & { readonly lease: string },
): Promise<StoredGrant | null> {
  const { vault, lease } = deps;
  let grant: Grant;
  try {
    grant = await renewGrant(server.slug, withClientOf(server, kept.grant), deps);
  } catch (error) {
    if (!isOver(error, server, kept.grant)) {
      await vault.release(holder, lease);
      throw error instanceof GrantRefused
        ? new GatewayError('mcp_upstream_oauth_failed', [server.slug, error.message])
        : error;
    }
    if (error instanceof GrantRefused && error.code === 'invalid_client') await deps.forgetClients(server.id);
    await vault.drop(holder, lease);
    return null;
  }
  // The old refresh token may be worthless from here on: only what gets stored keeps the user connected.
  const sealed = await persistently(() => vault.replace(holder, lease, grant));
  return sealed === null ? null : { ...kept, grant, sealed };
}

/** Whether the issuer gives nothing more for this grant. A configured client that it does not know is another matter. */
function isOver(error: unknown, server: McpServer, { client }: Grant): boolean {
  if (!(error instanceof GrantRefused)) return false;
  return error.code === 'invalid_grant' || (error.code === 'invalid_client' && server.oauth?.client_id !== client.id);
}

/** A secret that was changed in the configuration holds for grants that were made before. */
function withClientOf(server: McpServer, grant: Grant): Grant {
  if (server.oauth?.client_id !== grant.client.id) return grant;
  return { ...grant, client: { ...configuredClient(server, { authMethods: [grant.client.method] }) } };
}

async function persistently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === MOST_ATTEMPTS) throw error;
      await Bun.sleep(100 * 2 ** attempt);
    }
  }
}
