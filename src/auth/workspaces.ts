import { fail } from '../core/errors.ts';
import { newId, randomSuffix, slugFrom, type WorkspaceId } from '../core/ids.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { WorkspaceRow } from '../storage/schema.ts';
import { type Db, isUniqueViolation, type Store } from '../storage/store.ts';

export const DEFAULT_WORKSPACE = 'default';

export interface Workspace {
  readonly id: WorkspaceId;
  readonly object: 'workspace';
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly defaults: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly last_updated_at: string;
}

export interface WorkspaceInput {
  readonly name: string;
  readonly slug?: string;
  readonly description?: string | null;
  readonly defaults?: Readonly<Record<string, unknown>>;
}

const shown = (row: WorkspaceRow): Workspace => ({
  id: row.id as WorkspaceId,
  object: 'workspace',
  slug: row.slug,
  name: row.name,
  description: row.description,
  defaults: JSON.parse(row.defaults),
  created_at: new Date(row.created_at).toISOString(),
  last_updated_at: new Date(row.updated_at).toISOString(),
});

/** Workspaces the caller may see: all of its organisation, or its own alone. */
const visible = (db: Db, who: Principal) => {
  const query = db.selectFrom('workspaces').where('organisation_id', '=', who.organisationId);
  return reachesOrganisation(who) ? query : query.where('id', '=', who.workspaceId);
};

/** The row behind an id or a slug; a foreign one is missing. */
async function find(db: Db, who: Principal, idOrSlug: string): Promise<WorkspaceRow> {
  const row = await visible(db, who)
    .selectAll()
    .where((where) => where.or([where('id', '=', idOrSlug), where('slug', '=', idOrSlug)]))
    .executeTakeFirst();
  return row ?? fail('workspace_not_found', idOrSlug);
}

/** The workspace a new resource goes to: the one that was named, if the caller may act there, or the caller's own. */
export async function workspaceFor(db: Db, who: Principal, named: string | undefined): Promise<WorkspaceId> {
  if (named === undefined) return who.workspaceId;
  return (await find(db, who, named)).id as WorkspaceId;
}

/** Tries the wished slug; one that was made from a name gets a suffix until it is free. */
export async function withFreeSlug<Result>(
  { asked, name, fallback }: { asked: string | undefined; name: string; fallback: string },
  insert: (slug: string) => Promise<Result>,
): Promise<Result> {
  const wished = asked ?? slugFrom(name, fallback);
  for (let attempt = 0; ; attempt++) {
    try {
      return await insert(attempt === 0 ? wished : `${wished}-${randomSuffix()}`);
    } catch (error) {
      if (!isUniqueViolation(error) || attempt > 5) throw error;
      if (asked !== undefined) fail('slug_taken', asked);
    }
  }
}

export const createWorkspaces = ({ store, changed }: { store: Store; changed: () => void }) => ({
  async create(who: Principal, input: WorkspaceInput, now: number): Promise<Workspace> {
    const row = (slug: string): WorkspaceRow => ({
      id: newId(),
      organisation_id: who.organisationId,
      slug,
      name: input.name,
      description: input.description ?? null,
      defaults: JSON.stringify(input.defaults ?? {}),
      created_at: now,
      updated_at: now,
    });
    return withFreeSlug({ asked: input.slug, name: input.name, fallback: 'workspace' }, async (slug) => {
      const made = row(slug);
      await store.db.insertInto('workspaces').values(made).execute();
      return shown(made);
    });
  },

  async list(who: Principal, query: PageQuery): Promise<Page<Workspace>> {
    const { total } = await visible(store.db, who)
      .select((select) => select.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow();
    const rows = await visible(store.db, who)
      .selectAll()
      .orderBy('id')
      .limit(query.page_size)
      .offset(query.current_page * query.page_size)
      .execute();
    return page(rows.map(shown), Number(total), query);
  },

  async read(who: Principal, idOrSlug: string): Promise<Workspace> {
    return shown(await find(store.db, who, idOrSlug));
  },

  async update(
    who: Principal,
    idOrSlug: string,
    input: Partial<Omit<WorkspaceInput, 'slug'>>,
    now: number,
  ): Promise<Workspace> {
    const row = await store.transaction(async (db) => {
      const old = await find(db, who, idOrSlug);
      const updated: WorkspaceRow = {
        ...old,
        name: input.name ?? old.name,
        description: input.description === undefined ? old.description : input.description,
        defaults: input.defaults ? JSON.stringify(input.defaults) : old.defaults,
        updated_at: now,
      };
      await db.updateTable('workspaces').set(updated).where('id', '=', old.id).execute();
      return updated;
    });
    changed();
    return shown(row);
  },

  /** Answers the id of what is gone. */
  async delete(who: Principal, idOrSlug: string): Promise<string> {
    const gone = await store.transaction(async (db) => {
      const { id, slug } = await find(db, who, idOrSlug);
      if (slug === DEFAULT_WORKSPACE) fail('workspace_in_use', slug, 'the default workspace always exists');
      if (id === who.workspaceId) fail('workspace_in_use', slug, 'the calling key belongs to it');
      await db.deleteFrom('virtual_keys').where('workspace_id', '=', id).execute();
      await db.deleteFrom('api_keys').where('workspace_id', '=', id).execute();
      await db.deleteFrom('workspaces').where('id', '=', id).execute();
      return id;
    });
    changed();
    return gone;
  },
});

export type Workspaces = ReturnType<typeof createWorkspaces>;
