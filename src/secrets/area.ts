import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import { noSecrets, type SecretSource } from '../core/secret-reference.ts';
import { startSweeper } from '../core/sweeper.ts';
import { createEgressPolicy } from '../http/egress.ts';
import { portOf } from '../http/host-list.ts';
import type { EgressProxy } from '../http/proxy.ts';
import { createUpstream, fetchSmall } from '../http/upstream.ts';
import { createTokenSource } from '../providers/tokens.ts';
import type { SecretStoreSettings } from './settings.ts';
import { createSecretStores } from './stores.ts';

export interface SecretsParts extends Tools {
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
  open: ({ settings, health, now }: SecretsParts) => {
    const { secretStores, egressProxy } = settings;
    if (!secretStores || secretStores.reveal().length === 0) return { gives: { secrets: noSecrets as SecretSource } };
    // The operator's word lets the stores be private. It holds for this code alone: no caller reaches them by it.
    const trustedHosts = addressesOf(secretStores).map((text) => {
      const url = new URL(text);
      return `${url.hostname}:${portOf(url)}`;
    });
    const upstream = createUpstream({ egress: createEgressPolicy({ trustedHosts, proxy: egressProxy }) });
    const send = (url: string, init: RequestInit) =>
      fetchSmall(upstream, url, {
        ...{ timeoutMs: TIMEOUT_MS, maxBytes: MOST_BYTES, headers: init.headers },
        ...(init.method !== undefined && { method: init.method }),
        ...(init.body !== undefined && { body: init.body }),
      });
    const stores = createSecretStores(
      secretStores,
      { send, tokens: createTokenSource({ send, now }), now },
      { health, now },
    );
    const everyMs = Math.max(500, stores.shortestRefreshMs / 3);
    return {
      gives: { secrets: stores as SecretSource },
      sweepers: [() => startSweeper({ what: 'secrets', everyMs, sweep: () => stores.refresh() })],
    };
  },
});

/** Every address that the operator has written down. */
const addressesOf = (settings: SecretStoreSettings): string[] =>
  settings.reveal().flatMap((each) => {
    if (each.type === 'google') return [each.url, each.auth.token_url].filter((url) => url !== undefined);
    if (each.type === 'azure') return [each.url, each.auth.login_url].filter((url) => url !== undefined);
    return each.url === undefined ? [] : [each.url];
  });
