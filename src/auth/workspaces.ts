import type { Budgets } from '../core/budgets.ts';
import { fail } from '../core/errors.ts';
import { rulesIn, storedRules } from '../core/forbidden.ts';
import { newId, type WorkspaceId } from '../core/ids.ts';
import type { LimitOwner } from '../core/limits.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { WorkspaceRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { findWorkspace, visibleWorkspaces, withFreeSlug } from '../storage/workspace-lookup.ts';
import { type DefaultsChange, defaultsAfter } from './changed-defaults.ts';
import { type MemberKeyRule, ruleIn, storedRule } from './member-keys.ts';
import {
  budgetsOf,
  type LimitChange,
  type LimitInput,
  restartingIfAsked,
  type ShownLimits,
  storedLimits,
  withUsage,
} from './owner-limits.ts';

export const DEFAULT_WORKSPACE = 'default';

export interface Workspace extends ShownLimits {
  readonly id: WorkspaceId;
  readonly object: 'workspace';
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly defaults: Readonly<Record<string, unknown>>;
  readonly forbidden: readonly string[] | null;
  readonly member_keys: MemberKeyRule | null;
  readonly created_at: string;
  readonly last_updated_at: string;
}

export interface WorkspaceInput extends LimitInput {
  readonly name: string;
  readonly slug?: string;
  readonly description?: string | null;
  readonly defaults?: Readonly<Record<string, unknown>>;
  readonly forbidden?: readonly string[] | null;
  readonly member_keys?: MemberKeyRule | null;
}

export const workspaceOwner = ({ id, slug }: { id: string; slug: string }): LimitOwner => ({
  kind: 'workspace',
  id,
  name: slug,
});

const shownWith = (row: WorkspaceRow, limits: ShownLimits): Workspace => ({
  id: row.id as WorkspaceId,
  object: 'workspace',
  slug: row.slug,
  name: row.name,
  description: row.description,
  defaults: JSON.parse(row.defaults),
  forbidden: rulesIn(row.forbidden),
  member_keys: ruleIn(row.member_keys),
  ...limits,
  created_at: new Date(row.created_at).toISOString(),
  last_updated_at: new Date(row.updated_at).toISOString(),
});

/** What a workspace may use and do is decided above it, else its own keys could lift its limits. */
function checkLimits(who: Principal, input: LimitChange & Pick<WorkspaceInput, 'forbidden'>) {
  const { rate_limits, usage_limits, forbidden, reset_usage } = input;
  const isNamed = [rate_limits, usage_limits, forbidden].some((each) => each !== undefined) || reset_usage === true;
  if (isNamed && !reachesOrganisation(who)) fail('insufficient_scope', 'organisation.manage');
}

export function createWorkspaces({
  store,
  transaction = store.transaction,
  budgets,
  end,
}: {
  store: Store;
  /** For what others may hold in memory: one that tells them. */
  transaction?: Store['transaction'];
  budgets: Budgets;
  /** Ends a workspace with everything that is in it, in the transaction of the request. */
  end: (db: Db, workspace: WorkspaceRow) => Promise<void>;
}) {
  const shown = (rows: readonly WorkspaceRow[], now: number): Promise<Workspace[]> =>
    withUsage(rows, { ownerOf: workspaceOwner, budgets, now }, shownWith);
  const shownOne = async (row: WorkspaceRow, now: number): Promise<Workspace> => (await shown([row], now))[0]!;

  return {
    async create(who: Principal, input: WorkspaceInput, now: number): Promise<Workspace> {
      const row = (slug: string): WorkspaceRow => ({
        id: newId(),
        organisation_id: who.organisationId,
        slug,
        name: input.name,
        description: input.description ?? null,
        defaults: JSON.stringify(input.defaults ?? {}),
        ...storedLimits(input),
        forbidden: storedRules(input.forbidden),
        member_keys: storedRule(input.member_keys),
        created_at: now,
        updated_at: now,
      });
      return withFreeSlug({ asked: input.slug, name: input.name, fallback: 'workspace' }, async (slug) => {
        const made = row(slug);
        await store.transaction((db) => db.insertInto('workspaces').values(made).execute(), who);
        return shownOne(made, now);
      });
    },

    async list(who: Principal, query: PageQuery, now: number): Promise<Page<Workspace>> {
      const { rows, total } = await rowsOnPage(visibleWorkspaces(store.db, who), query);
      return page(await shown(rows, now), total, query);
    },

    async read(who: Principal, idOrSlug: string, now: number): Promise<Workspace> {
      return shownOne(await findWorkspace(store.db, who, idOrSlug), now);
    },

    async update(
      who: Principal,
      idOrSlug: string,
      input: Partial<Omit<WorkspaceInput, 'slug'>> & DefaultsChange & LimitChange,
      now: number,
    ): Promise<Workspace> {
      checkLimits(who, input);
      const row = await restartingIfAsked(input, budgets, (restart) =>
        transaction(async (db) => {
          const old = await findWorkspace(db, who, idOrSlug);
          const updated: WorkspaceRow = {
            ...old,
            name: input.name ?? old.name,
            description: input.description === undefined ? old.description : input.description,
            defaults: input.defaults ? JSON.stringify(defaultsAfter(input, old.defaults)) : old.defaults,
            ...storedLimits(input, old),
            forbidden: input.forbidden === undefined ? old.forbidden : storedRules(input.forbidden),
            member_keys: input.member_keys === undefined ? old.member_keys : storedRule(input.member_keys),
            updated_at: now,
          };
          await db.updateTable('workspaces').set(updated).where('id', '=', old.id).execute();
          await restart(db, budgetsOf(workspaceOwner(updated), updated, updated.created_at));
          return updated;
        }, who),
      );
      return shownOne(row, now);
    },

    /** Answers the id of what is gone. */
    async delete(who: Principal, idOrSlug: string): Promise<string> {
      const gone = await transaction(async (db) => {
        const row = await findWorkspace(db, who, idOrSlug);
        const { id, slug } = row;
        if (slug === DEFAULT_WORKSPACE) fail('workspace_in_use', slug, 'the default workspace always exists');
        if (id === who.workspaceId) fail('workspace_in_use', slug, 'the calling key belongs to it');
        await end(db, row);
        return id;
      }, who);
      return gone;
    },
  };
}

export type Workspaces = ReturnType<typeof createWorkspaces>;
