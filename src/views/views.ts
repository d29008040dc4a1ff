import { fail } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import { lockName } from '../storage/name-lock.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { SavedViewRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { workspaceFor } from '../storage/workspace-lookup.ts';
import { shownView, type View, type ViewPage } from './view.ts';

export interface ViewInput {
  readonly name: string;
  readonly page: ViewPage;
  readonly query: Readonly<Record<string, string>>;
  readonly is_shared?: boolean;
  readonly workspace_id?: string;
}
export type ViewChange = Partial<Pick<ViewInput, 'name' | 'query' | 'is_shared'>>;

/** Of one person in a workspace, and as many that the workspace shares. */
const MOST = 200;

/** Own views are seen and changed by their user alone; shared ones belong to the workspace. */
export function createViews({ store, now }: { readonly store: Store; readonly now: () => number }) {
  const visible = (db: Db, who: Principal) => {
    const query = db
      .selectFrom('saved_views')
      .where('organisation_id', '=', who.organisationId)
      .where((where) =>
        where.or([where('user_id', 'is', null), ...(who.userId ? [where('user_id', '=', who.userId)] : [])]),
      );
    return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
  };
  const found = (row: SavedViewRow | undefined, id: string) => row ?? fail('view_not_found', id.slice(0, 80));
  /** For a change: two of them follow each other. */
  const lock = async (db: Db, who: Principal, id: string): Promise<SavedViewRow> => {
    const query = visible(db, who).selectAll().where('id', '=', id);
    return found(await (store.engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst(), id);
  };
  /** Whose a view becomes: the workspace's, or the caller's own. */
  const ownerOf = (who: Principal, isShared: boolean): string | null => {
    if (isShared) return null;
    const why = 'must be true: this caller is no user, and has no views of its own';
    return who.userId ?? fail('invalid_request', 'is_shared', why);
  };
  const checkRoom = async (db: Db, workspaceId: string, userId: string | null) => {
    await lockName(db, store, `saved views of ${userId ?? 'all'} in ${workspaceId}`);
    const { total } = await db
      .selectFrom('saved_views')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('workspace_id', '=', workspaceId)
      .where('user_id', userId === null ? 'is' : '=', userId)
      .executeTakeFirstOrThrow();
    if (Number(total) >= MOST) fail('too_many_views', userId === null ? 'that are shared' : 'of yours', MOST);
  };

  return {
    async create(who: Principal, input: ViewInput): Promise<View> {
      const row = await store.transaction(async (db) => {
        const workspaceId = await workspaceFor(db, who, input.workspace_id);
        const userId = ownerOf(who, input.is_shared ?? false);
        await checkRoom(db, workspaceId, userId);
        const made: SavedViewRow = {
          id: newId(),
          organisation_id: who.organisationId,
          workspace_id: workspaceId,
          user_id: userId,
          page: input.page,
          name: input.name,
          query: JSON.stringify(input.query),
          created_at: now(),
          updated_at: now(),
        };
        await db.insertInto('saved_views').values(made).execute();
        return made;
      }, who);
      return shownView(row);
    },

    async list(
      who: Principal,
      query: PageQuery & { readonly workspace_id?: string; readonly page?: ViewPage },
    ): Promise<Page<View>> {
      let matching = visible(store.db, who);
      if (query.workspace_id !== undefined)
        matching = matching.where('workspace_id', '=', await workspaceFor(store.db, who, query.workspace_id));
      if (query.page !== undefined) matching = matching.where('page', '=', query.page);
      const { rows, total } = await rowsOnPage(matching, query);
      return page(rows.map(shownView), total, query);
    },

    async read(who: Principal, id: string): Promise<View> {
      return shownView(found(await visible(store.db, who).selectAll().where('id', '=', id).executeTakeFirst(), id));
    },

    async update(who: Principal, id: string, { name, query, is_shared }: ViewChange): Promise<View> {
      const row = await store.transaction(async (db) => {
        const current = await lock(db, who, id);
        const wasShared = current.user_id === null;
        const userId = is_shared === undefined || is_shared === wasShared ? current.user_id : ownerOf(who, is_shared);
        if (userId !== current.user_id) await checkRoom(db, current.workspace_id, userId);
        const next: SavedViewRow = {
          ...current,
          user_id: userId,
          name: name ?? current.name,
          query: query ? JSON.stringify(query) : current.query,
          updated_at: now(),
        };
        await db.updateTable('saved_views').set(next).where('id', '=', current.id).execute();
        return next;
      }, who);
      return shownView(row);
    },

    /** Answers the id of what is gone. */
    delete(who: Principal, id: string): Promise<string> {
      return store.transaction(async (db) => {
        const { id: known } = await lock(db, who, id);
        const gone = await db.deleteFrom('saved_views').where('id', '=', known).returning('id').executeTakeFirst();
        return gone?.id ?? fail('view_not_found', id.slice(0, 80));
      }, who);
    },
  };
}

export type Views = ReturnType<typeof createViews>;
