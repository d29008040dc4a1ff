import type { FetchSmall } from '../../auth/key-sets.ts';
import type { Sessions } from '../../auth/sessions.ts';
import type { Witnessed } from '../../core/principal.ts';
import type { Sealer } from '../../crypto/seal.ts';
import type { EgressPolicy } from '../../http/egress.ts';
import type { Upstream } from '../../http/upstream.ts';
import type { Store } from '../../storage/store.ts';
import type { Origins } from '../caller/origin.ts';
import { type ConnectableServers, type Connected, createConnectPages } from './connect-pages.ts';
import { createConnecting } from './connecting.ts';
import { createDiscovery } from './discovery.ts';
import { revokeGrant } from './grant.ts';
import { createOauthClients, forgetClients } from './oauth-client.ts';
import { createOwnConnections } from './own-connections.ts';
import { createRenewal } from './renewal.ts';
import { createStepUps } from './step-ups.ts';
import { createUserTokens } from './user-tokens.ts';
import { type AccountHolder, createVault } from './vault.ts';

export interface UpstreamOauthDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly egress: EgressPolicy;
  readonly upstream: Upstream;
  /** Sends through the egress policy, for small answers in a short time. */
  readonly fetch: FetchSmall;
  readonly sessions: Sessions;
  /** Whether people can sign in through an identity provider. */
  readonly hasIdentityProvider: boolean;
  /** Is told when a user has connected an account. Never throws. */
  readonly connected: (connected: Connected) => void;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

/** Users' own accounts at MCP servers: connecting them, keeping their tokens, and renewing these. */
export function createUpstreamOauth(deps: UpstreamOauthDeps) {
  const { store, publicUrl, now } = deps;
  const vault = createVault(deps);
  const clients = createOauthClients(deps);
  const renew = createRenewal({ ...deps, vault, forgetClients: (serverId) => forgetClients(store.db, serverId) });
  const discovery = createDiscovery(deps);
  const stepUps = createStepUps(deps);
  const connecting = createConnecting({ ...deps, discovery, clients, vault });

  const disconnect = async (holder: AccountHolder, who?: Witnessed): Promise<boolean> => {
    const grant = await store.transaction((db) => vault.remove(db, holder), who);
    if (grant) await revokeGrant(grant, deps.fetch);
    return grant !== null;
  };

  const ownConnections = createOwnConnections({ store, vault, disconnect, publicUrl });
  const pagesFor = (servers: ConnectableServers, origins: Pick<Origins, 'check'>) =>
    createConnectPages({ ...deps, servers, origins, vault, connecting, disconnect, stepUps, ownConnections });

  return {
    userTokens: createUserTokens({ vault, renew, discovery, stepUps, publicUrl, now }),
    /** The document that stands for this gateway as a client of authorization servers. */
    clientDocument: clients.document,
    pagesFor,
    connections: vault.list,
    disconnect,
    ownConnections,
  };
}

export type UpstreamOauth = ReturnType<typeof createUpstreamOauth>;
