import type { OrganisationId } from '../core/ids.ts';
import type { Db } from '../storage/store.ts';

export interface Organisation {
  readonly id: OrganisationId;
  readonly object: 'organisation';
  readonly name: string;
  readonly created_at: string;
}

export async function readOrganisation(db: Db, id: OrganisationId): Promise<Organisation> {
  const row = await db.selectFrom('organisations').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  return {
    id: row.id as OrganisationId,
    object: 'organisation',
    name: row.name,
    created_at: new Date(row.created_at).toISOString(),
  };
}
