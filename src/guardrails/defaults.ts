import { fail } from '../core/errors.ts';
import { type GuardrailDefaults, type GuardrailUse, guardrailsOf } from '../core/guardrails.ts';
import type { WorkspaceId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import { cachedBy } from '../storage/cached-by.ts';
import type { Changes } from '../storage/changes.ts';
import type { GuardrailRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { workspaceFor } from '../storage/workspace-lookup.ts';
import type { Hook } from './check.ts';
import type { Guardrail } from './guardrail.ts';
import type { Reach } from './guardrails.ts';

const SIDES = ['input', 'output'] as const;
const NO_WORKSPACE = '' as WorkspaceId;
const NONE: GuardrailUse = { input: [], output: [] };

export interface DefaultsDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe' | 'transaction'>;
  readonly resolve: (reach: Reach, reference: string) => NowOrLater<Guardrail>;
  readonly now: () => number;
}

/** The guardrails that hold without being asked for: those of the organisation and of each workspace. */
export function createGuardrailDefaults({ store, changes, resolve, now }: DefaultsDeps) {
  const load = async (workspaceId: string, { organisationId }: Reach): Promise<GuardrailUse> => {
    const row = await store.db
      .selectFrom('organisations')
      .leftJoin('workspaces', (join) =>
        join.onRef('workspaces.organisation_id', '=', 'organisations.id').on('workspaces.id', '=', workspaceId),
      )
      .select(['organisations.defaults', 'workspaces.defaults as workspace_defaults'])
      .where('organisations.id', '=', organisationId)
      .executeTakeFirst();
    return guardrailsOf([defaultsIn(row?.defaults), defaultsIn(row?.workspace_defaults)]) ?? NONE;
  };
  // Those of the organisation are changed with guardrails, those of workspaces with keys.
  const cache = cachedBy(changes, ['guardrails', 'keys'], load, { most: 10_000, now });

  const readOrganisation = async (db: Db, who: Principal) => {
    const row = await db
      .selectFrom('organisations')
      .select('defaults')
      .where('id', '=', who.organisationId)
      .executeTakeFirstOrThrow();
    return shown(defaultsIn(row.defaults));
  };

  const check = async (reach: Reach, defaults: GuardrailDefaults) => {
    for (const side of SIDES) {
      for (const reference of defaults[`${side}_guardrails`] ?? []) {
        const guardrail = await resolve(reach, reference);
        if (!guardrail.on.has(side)) fail('guardrail_misplaced', reference, side);
      }
    }
  };
  /** Where no workspace is, there are those of the organisation alone. */
  const nowhere = (who: Principal): Reach => ({ organisationId: who.organisationId, workspaceId: NO_WORKSPACE });

  return {
    /** At once when it is known, which is nearly always. */
    of(reach: Reach): NowOrLater<GuardrailUse> {
      return cache.peek(reach.workspaceId) ?? cache.get(reach.workspaceId, reach).then((use) => use ?? NONE);
    },

    /**
     * Throws 400 unless every guardrail is there for that workspace and looks where it is named. Null: a workspace that
     * is not there yet; undefined: the caller's own.
     */
    async checkIn(
      who: Principal,
      workspace: string | null | undefined,
      defaults: GuardrailDefaults | undefined,
    ): Promise<void> {
      if (!defaults?.input_guardrails && !defaults?.output_guardrails) return;
      const reach =
        workspace === null ? nowhere(who) : { ...who, workspaceId: await workspaceFor(store.db, who, workspace) };
      await check(reach, defaults);
    },

    readOrganisation: (who: Principal) => readOrganisation(store.db, who),

    /** A list that is given replaces the old one. */
    async updateOrganisation(who: Principal, given: GuardrailDefaults): Promise<Required<GuardrailDefaults>> {
      await check(nowhere(who), given);
      return changes.transaction(
        'guardrails',
        async (db) => {
          const next = { ...(await readOrganisation(db, who)), ...given };
          await db
            .updateTable('organisations')
            .set({ defaults: JSON.stringify(next) })
            .where('id', '=', who.organisationId)
            .execute();
          return next;
        },
        who,
      );
    },
  };
}

export type GuardrailDefaultsStore = ReturnType<typeof createGuardrailDefaults>;

const defaultsIn = (text: string | null | undefined): GuardrailDefaults => (text ? JSON.parse(text) : {});

const shown = ({ input_guardrails = [], output_guardrails = [] }: GuardrailDefaults) => ({
  input_guardrails,
  output_guardrails,
});

/** Who names a guardrail in its defaults, and on which side. */
export interface GuardrailNamed {
  readonly kind: 'organisation' | 'workspace' | 'api_key';
  readonly id: string;
  readonly name: string;
  readonly on: Hook[];
}

const HOLDERS = [
  ['organisations', 'organisation', 'id'],
  ['workspaces', 'workspace', 'organisation_id'],
  ['api_keys', 'api_key', 'organisation_id'],
] as const;

/** The organisation, and the workspaces and keys that name a guardrail in their defaults: all, or those of one workspace. */
export async function namedBy(db: Db, row: GuardrailRow, workspaceId: string | null): Promise<GuardrailNamed[]> {
  const isMeant = (name: string) => name === row.slug || name === row.id;
  const found: GuardrailNamed[] = [];
  for (const [table, kind, column] of HOLDERS) {
    const all = db
      .selectFrom(table)
      .select(['id', 'name', 'defaults'])
      .where(column as 'id', '=', row.organisation_id)
      .where('defaults', 'like', '%_guardrails%');
    const rows = await (workspaceId === null || kind === 'organisation'
      ? all
      : all.where((kind === 'workspace' ? 'id' : 'workspace_id') as 'id', '=', workspaceId)
    ).execute();
    for (const { id, name, defaults } of rows) {
      const given = shown(defaultsIn(defaults));
      const on = SIDES.filter((side) => given[`${side}_guardrails`].some(isMeant));
      if (on.length > 0) found.push({ kind, id, name, on });
    }
  }
  return found;
}

const SAID = {
  organisation: () => 'the organisation',
  workspace: (name: string) => `workspace ${name}`,
  api_key: (name: string) => `API key ${name}`,
};

/** The organisation, workspace or key that names a guardrail in its defaults; null: none. */
export async function whoNames(db: Db, row: GuardrailRow): Promise<string | null> {
  const [first] = await namedBy(db, row, null);
  return first ? SAID[first.kind](first.name) : null;
}
