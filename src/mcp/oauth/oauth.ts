import type { DeviceCodes } from '../../auth/logins/device-codes.ts';
import type { Logins } from '../../auth/logins/logins.ts';
import type { Oidc, OidcProvider } from '../../auth/oidc.ts';
import type { Sessions } from '../../auth/sessions.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Sealer } from '../../crypto/seal.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Upstream } from '../../http/upstream.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Store } from '../../storage/store.ts';
import type { McpServers } from '../server/registry.ts';
import { type AddressLimits, createAddressLimits } from './address-limits.ts';
import { createApps } from './apps.ts';
import { createAuthorize } from './authorize.ts';
import { createBrowsers } from './browsers.ts';
import { createClientDocuments } from './client-documents.ts';
import { createClients } from './clients.ts';
import { createDevice } from './device.ts';
import { createGrants } from './grants.ts';
import { openidMetadata, serverMetadata } from './metadata.ts';
import { createOwnApps } from './own-apps.ts';
import { problemPage } from './pages.ts';
import { createSignIn } from './sign-in.ts';
import { createTokenEndpoint } from './token-endpoint.ts';

export interface OauthSettings {
  readonly registration: boolean;
  readonly tokenSeconds: number;
  readonly refreshDays: number;
}

export interface OauthDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'announce' | 'catchUp' | 'transaction'>;
  readonly sealer: Sealer;
  readonly upstream: Upstream;
  readonly servers: Pick<McpServers, 'find'>;
  readonly sessions: Sessions;
  /** Programs that people let in by a code. */
  readonly logins: Logins;
  readonly deviceCodes: DeviceCodes;
  /** How people sign in beside passwords. */
  readonly oidc: Oidc;
  readonly oidcProvider: OidcProvider | null;
  readonly settings: OauthSettings;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

const MINUTE_MS = 60_000;

/** The authorization server for MCP clients (OAuth 2.1) and for programs of people, put together from its parts. */
export function createOauth(deps: OauthDeps) {
  const { store, changes, sealer, upstream, servers, sessions, oidcProvider, settings, publicUrl, now } = deps;
  const mayRegister = settings.registration;
  const grants = createGrants({ ...settings, store, changes, sealer, now });
  const browsers = createBrowsers({ sessions, sealer, publicUrl, now });
  const provider = oidcProvider && { oidc: deps.oidc, host: new URL(oidcProvider.issuer).host };
  const signIn = createSignIn({ db: store.db, sessions, provider, browsers });
  const apps = createApps({ store, changes, now });
  const clients = createClients({
    store,
    apps,
    documents: createClientDocuments({ upstream, now }),
    mayRegister,
    now,
  });
  const authorize = createAuthorize({
    db: store.db,
    clients,
    grants,
    servers,
    sessions,
    browsers,
    signIn,
    publicUrl,
    refreshDays: settings.refreshDays,
  });
  const { logins } = deps;
  const device = createDevice({
    ...{ logins, sessions, browsers, signIn, publicUrl },
    codes: deps.deviceCodes,
    refreshDays: settings.refreshDays,
  });
  const endpoint = createTokenEndpoint({ grants, logins, apps, publicUrl, now });
  const pages = createAddressLimits({ most: 120, periodMs: MINUTE_MS, now });
  const tokens = createAddressLimits({ most: 300, periodMs: MINUTE_MS, now });
  const devices = createAddressLimits({ most: 120, periodMs: 10 * MINUTE_MS, now });
  const registrations = createAddressLimits({ most: 30, periodMs: 60 * MINUTE_MS, now });

  return {
    metadata: () => serverMetadata(publicUrl(), { mayRegister }),
    openidMetadata: () => openidMetadata(publicUrl(), { mayRegister }),
    authorize: shown(pages, authorize.begin),
    consent: shown(pages, authorize.decide),
    signIn: shown(pages, signIn.submit),
    signInThroughProvider: shown(pages, signIn.throughProvider),
    beginDevice: limited(devices, device.begin),
    enterDevice: shown(pages, device.enter),
    device: shown(pages, device.show),
    decideDevice: shown(pages, device.decide),
    token: limited(tokens, endpoint.token),
    revoke: limited(tokens, endpoint.revoke),
    register: limited(registrations, clients.register),
    apps,
    ownApps: createOwnApps({ store, changes, now }),
  };
}

export type Oauth = ReturnType<typeof createOauth>;

type Handle = (call: AnonymousCall) => Promise<Response>;

const limited =
  (limits: AddressLimits, handle: Handle) =>
  async (call: AnonymousCall): Promise<Response> => {
    limits.admit(call.clientAddress);
    return handle(call);
  };

/** A person who looks at a page gets a failure as a page, too. */
const shown =
  (limits: AddressLimits, handle: Handle) =>
  async (call: AnonymousCall): Promise<Response> => {
    try {
      limits.admit(call.clientAddress);
      return await handle(call);
    } catch (error) {
      if (error instanceof GatewayError) return problemPage(error.status, error.message, error.headers);
      throw error;
    }
  };
