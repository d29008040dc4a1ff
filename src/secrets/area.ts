import { readFileSync } from 'node:fs';
import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import { SettingsError } from '../core/filed-secret.ts';
import type { OwnIdentity } from '../core/machine-identity.ts';
import { noSecrets, type SecretSource } from '../core/secret-reference.ts';
import { startSweeper } from '../core/sweeper.ts';
import { type ClientTls, readClientTls } from '../http/client-tls.ts';
import { createEgressPolicy } from '../http/egress.ts';
import { portOf } from '../http/host-list.ts';
import type { EgressProxy } from '../http/proxy.ts';
import { createUpstream, fetchSmall } from '../http/upstream.ts';
import { createTokenSource } from '../providers/tokens.ts';
import type { SecretStoreSettings } from './settings.ts';
import { createSecretStores } from './stores.ts';

export interface SecretsParts extends Tools {
  readonly ownIdentity: OwnIdentity;
  readonly settings: {
    readonly secretStores: SecretStoreSettings | null;
    readonly egressProxy: EgressProxy | null;
  };
}

const TIMEOUT_MS = 5_000;
const MOST_BYTES = 256 << 10;

/** Secrets that are kept elsewhere: stores of the operator's, which virtual keys refer to. */
export const secretsArea = area({
  name: 'secrets',
  open: ({ settings, health, ownIdentity, now }: SecretsParts) => {
    const { secretStores, egressProxy } = settings;
    if (!secretStores || secretStores.reveal().length === 0) return { gives: { secrets: noSecrets as SecretSource } };
    // The operator's word lets the stores be private. It holds for this code alone: no caller reaches them by it.
    const trustedHosts = addressesOf(secretStores).map((text) => {
      const url = new URL(text);
      return `${url.hostname}:${portOf(url)}`;
    });
    const upstream = createUpstream({ egress: createEgressPolicy({ trustedHosts, proxy: egressProxy }) });
    const sendWith =
      (tls: ClientTls | null, origin: string | null) =>
      (url: string, init: RequestInit): Promise<Response> =>
        fetchSmall(upstream, url, {
          ...{ timeoutMs: TIMEOUT_MS, maxBytes: MOST_BYTES, headers: init.headers },
          ...(init.method !== undefined && { method: init.method }),
          ...(init.body !== undefined && { body: init.body }),
          ...(tls && new URL(url).origin === origin && { tls }),
        });
    const tokens = createTokenSource({ send: sendWith(null, null), now });
    const stores = createSecretStores(
      secretStores,
      ({ name, url, ca_file: file }) => {
        const send = sendWith(authoritiesIn(name, file), url === undefined ? null : new URL(url).origin);
        return { send, tokens, machine: ownIdentity, now };
      },
      { health, now },
    );
    const everyMs = Math.max(500, stores.shortestRefreshMs / 3);
    return {
      gives: { secrets: stores as SecretSource },
      sweepers: [() => startSweeper({ what: 'secrets', everyMs, sweep: () => stores.refresh() })],
    };
  },
});

/** Who may vouch for a store, where that is not for the system to say. */
function authoritiesIn(store: string, file: string | undefined): ClientTls | null {
  if (file === undefined) return null;
  try {
    return readClientTls({ certificate: null, privateKey: null, authorities: readFileSync(file, 'utf8') });
  } catch (error) {
    const why = (error as { code?: string }).code ?? (error as Error).message;
    throw new SettingsError(
      `GATEWAY_SECRET_STORES names a ca_file of "${store}" that cannot be used (${file}: ${why}).`,
    );
  }
}

/** Every address that the operator has written down. */
const addressesOf = (settings: SecretStoreSettings): string[] =>
  settings.reveal().flatMap(({ url, auth }) => {
    const more = ['token_url' in auth ? auth.token_url : undefined, 'login_url' in auth ? auth.login_url : undefined];
    return [url, ...more].filter((each) => each !== undefined);
  });
