import type { NoteEvent } from '../core/audit-event.ts';
import type { OrganisationId } from '../core/ids.ts';
import { createPasswords } from '../crypto/password.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { EgressPolicy } from '../http/egress.ts';
import type { AnonymousCall } from '../http/route.ts';
import type { Changes } from '../storage/changes.ts';
import type { Store } from '../storage/store.ts';
import type { Authenticator } from './authenticate.ts';
import { type Callers, createCallers } from './callers.ts';
import { createFirstOwner, type FirstOwner } from './first-owner.ts';
import type { JwtVerifier } from './jwt-verify.ts';
import type { FetchSmall } from './key-sets.ts';
import { createMachineTokens, type MachineTokens } from './machine-tokens.ts';
import { createOidc, type Oidc, type OidcProvider } from './oidc.ts';
import { createSessions, type NewSession, type Sessions } from './sessions.ts';
import { createSignInLimits } from './sign-in-limits.ts';
import { createUsers, type Users } from './users.ts';
import { createInvites, type Invites } from './users-invites.ts';
import { createMembers, type Members } from './users-members.ts';
import { createWorkCallers, type WorkCallers } from './work-callers.ts';

/** Users and the ways they and their machines come in. */
export interface People {
  readonly users: Users;
  readonly members: Members;
  readonly invites: Invites;
  readonly firstOwner: FirstOwner;
  readonly sessions: Sessions;
  readonly oidc: Oidc;
  readonly machineTokens: MachineTokens;
  readonly noteSignIn: (call: AnonymousCall, signedIn: NewSession) => void;
  /** Throws when the gateway may not ask there for keys. */
  readonly checkAddress: (url: string) => Promise<void>;
}

export interface PeopleDeps {
  readonly store: Store;
  readonly changes: Changes;
  readonly sealer: Sealer;
  readonly authenticator: Authenticator;
  readonly verifier: JwtVerifier;
  readonly fetch: FetchSmall;
  readonly egress: EgressPolicy;
  readonly note: NoteEvent;
  readonly provider: OidcProvider | null;
  readonly organisationId: OrganisationId;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

/** Who calls now, and who began what goes on. */
export interface KnownCallers {
  readonly callers: Callers;
  readonly workCallers: WorkCallers;
}

export function createPeople(deps: PeopleDeps): People & KnownCallers {
  const { store, changes, sealer, authenticator, verifier, fetch, egress, note, organisationId, publicUrl, now } = deps;
  const passwords = createPasswords();
  const sessions = createSessions({
    store,
    changes,
    sealer,
    passwords,
    limits: createSignInLimits({ store, now }),
    organisationId,
    isSecure: () => publicUrl().startsWith('https:'),
    now,
  });
  const machineTokens = createMachineTokens({ store, changes, sealer, verifier, organisationId, now });
  const workCallers = createWorkCallers({ store, changes, authenticator, machineTokens, organisationId, now });
  return {
    callers: createCallers({ authenticator, sessions, machineTokens }),
    workCallers,
    users: createUsers({ store, changes, passwords, now }),
    members: createMembers({ store, changes, now }),
    firstOwner: createFirstOwner({ store, passwords, sessions, organisationId, now }),
    invites: createInvites({ store, passwords, publicUrl, now }),
    sessions,
    oidc: createOidc({ provider: deps.provider, store, sealer, fetch, sessions, organisationId, publicUrl, now }),
    machineTokens,
    noteSignIn: ({ requestId, path }, { user }) =>
      note({
        id: requestId,
        at: now(),
        caller: { organisationId, workspaceId: '', type: 'user', id: user.id },
        resource: 'sessions',
        action: 'create',
        uri: path,
        status: 302,
        body: { email: user.email },
      }),
    checkAddress: async (url) => void (await egress.admit(url)),
  };
}
