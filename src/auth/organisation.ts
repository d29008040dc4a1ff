import { rulesIn, storedRules } from '../core/forbidden.ts';
import type { OrganisationId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { Db, Store } from '../storage/store.ts';

export interface Organisation {
  readonly id: OrganisationId;
  readonly object: 'organisation';
  readonly name: string;
  /** What calls may not bring along, in every workspace. */
  readonly forbidden: readonly string[] | null;
  readonly created_at: string;
}

export interface OrganisationChange {
  readonly name?: string;
  readonly forbidden?: readonly string[] | null;
}

async function read(db: Db, id: OrganisationId): Promise<Organisation> {
  const row = await db.selectFrom('organisations').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  return {
    id: row.id as OrganisationId,
    object: 'organisation',
    name: row.name,
    forbidden: rulesIn(row.forbidden),
    created_at: new Date(row.created_at).toISOString(),
  };
}

/** What a start calls an organisation; an administrator names it. */
const UNNAMED = 'default';

/** The name that people who sign in are shown; null: no administrator has given one. */
export async function organisationName(db: Db): Promise<string | null> {
  const row = await db.selectFrom('organisations').select('name').orderBy('created_at').executeTakeFirst();
  return row && row.name !== UNNAMED ? row.name : null;
}

export function createOrganisation({
  store,
  transaction = store.transaction,
}: {
  store: Store;
  /** For what others may hold in memory: one that tells them. */
  transaction?: Store['transaction'];
}) {
  return {
    read: (who: Principal): Promise<Organisation> => read(store.db, who.organisationId),

    update: (who: Principal, { name, forbidden }: OrganisationChange): Promise<Organisation> =>
      transaction(async (db) => {
        if (name !== undefined)
          await db.updateTable('organisations').set({ name }).where('id', '=', who.organisationId).execute();
        if (forbidden !== undefined)
          await db
            .updateTable('organisations')
            .set({ forbidden: storedRules(forbidden) })
            .where('id', '=', who.organisationId)
            .execute();
        return read(db, who.organisationId);
      }, who),
  };
}

export type OrganisationStore = ReturnType<typeof createOrganisation>;
