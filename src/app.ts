import { createAnswer } from './answer.ts';
import { type ApiKeys, createApiKeys } from './auth/api-keys.ts';
import { createAuthenticator } from './auth/authenticate.ts';
import { createVirtualKeys, type EnvironmentCredential, type VirtualKeys } from './auth/virtual-keys.ts';
import { createWorkspaces, type Workspaces } from './auth/workspaces.ts';
import type { OrganisationId } from './core/ids.ts';
import { Secret } from './core/secret.ts';
import type { Sealer } from './crypto/seal.ts';
import type { EgressPolicy } from './http/egress.ts';
import { describeRoutes } from './http/openapi.ts';
import type { Route } from './http/route.ts';
import { createRouter } from './http/router.ts';
import { fetchSmall, type Upstream } from './http/upstream.ts';
import { providers } from './providers/registry.ts';
import { createTokenSource } from './providers/tokens.ts';
import { checkVirtualKey } from './relay/check-virtual-key.ts';
import { type ModelCall, relay } from './relay/relay.ts';
import { allRoutes } from './routes.ts';
import type { Settings } from './settings.ts';
import type { Store } from './storage/store.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { RequestLog } from './telemetry/request-log.ts';
import { version } from './version.ts';

/** What the app is built from. Tests give their own. */
export interface AppDeps {
  readonly settings: Settings;
  readonly store: Store;
  readonly sealer: Sealer;
  readonly egress: EgressPolicy;
  readonly upstream: Upstream;
  readonly simulate: (request: Request) => Promise<Response>;
  readonly log: RequestLog;
  readonly metrics: Metrics;
  /** The organisation of this installation. */
  readonly organisationId: OrganisationId;
  readonly now?: () => number;
  readonly report?: (requestId: string, error: unknown) => void;
}

/** What the routes are built from. */
export interface Parts {
  readonly store: Store;
  readonly log: RequestLog;
  readonly metrics: Metrics;
  readonly workspaces: Workspaces;
  readonly apiKeys: ApiKeys;
  readonly virtualKeys: VirtualKeys;
  readonly relay: (call: ModelCall) => Promise<Response>;
  readonly version: string;
  readonly openapi: () => unknown;
}

export interface App {
  readonly routes: readonly Route[];
  /** Answers one request; never throws. */
  answer(request: Request, clientAddress: string): Promise<Response>;
}

/** Puts the parts together. Does no input or output of its own. */
export function createApp(deps: AppDeps): App {
  const {
    settings,
    store,
    sealer,
    egress,
    upstream,
    simulate,
    log,
    metrics,
    organisationId,
    now = Date.now,
    report = reportToStderr,
  } = deps;

  const authenticator = createAuthenticator({ store, now });
  const virtualKeys = createVirtualKeys({
    store,
    sealer,
    check: checkVirtualKey(egress),
    environment: environmentCredentials(settings.environment),
    now,
  });
  const changed = () => {
    authenticator.forget();
    virtualKeys.forget();
  };
  const tokens = createTokenSource({ send: (url, init) => fetchSmall(upstream, url, init), now });

  const { timeouts, maxBodyBytes } = settings;
  const relayDeps = { upstream, simulate, virtualKeys, tokens, timeouts, maxBodyBytes, now };

  const routes: Route[] = [];
  const description = () => describeRoutes(routes, { version, publicUrl: settings.publicUrl });
  let described: unknown;
  routes.push(
    ...allRoutes({
      store,
      log,
      metrics,
      workspaces: createWorkspaces({ store, changed }),
      apiKeys: createApiKeys({ store, changed }),
      virtualKeys,
      relay: (call) => relay(call, relayDeps),
      version,
      openapi: () => {
        described ??= description();
        return described;
      },
    }),
  );
  const match = createRouter(routes);
  return { routes, answer: createAnswer({ match, authenticator, log, organisationId, now, report }) };
}

/** A virtual key for every provider whose variable is set. */
function environmentCredentials(environment: Settings['environment']): Map<string, EnvironmentCredential> {
  const found = new Map<string, EnvironmentCredential>();
  for (const { name, environment: variable } of providers) {
    const value = variable && environment[variable]?.trim();
    if (value) found.set(name, { provider: name, variable, credential: new Secret(value) });
  }
  return found;
}

function reportToStderr(requestId: string, error: unknown) {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`request ${requestId} failed inside the gateway: ${text}\n`);
}
