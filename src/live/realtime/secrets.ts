import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { readKeys } from '../../auth/authenticate.ts';
import type { Callers } from '../../auth/callers.ts';
import type { SessionProof } from '../../auth/sessions.ts';
import { rememberCaller } from '../../auth/work-callers.ts';
import { fail, GatewayError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Limit } from '../../core/limits.ts';
import type { Principal, WorkCaller } from '../../core/principal.ts';
import type { Sealer } from '../../crypto/seal.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import type { SentHeaders } from '../../http/headers.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Store } from '../../storage/store.ts';

/** What a client secret stands for. Nothing of it is in the store: it is sealed into the secret. */
export interface SecretClaims {
  readonly id: string;
  readonly caller: WorkCaller;
  readonly session: JsonObject;
  /** How the provider is chosen, as its maker said it. */
  readonly headers: SentHeaders;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly isSingleUse: boolean;
}

export interface SecretsDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly limiter: Pick<Limiter, 'reserve'>;
  readonly callers: Pick<Callers, 'identify'>;
  readonly principalOf: (caller: WorkCaller) => Promise<Principal>;
  readonly now: () => number;
}

const PREFIX = 'ek_';
const CONTEXT = 'client secret';
/** It travels in a header, or in a list of subprotocols. */
const LONGEST = 7_000;
const LARGEST_CLAIMS = 256 << 10;
/** What of its maker's headers says where the conversation goes. */
const KEPT_HEADERS = ['x-gateway-virtual-key', 'x-gateway-config', 'x-gateway-metadata', 'x-gateway-session-id'];

/** Secrets for clients that cannot be trusted with a key: bound to it, to a session, and in time. */
export function createSecrets({ store, sealer, limiter, callers, principalOf, now }: SecretsDeps) {
  const open = (secret: string): SecretClaims => {
    try {
      const sealed = `v1.${secret.slice(PREFIX.length).replace('~', '.')}`;
      const packed = Buffer.from(sealer.open('realtime-secret', CONTEXT, sealed), 'base64');
      return JSON.parse(inflateRawSync(packed, { maxOutputLength: LARGEST_CLAIMS }).toString()) as SecretClaims;
    } catch {
      return fail('invalid_api_key');
    }
  };

  const read = (headers: SentHeaders): SecretClaims | null => {
    const { gatewayKey } = readKeys(headers);
    return gatewayKey?.startsWith(PREFIX) ? open(gatewayKey) : null;
  };

  return {
    /** The claims of the secret that a request was made with; null: it brings a key. Throws 401. */
    read,

    async make(
      who: Principal,
      headers: SentHeaders,
      given: { session: JsonObject; seconds: number; isSingleUse: boolean },
    ): Promise<{ value: string; expiresAt: number }> {
      const createdAt = now();
      const expiresAt = createdAt + given.seconds * 1_000;
      await rememberCaller(store.db, who, createdAt);
      const kept = KEPT_HEADERS.flatMap((name) => (headers[name] ? [[name, headers[name]] as const] : []));
      const claims: SecretClaims = {
        id: newId<string>(),
        caller: { api_key_id: who.keyId, workspace_id: who.workspaceId },
        session: given.session,
        headers: Object.fromEntries(kept),
        createdAt,
        expiresAt,
        isSingleUse: given.isSingleUse,
      };
      const packed = deflateRawSync(JSON.stringify(claims)).toString('base64');
      const sealed = sealer.seal('realtime-secret', CONTEXT, packed).slice('v1.'.length).replace('.', '~');
      const value = PREFIX + sealed;
      if (value.length > LONGEST)
        fail(
          'invalid_request',
          'session',
          `is too large for a secret; it has room for about ${LONGEST >> 1} characters`,
        );
      return { value, expiresAt };
    },

    /** Who calls: by a secret, or as everywhere. */
    async identify(headers: SentHeaders, proof: SessionProof): Promise<Principal> {
      const claims = read(headers);
      if (!claims) return callers.identify(headers, proof);
      if (claims.expiresAt <= now()) fail('expired_api_key', new Date(claims.expiresAt).toISOString());
      return principalOf(claims.caller);
    },

    /** Who made it, as they are now. */
    maker: ({ caller }: SecretClaims): Promise<Principal> => principalOf(caller),

    /** Uses up a secret that is good for one conversation. Every node knows of it. Throws 401. */
    async use({ id, isSingleUse, createdAt, expiresAt }: SecretClaims, who: Principal): Promise<void> {
      if (!isSingleUse) return;
      const once: Limit = {
        counter: `realtime-secret/${id}`,
        owner: { kind: 'api-key', id: who.keyId, name: who.keyName },
        kind: 'rate',
        counts: 'requests',
        max: 1,
        alertAt: null,
        period: { every: 'fixed', ms: expiresAt - createdAt, anchor: createdAt },
        text: 'one conversation',
      };
      const ask = { who, virtualKey: null, provider: 'gateway', model: null, estimate: () => NOTHING };
      try {
        const use = await limiter.reserve([once], ask);
        use.settle({ usage: null, cost: 0, model: null });
      } catch (error) {
        if (error instanceof GatewayError && error.code === 'rate_limited') fail('client_secret_used');
        throw error;
      }
    },
  };
}

const NOTHING = { inputTokens: 0, outputTokens: 0, cost: 0 };

export type Secrets = ReturnType<typeof createSecrets>;
