import { sql } from 'kysely';
import { type EndingStep, type Endings, type Owned, ofWorkspace, type Person } from '../../storage/ending.ts';
import type { Db, Store } from '../../storage/store.ts';

const TABLES = ['ingested_spans'];
/** Where clients say whose session it is. */
const USER_NAMES = ['user.id', 'user.email'];

/** What clients have sent goes with the workspace it was sent to, and with the person who sent it or whom it names. */
export const ingestEndings = (store: Pick<Store, 'engine'>): Endings => ({
  endsWithWorkspace: [
    {
      area: 'spans of clients',
      tables: TABLES,
      remove: (id, { transaction, atMost }) => transaction((db) => removeOf(db, ofWorkspace(id), atMost)),
    },
  ],
  endsWithUser: [
    { area: 'spans of clients', tables: TABLES, remove: (person, step) => removePerson(person, step, store) },
  ],
});

async function removeOf(db: Db, { column, value }: Owned, atMost: number): Promise<number> {
  const some = await db
    .selectFrom('ingested_spans')
    .select(['workspace_id', 'id'])
    .where(column, '=', value)
    .limit(atMost)
    .execute();
  return removeRows(db, some);
}

async function removeRows(db: Db, rows: readonly { workspace_id: string; id: string }[]): Promise<number> {
  for (const [workspace, own] of Map.groupBy(rows, ({ workspace_id }) => workspace_id))
    await db
      .deleteFrom('ingested_spans')
      .where('workspace_id', '=', workspace)
      .where(
        'id',
        'in',
        own.map(({ id }) => id),
      )
      .execute();
  return rows.length;
}

function removePerson(
  { id, organisationId, names }: Person,
  { transaction, atMost }: EndingStep,
  { engine }: Pick<Store, 'engine'>,
): Promise<number> {
  const inside = engine === 'postgres' ? sql`strpos` : sql`instr`;
  // As `JSON.stringify` writes it.
  const pairs = names.flatMap((name) => USER_NAMES.map((key) => `${JSON.stringify(key)}:${JSON.stringify(name)}`));
  return transaction(async (db) => {
    const own = db.selectFrom('workspaces').select('id').where('organisation_id', '=', organisationId);
    const some = await db
      .selectFrom('ingested_spans')
      .select(['workspace_id', 'id'])
      .where('workspace_id', 'in', own)
      .where((where) =>
        where.or([where('user_id', '=', id), ...pairs.map((pair) => sql<boolean>`${inside}(attributes, ${pair}) > 0`)]),
      )
      .limit(atMost)
      .execute();
    return removeRows(db, some);
  });
}
