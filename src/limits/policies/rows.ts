import { fail } from '../../core/errors.ts';
import { type Principal, reachesOrganisation } from '../../core/principal.ts';
import type { PolicyRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { workspaceFor } from '../../storage/workspace-lookup.ts';
import type { Condition, PolicyKind } from './schema.ts';

/** Policies the caller may see and change: all of its organisation, or those of its workspace. */
export const visible = (db: Db, who: Principal, kind: PolicyKind) => {
  const query = db.selectFrom('policies').where('organisation_id', '=', who.organisationId).where('kind', '=', kind);
  return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
};

export async function find(db: Db, who: Principal, kind: PolicyKind, id: string): Promise<PolicyRow> {
  const row = await visible(db, who, kind).selectAll().where('id', '=', id).executeTakeFirst();
  return row ?? fail('policy_not_found', id);
}

/** The workspace that a new policy is for; null is the whole organisation. */
export async function workspaceIn(db: Db, who: Principal, input: { workspace_id?: string; organisation_id?: string }) {
  if (input.organisation_id === undefined) return workspaceFor(db, who, input.workspace_id);
  if (input.workspace_id !== undefined)
    fail('invalid_request', 'organisation_id', 'cannot stand beside workspace_id; give one of the two');
  if (input.organisation_id !== who.organisationId)
    fail('invalid_request', 'organisation_id', `is not the organisation of this key, ${who.organisationId}`);
  if (!reachesOrganisation(who)) fail('insufficient_scope', 'organisation.manage');
  return null;
}

/** A condition on something that does not exist would never hold, and its author would not notice. */
export async function checkNames(db: Db, who: Principal, conditions: readonly Condition[]) {
  for (const [index, { key, value }] of conditions.entries()) {
    if (key !== 'workspace_id' && key !== 'api_key') continue;
    const names = (typeof value === 'string' ? [value] : value).filter((name) => name !== '*');
    const known = names.length === 0 ? null : await knownAmong(db, who, key, names);
    const missing = names.find((name) => !known?.has(name));
    const what = key === 'api_key' ? 'API key with the id' : 'workspace';
    if (missing) fail('invalid_request', `conditions[${index}].value`, `there is no ${what} ${missing}`);
  }
}

async function knownAmong(db: Db, who: Principal, key: 'workspace_id' | 'api_key', names: readonly string[]) {
  if (key === 'api_key') {
    const rows = await db
      .selectFrom('api_keys')
      .select('id')
      .where('organisation_id', '=', who.organisationId)
      .where('id', 'in', names)
      .execute();
    return new Set(rows.map(({ id }) => id));
  }
  const rows = await db
    .selectFrom('workspaces')
    .select(['id', 'slug'])
    .where('organisation_id', '=', who.organisationId)
    .where((where) => where.or([where('id', 'in', names), where('slug', 'in', names)]))
    .execute();
  return new Set(rows.flatMap(({ id, slug }) => [id, slug]));
}
