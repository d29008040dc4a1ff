import { fail } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import { sha256 } from '../crypto/seal.ts';
import type { ManagedSettingsRow } from '../storage/schema.ts';
import type { Store } from '../storage/store.ts';
import { findWorkspace } from '../storage/workspace-lookup.ts';

type Settings = Readonly<Record<string, unknown>>;

/** What programs are told to keep to. */
export interface ManagedSettings {
  readonly object: 'managed-settings';
  /** Null: of the organisation. */
  readonly workspace_id: string | null;
  /** Of Claude Code; null: nothing is said. */
  readonly settings: Settings | null;
  /** Of Claude Desktop. */
  readonly desktop: Settings | null;
  readonly last_updated_at: string | null;
}

export interface ManagedSettingsInput {
  readonly settings?: Settings | null;
  readonly desktop?: Settings | null;
}

/** What holds for one caller. */
export interface EffectiveSettings {
  readonly settings: Settings;
  /** Says which settings these are; the same for the same settings. */
  readonly checksum: string;
}

const parsed = (text: string | null | undefined): Settings | null => (text ? JSON.parse(text) : null);
const stored = (value: Settings | null | undefined): string | null => (value ? JSON.stringify(value) : null);

/** Settings of the organisation and of workspaces, for programs that people have signed in. */
export function createManagedSettings({ store, now }: { store: Store; now: () => number }) {
  const rowOf = (ownerId: string): Promise<ManagedSettingsRow | undefined> =>
    store.db.selectFrom('managed_settings').selectAll().where('owner_id', '=', ownerId).executeTakeFirst();
  const ownerOf = async (who: Principal, workspace: string | null) =>
    workspace === null ? null : (await findWorkspace(store.db, who, workspace)).id;
  const shown = (workspaceId: string | null, row: ManagedSettingsRow | undefined): ManagedSettings => ({
    object: 'managed-settings',
    workspace_id: workspaceId,
    settings: parsed(row?.settings),
    desktop: parsed(row?.desktop),
    last_updated_at: row ? new Date(Number(row.updated_at)).toISOString() : null,
  });

  return {
    async read(who: Principal, workspace: string | null): Promise<ManagedSettings> {
      const workspaceId = await ownerOf(who, workspace);
      return shown(workspaceId, await rowOf(workspaceId ?? who.organisationId));
    },

    /** Takes the place of what was there. */
    async write(who: Principal, workspace: string | null, input: ManagedSettingsInput): Promise<ManagedSettings> {
      const workspaceId = await ownerOf(who, workspace);
      const owner_id = workspaceId ?? who.organisationId;
      const said = { settings: stored(input.settings), desktop: stored(input.desktop), updated_at: now() };
      await store.transaction(
        (db) =>
          db
            .insertInto('managed_settings')
            .values({ owner_id, workspace_id: workspaceId, ...said })
            .onConflict((conflict) => conflict.column('owner_id').doUpdateSet(said))
            .execute(),
        who,
      );
      return shown(workspaceId, await rowOf(owner_id));
    },

    /** What the organisation says stands above what the workspace says. */
    async of(who: Principal, kind: 'settings' | 'desktop'): Promise<EffectiveSettings> {
      const own = parsed((await rowOf(who.workspaceId))?.[kind]);
      const above = parsed((await rowOf(who.organisationId))?.[kind]);
      if (!own && !above) return fail('no_managed_settings');
      const settings = merged(own ?? {}, above ?? {});
      return { settings, checksum: `sha256:${sha256(JSON.stringify(settings))}` };
    },
  };
}

export type ManagedSettingsStore = ReturnType<typeof createManagedSettings>;

const isObject = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Objects member by member, everything else as a whole. */
function merged(below: Settings, above: Settings): Settings {
  const names = [...new Set([...Object.keys(below), ...Object.keys(above)])].toSorted();
  return Object.fromEntries(
    names.map((name) => {
      const [low, high] = [below[name], above[name]];
      return [name, isObject(low) && isObject(high) ? merged(low, high) : name in above ? high : low];
    }),
  );
}
