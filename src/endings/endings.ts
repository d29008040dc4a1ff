import { fail } from '../core/errors.ts';
import { newId, type WorkspaceId } from '../core/ids.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import { type Changes, TOPICS } from '../storage/changes.ts';
import type { Endings, Person } from '../storage/ending.ts';
import { ofWorkspace } from '../storage/ending.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { EndingRow, VirtualKeyRow, WorkspaceRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import { allEndings, type EndingReport, type Needed, type Removed, shownEnding } from './ending.ts';
import { ENDING, type EndingKindDeps, endingKind } from './kind.ts';

export interface EndingsDeps extends Omit<EndingKindDeps, 'all'> {
  /** What each area says, those first on whose rows others hang least. */
  readonly areas: readonly Endings[];
  readonly changes: Pick<Changes, 'announce'>;
  readonly workers: () => Workers;
  /** Who is meant. Throws when there is no such user, or when they may not be forgotten. */
  readonly findPerson: (db: Db, who: Principal, input: ErasureInput) => Promise<Person>;
  /** One that tells those who hold keys in memory. */
  readonly transaction: Store['transaction'];
}

export interface ErasureInput {
  /** The id or the email address of a user. */
  readonly user: string;
  /** The user was deleted before, and only what they left is to go. */
  readonly is_deleted?: boolean;
}

/** What nodes hold in memory of workspaces and their people. The transaction of the change tells of keys itself. */
const TOLD = TOPICS.filter((topic) => topic !== 'keys' && topic !== 'prices');

/**
 * The ends of workspaces and persons. What must stop working does so in the transaction of the request; the rest is
 * leased work, which any node goes on with.
 */
export function createEndings(deps: EndingsDeps) {
  const { store, sealer, areas, abroad, changes, workers, now } = deps;
  const all = allEndings(areas);

  const insert = async (
    db: Db,
    row: Pick<EndingRow, 'organisation_id' | 'subject' | 'subject_id' | 'name'>,
    removed: Removed,
    needed: Needed,
  ): Promise<EndingRow> => {
    const id = newId<string>();
    const made: EndingRow = {
      id,
      ...row,
      status: 'running',
      removed: JSON.stringify(removed),
      abroad: '[]',
      sealed: sealer.seal('ending', id, JSON.stringify(needed)),
      created_at: now(),
      updated_at: now(),
      completed_at: null,
    };
    await db.insertInto('endings').values(made).execute();
    await workers().enqueue(db, { kind: ENDING, tenant: row.organisation_id, ref: id });
    return made;
  };

  /** Needed to tell providers, after the workspace is gone. */
  const keysAbroad = async (db: Db, id: WorkspaceId): Promise<VirtualKeyRow[]> => {
    const running = await Promise.all(abroad.map((work) => work.running(db, ofWorkspace(id))));
    const slugs = new Set(running.flat().map(({ virtualKey }) => virtualKey));
    if (slugs.size === 0) return [];
    const keys = db.selectFrom('virtual_keys').selectAll().where('workspace_id', '=', id);
    return keys.where('slug', 'in', [...slugs]).execute();
  };

  const find = async (who: Principal, subject: EndingRow['subject'], name: string): Promise<EndingRow | undefined> =>
    reachesOrganisation(who)
      ? store.db
          .selectFrom('endings')
          .selectAll()
          .where('organisation_id', '=', who.organisationId)
          .where('subject', '=', subject)
          .where((where) =>
            where.or([where('id', '=', name), where('subject_id', '=', name), where('name', '=', name)]),
          )
          // A slug may have been used again, and deleted again.
          .orderBy('created_at', 'desc')
          .executeTakeFirst()
      : undefined;

  return {
    all,
    kind: endingKind({ ...deps, all }),

    /** In the transaction of the request that deletes it, which has locked nothing of it yet. */
    async endWorkspace(db: Db, workspace: WorkspaceRow): Promise<void> {
      const id = workspace.id as WorkspaceId;
      await workers().discardTenant(db, id);
      // What is being made in it at this moment is there before anything is removed, or is not made.
      if (store.engine === 'postgres')
        await db.selectFrom('workspaces').select('id').where('id', '=', id).forUpdate().execute();
      const virtualKeys = await keysAbroad(db, id);
      const removed: Record<string, number> = {};
      for (const { area, atOnce } of all.withWorkspace) if (atOnce) removed[area] = await atOnce(db, id);
      const { organisation_id, slug } = workspace;
      const needed: Needed = { subject: 'workspace', organisationId: organisation_id, slug, virtualKeys };
      await insert(db, { organisation_id, subject: 'workspace', subject_id: id, name: slug }, removed, needed);
      for (const topic of TOLD) await changes.announce(db, topic);
    },

    /** Forgets a person: the account stops working now, and what the person left is removed bit by bit. */
    erase: (who: Principal, input: ErasureInput): Promise<EndingReport> =>
      deps.transaction(async (db) => {
        const person = await deps.findPerson(db, who, input);
        const removed: Record<string, number> = {};
        for (const { area, atOnce } of all.withUser) if (atOnce) removed[area] = await atOnce(db, person);
        const subject = { organisation_id: person.organisationId, subject: 'user', subject_id: person.id } as const;
        const needed: Needed = { subject: 'user', names: person.names };
        const row = await insert(db, { ...subject, name: null }, removed, needed);
        for (const topic of TOLD) await changes.announce(db, topic);
        return shownEnding(row, all);
      }, who),

    /** How far the deletion of a workspace is, by its id or former slug. */
    async ofWorkspace(who: Principal, name: string): Promise<EndingReport> {
      const row = await find(who, 'workspace', name);
      return shownEnding(row ?? fail('deletion_not_found', name.slice(0, 80)), all);
    },

    /** How far an erasure is, by its own id or that of the user. */
    async ofUser(who: Principal, name: string): Promise<EndingReport> {
      const row = await find(who, 'user', name);
      return shownEnding(row ?? fail('erasure_not_found', name.slice(0, 80)), all);
    },

    async listErasures(who: Principal, query: PageQuery): Promise<Page<EndingReport>> {
      const own = store.db
        .selectFrom('endings')
        .where('organisation_id', '=', who.organisationId)
        .where('subject', '=', 'user');
      const { rows, total } = await rowsOnPage(own, query);
      return page(
        rows.map((row) => shownEnding(row, all)),
        total,
        query,
      );
    },
  };
}

export type EndingsOf = ReturnType<typeof createEndings>;
