import { fail } from '../core/errors.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { Db } from '../storage/store.ts';
import { workspaceFor } from '../storage/workspace-lookup.ts';

/** Channels and rules belong to a workspace, or to the whole organisation. */
export interface OwnerInput {
  readonly workspace_id?: string;
  readonly organisation_id?: string;
}

/** Whose a new channel or rule is; null: the organisation's. */
export async function ownerFor(db: Db, who: Principal, input: OwnerInput): Promise<string | null> {
  if (input.organisation_id === undefined) return workspaceFor(db, who, input.workspace_id);
  if (input.workspace_id !== undefined)
    fail('invalid_request', 'organisation_id', 'cannot stand beside workspace_id; give one of the two');
  if (input.organisation_id !== who.organisationId)
    fail('invalid_request', 'organisation_id', `is not the organisation of this key, ${who.organisationId}`);
  if (!reachesOrganisation(who)) fail('insufficient_scope', 'organisation.manage');
  return null;
}

/** Those the caller may see: all of the organisation, or those of its workspace. */
export const visible = <Table extends 'alert_channels' | 'alert_rules'>(db: Db, table: Table, who: Principal) => {
  const query = db.selectFrom(table as 'alert_channels').where('organisation_id', '=', who.organisationId);
  return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
};
