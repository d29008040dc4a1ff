import { sql } from 'kysely';
import type { EndingStep, Endings, Person } from '../../storage/ending.ts';
import { ofWorkspace, removeRows } from '../../storage/ending.ts';
import type { Store } from '../../storage/store.ts';
import { USER_LABEL } from '../log-sink.ts';

const TABLES = ['feedbacks'];

/** Feedback goes with the workspace it was given in, and with the person who gave it or whom it is about. */
export const feedbackEndings = (store: Pick<Store, 'engine'>): Endings => ({
  endsWithWorkspace: [
    {
      area: 'feedback',
      tables: TABLES,
      remove: (id, { transaction, atMost }) =>
        transaction((db) => removeRows(db, store.engine, { table: 'feedbacks', owned: ofWorkspace(id), atMost })),
    },
  ],
  endsWithUser: [{ area: 'feedback', tables: TABLES, remove: (person, step) => removeFeedback(person, step, store) }],
});

/** Feedback that the person gave, and that applications gave for them. */
function removeFeedback(
  { id, organisationId, names }: Person,
  { transaction, atMost }: EndingStep,
  { engine }: Pick<Store, 'engine'>,
): Promise<number> {
  const inside = engine === 'postgres' ? sql`strpos` : sql`instr`;
  const isFor = (name: string) => {
    // As `JSON.stringify` writes it.
    const pair = `${JSON.stringify(USER_LABEL)}:${JSON.stringify(name)}`;
    return sql<boolean>`${inside}(metadata, ${pair}) > 0`;
  };
  return transaction(async (db) => {
    const own = db.selectFrom('workspaces').select('id').where('organisation_id', '=', organisationId);
    const some = db
      .selectFrom('feedbacks')
      .select('id')
      .where('workspace_id', 'in', own)
      .where((where) => where.or([where('user_id', '=', id), ...names.map(isFor)]))
      .limit(atMost);
    return (await db.deleteFrom('feedbacks').where('id', 'in', some).returning('id').execute()).length;
  });
}
