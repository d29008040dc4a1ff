import { fail, GatewayError } from '../core/errors.ts';
import type { ApiKeyId, OrganisationId, WorkspaceId } from '../core/ids.ts';
import type { Principal, WorkCaller } from '../core/principal.ts';
import type { Scope } from '../core/scopes.ts';
import { cachedBy } from '../storage/cached-by.ts';
import type { Changes } from '../storage/changes.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Authenticator } from './authenticate.ts';
import type { MachineTokens } from './machine-tokens.ts';
import { limitsOf } from './owner-limits.ts';
import { forbidsInWorkspace, userPrincipal } from './sessions.ts';
import { workspaceOwner } from './workspaces.ts';

export interface WorkCallersDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly authenticator: Pick<Authenticator, 'principalOf'>;
  readonly machineTokens: Pick<MachineTokens, 'isConfigured'>;
  readonly organisationId: OrganisationId;
  readonly now: () => number;
}

/** Who began work that goes on without them: a batch, a run. Keys and users are in the store, machines are put there. */
export function createWorkCallers(deps: WorkCallersDeps) {
  const { store, changes, authenticator, machineTokens, organisationId, now } = deps;

  const userOrMachine = async (
    _key: string,
    { api_key_id: id, workspace_id }: WorkCaller,
  ): Promise<Principal | null> => {
    const user = await store.db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();
    if (user) return userPrincipal(store.db, user, workspace_id);
    // When an administrator removes the trust in an issuer, work that the issuer's machines began stops, too.
    return (await machineTokens.isConfigured()) ? machineOf(store.db, id, workspace_id) : null;
  };
  // Users, members and trusted issuers are changed as users, workspaces with keys.
  const cache = cachedBy(changes, ['users', 'keys'], userOrMachine, { most: 2_000, staleMs: 60_000, now });

  const machineOf = async (db: Db, id: string, workspaceId: string): Promise<Principal | null> => {
    const row = await db
      .selectFrom('machine_callers')
      .innerJoin('workspaces', 'workspaces.id', 'machine_callers.workspace_id')
      .innerJoin('organisations', 'organisations.id', 'workspaces.organisation_id')
      .where('machine_callers.id', '=', id)
      .where('workspaces.id', '=', workspaceId)
      .selectAll('workspaces')
      .select(['machine_callers.name as machine', 'machine_callers.scopes'])
      .select('organisations.forbidden as organisation_forbidden')
      .executeTakeFirst();
    if (!row) return null;
    return {
      organisationId,
      workspaceId: row.id as WorkspaceId,
      workspaceSlug: row.slug,
      keyId: id as ApiKeyId,
      keyName: row.machine,
      userId: null,
      isMachine: true,
      scopes: new Set(JSON.parse(row.scopes) as Scope[]),
      defaults: JSON.parse(row.defaults),
      limits: limitsOf(workspaceOwner(row), row, row.created_at),
      forbids: forbidsInWorkspace(row),
    };
  };

  return {
    /** As they are now. Throws 401 when they are gone, have expired, or no longer belong to the workspace. */
    async principalOf(caller: WorkCaller): Promise<Principal> {
      const name = `${caller.api_key_id} ${caller.workspace_id}`;
      const known = cache.peek(name);
      if (known) return known;
      try {
        return await authenticator.principalOf(caller.api_key_id);
      } catch (error) {
        if (!(error instanceof GatewayError) || error.code !== 'invalid_api_key') throw error;
      }
      return (await cache.get(name, caller)) ?? fail('caller_gone');
    },
  };
}

export type WorkCallers = ReturnType<typeof createWorkCallers>;

/** In the transaction that accepts the work. Of a machine nothing is in the store but what its token said. */
export async function rememberCaller(db: Db, who: Principal, now: number): Promise<void> {
  if (!who.isMachine) return;
  const said = { name: who.keyName, scopes: JSON.stringify([...who.scopes]), updated_at: now };
  await db
    .insertInto('machine_callers')
    .values({ id: who.keyId, workspace_id: who.workspaceId, ...said })
    .onConflict((conflict) => conflict.columns(['id', 'workspace_id']).doUpdateSet(said))
    .execute();
}
