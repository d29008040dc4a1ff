import { fail } from '../core/errors.ts';
import { isUuid, randomSuffix, slugFrom, type WorkspaceId } from '../core/ids.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { WorkspaceRow } from './schema.ts';
import { type Db, isUniqueViolation } from './store.ts';

/** What every resource that belongs to a workspace needs. */

/** Workspaces the caller may see: all of its organisation, or its own alone. */
export const visibleWorkspaces = (db: Db, who: Principal) => {
  const query = db.selectFrom('workspaces').where('organisation_id', '=', who.organisationId);
  return reachesOrganisation(who) ? query : query.where('id', '=', who.workspaceId);
};

/** The row behind an id or a slug; a foreign one is missing. */
export async function findWorkspace(db: Db, who: Principal, idOrSlug: string): Promise<WorkspaceRow> {
  const row = await visibleWorkspaces(db, who)
    .selectAll()
    .where((where) => where.or([where('id', '=', idOrSlug), where('slug', '=', idOrSlug)]))
    .executeTakeFirst();
  return row ?? fail('workspace_not_found', idOrSlug.slice(0, 80));
}

/** The caller is known to be in its own, from a moment ago at most: a page need not ask for it with each question. */
const isOwn = (who: Principal, named: string): boolean => named === who.workspaceSlug || named === who.workspaceId;

/** The id behind an id or a slug; a foreign one is missing. */
export const workspaceIdOf = async (db: Db, who: Principal, named: string): Promise<string> =>
  isOwn(who, named) ? who.workspaceId : (await findWorkspace(db, who, named)).id;

/**
 * The workspace that records are asked of, by id or slug; null is all of them. A caller that sees the whole
 * organisation may also ask by the id of a workspace that was deleted: its records remain.
 */
export async function workspaceAsked(db: Db, who: Principal, named: string | undefined): Promise<string | null> {
  const reachesAll = reachesOrganisation(who);
  if (named === undefined) return reachesAll ? null : who.workspaceId;
  if (reachesAll && isUuid(named) && !isOwn(who, named)) return named.toLowerCase();
  return workspaceIdOf(db, who, named);
}

/** The workspace a new resource goes to: the one that was named, if the caller may act there, or the caller's own. */
export async function workspaceFor(db: Db, who: Principal, named: string | undefined): Promise<WorkspaceId> {
  if (named === undefined) return who.workspaceId;
  return (await findWorkspace(db, who, named)).id as WorkspaceId;
}

/** Tries the wished slug; one that was made from a name gets a suffix until it is free. */
export async function withFreeSlug<Result>(
  {
    asked,
    name,
    fallback,
    isTaken,
  }: {
    asked: string | undefined;
    name: string;
    fallback: string;
    /** Of a slug made from a name: whether it is taken where the table does not forbid it. */
    isTaken?: (slug: string) => Promise<boolean>;
  },
  insert: (slug: string) => Promise<Result>,
): Promise<Result> {
  const wished = asked ?? slugFrom(name, fallback);
  const first = asked === undefined && (await isTaken?.(wished)) ? 1 : 0;
  for (let attempt = first; ; attempt++) {
    try {
      return await insert(attempt === 0 ? wished : `${wished}-${randomSuffix()}`);
    } catch (error) {
      if (!isUniqueViolation(error) || attempt > 5) throw error;
      if (asked !== undefined) fail('slug_taken', asked);
    }
  }
}
