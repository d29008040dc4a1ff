import type { CancelledAbroad } from '../area/abroad.ts';
import type { Principal } from '../core/principal.ts';
import type { Ending, Endings, Person } from '../storage/ending.ts';
import type { EndingRow, VirtualKeyRow } from '../storage/schema.ts';

/** Rows that went, by area. */
export type Removed = Readonly<Record<string, number>>;

/** How far an ending is, and in the end what came of it. */
export interface EndingReport {
  readonly id: string;
  readonly object: 'workspace.deletion' | 'user.erasure';
  readonly workspace_id?: string;
  readonly slug?: string;
  readonly user_id?: string;
  readonly status: EndingRow['status'];
  /** In the order in which they are seen to. */
  readonly removed: readonly { readonly area: string; readonly rows: number }[];
  readonly kept: readonly { readonly area: string; readonly why: string }[];
  readonly at_providers: readonly CancelledAbroad[];
  readonly created_at: string;
  readonly completed_at: string | null;
}

/** What is needed until everything is removed, and is sealed until then. */
export type Needed =
  | {
      readonly subject: 'workspace';
      readonly organisationId: string;
      readonly slug: string;
      /** Those with which something runs at a provider: their rows are gone, and the provider has yet to be told. */
      readonly virtualKeys: readonly VirtualKeyRow[];
    }
  | { readonly subject: 'user'; readonly names: readonly string[] };

/** Who began the work of the gateway itself, in a workspace that is gone. */
export type FormerWorkspace = Pick<Principal, 'organisationId' | 'workspaceId' | 'workspaceSlug'>;

/** What the areas stand on. */
const BELOW_AREAS = ['facts', 'versions', 'work', 'endings', 'gateway_migrations', 'gateway_log_migrations'];

export const allEndings = (areas: readonly Endings[]) => ({
  withWorkspace: areas.flatMap(({ endsWithWorkspace }) => endsWithWorkspace),
  withUser: areas.flatMap(({ endsWithUser }) => endsWithUser),
  ofInstallation: [...BELOW_AREAS, ...areas.flatMap(({ ofInstallation = [] }) => ofInstallation)],
});
export type AllEndings = ReturnType<typeof allEndings>;

export function shownEnding(row: EndingRow, all: AllEndings): EndingReport {
  const endings: readonly Pick<Ending<Person>, 'area' | 'kept'>[] =
    row.subject === 'workspace' ? all.withWorkspace : all.withUser;
  const removed = JSON.parse(row.removed) as Removed;
  return {
    id: row.id,
    ...(row.subject === 'workspace'
      ? { object: 'workspace.deletion', workspace_id: row.subject_id, slug: row.name! }
      : { object: 'user.erasure', user_id: row.subject_id }),
    status: row.status,
    removed: endings.flatMap(({ area, kept }) => (kept === undefined ? { area, rows: removed[area] ?? 0 } : [])),
    kept: endings.flatMap(({ area, kept }) => (kept === undefined ? [] : { area, why: kept })),
    at_providers: JSON.parse(row.abroad),
    created_at: new Date(Number(row.created_at)).toISOString(),
    completed_at: row.completed_at === null ? null : new Date(Number(row.completed_at)).toISOString(),
  };
}
