import { fail } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { GuardrailRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { type Definition, DefinitionFault, type Guardrail, prepareGuardrail, refuseIdleDenial } from './guardrail.ts';
import { maskedFaults } from './secret-mask.ts';

export interface GuardrailSummary {
  readonly id: string;
  readonly object: 'guardrail';
  readonly slug: string;
  readonly name: string;
  readonly organisation_id: string;
  /** Null: it belongs to the organisation itself. */
  readonly workspace_id: string | null;
  readonly status: 'active';
  readonly version_id: string;
  readonly owner_id: string;
  readonly updated_by: string | null;
  readonly created_at: string;
  readonly last_updated_at: string;
}

export const shown = (row: GuardrailRow): GuardrailSummary => ({
  id: row.id,
  object: 'guardrail',
  slug: row.slug,
  name: row.name,
  organisation_id: row.organisation_id,
  workspace_id: row.workspace_id,
  status: 'active',
  version_id: row.version_id,
  owner_id: row.owner_id,
  updated_by: row.updated_by,
  created_at: new Date(row.created_at).toISOString(),
  last_updated_at: new Date(row.updated_at).toISOString(),
});

/** Those of the caller's workspace and organisation; for a caller of the organisation, those of every workspace. */
export const visible = (db: Db, who: Principal) => {
  const query = db.selectFrom('guardrails').where('organisation_id', '=', who.organisationId);
  if (reachesOrganisation(who)) return query;
  return query.where((where) =>
    where.or([where('workspace_id', '=', who.workspaceId), where('workspace_id', 'is', null)]),
  );
};

export async function find(db: Db, who: Principal, idOrSlug: string): Promise<GuardrailRow> {
  const row = await visible(db, who)
    .selectAll()
    .where(isUuid(idOrSlug) ? 'id' : 'slug', '=', isUuid(idOrSlug) ? idOrSlug.toLowerCase() : idOrSlug)
    .executeTakeFirst();
  return row ?? fail('guardrail_not_found', idOrSlug.slice(0, 80));
}

/** What holds for all workspaces is not one workspace's to change. */
export function checkReach(who: Principal, workspaceId: string | null) {
  if (workspaceId === null && !reachesOrganisation(who)) fail('insufficient_scope', 'organisation.manage');
}

function refused(faults: DefinitionFault['faults']): never {
  const [first, ...more] = faults;
  const also = more.slice(0, 9).map(({ path, why }) => `${path}: ${why}`);
  return fail('invalid_request', first!.path, also.length > 0 ? `${first!.why} (also ${also.join('; ')})` : first!.why);
}

/** Throws 400 with the path of each fault. */
export function checked(definition: Definition): Guardrail {
  const faults = maskedFaults(definition.checks);
  if (faults.length > 0) refused(faults);
  try {
    refuseIdleDenial(definition.actions, 'actions.async');
    return prepareGuardrail(definition, { id: '', versionId: null });
  } catch (error) {
    if (error instanceof DefinitionFault) refused(error.faults);
    throw error;
  }
}
