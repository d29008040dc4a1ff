import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { NoteEvent } from '../core/audit-event.ts';
import type { Budgets } from '../core/budgets.ts';
import type { MachineIdentities } from '../core/machine-identity.ts';
import type { SecretSource } from '../core/secret-reference.ts';
import { fetchSmall } from '../http/upstream.ts';
import type { Store } from '../storage/store.ts';
import { createAuthenticator } from './authenticate.ts';
import { authEndings } from './endings.ts';
import { createJwtVerifier } from './jwt-verify.ts';
import { createDeviceCodes } from './logins/device-codes.ts';
import { createLogins, type LoginsDeps } from './logins/logins.ts';
import type { OidcProvider } from './oidc.ts';
import { createPeople } from './people.ts';
import { createSignInLimits } from './sign-in-limits.ts';
import type { EnvironmentCredential } from './virtual-key.ts';
import { type CheckVirtualKey, createVirtualKeys } from './virtual-keys.ts';
import { createWorkspaceCaller } from './workspace-caller.ts';

export interface AuthParts extends Tools {
  readonly limiter: Budgets;
  readonly note: NoteEvent;
  readonly checkVirtualKey: CheckVirtualKey;
  readonly secrets: SecretSource;
  readonly identities: MachineIdentities;
  readonly environmentCredentials: ReadonlyMap<string, EnvironmentCredential>;
  readonly settings: {
    readonly oidc: OidcProvider | null;
    readonly oauth: Pick<LoginsDeps, 'tokenSeconds' | 'refreshDays'>;
  };
}

/** Who may come in, and with which credentials providers are called. */
export const authArea = area({
  name: 'auth',
  endsAtOnce: () => authEndings,
  open: (parts: AuthParts) => {
    const { store, changes, sealer, egress, upstream, note, organisationId, publicUrl, now, turnNow } = parts;
    const changingKeys: Store['transaction'] = (work, who) => changes.transaction('keys', work, who);
    const fetch: Parameters<typeof createJwtVerifier>[0]['fetch'] = (url, init) => fetchSmall(upstream, url, init);
    const authenticator = createAuthenticator({ store, changes, now: turnNow });
    const virtualKeys = createVirtualKeys({
      store,
      changes,
      sealer,
      check: parts.checkVirtualKey,
      secrets: parts.secrets,
      identities: parts.identities,
      environment: parts.environmentCredentials,
      budgets: parts.limiter,
      now: turnNow,
    });
    const verifier = createJwtVerifier({ fetch, now });
    const people = createPeople({
      ...{ store, changes, sealer, authenticator, verifier, fetch, egress, note, organisationId, publicUrl, now },
      provider: parts.settings.oidc,
    });
    const deviceCodes = createDeviceCodes({ store, limits: createSignInLimits({ store, now }), now });
    const { tokenSeconds, refreshDays } = parts.settings.oauth;
    return {
      gives: {
        ...people,
        authenticator,
        virtualKeys,
        verifier,
        changingKeys,
        deviceCodes,
        logins: createLogins({ store, changes, sealer, codes: deviceCodes, tokenSeconds, refreshDays, now }),
        workspaceAsCaller: createWorkspaceCaller({ store, changes, now }),
        principalOf: people.workCallers.principalOf,
      },
    };
  },
});
