import { sql } from 'kysely';
import type { EndingStep, Endings, Person } from '../storage/ending.ts';
import { ofWorkspace, removeRows } from '../storage/ending.ts';
import type { Store } from '../storage/store.ts';
import { USER_LABEL } from './log-sink.ts';
import type { RequestLog } from './request-log.ts';

export interface TelemetryEndingDeps {
  readonly store: Pick<Store, 'engine'>;
  readonly log: Pick<RequestLog, 'erase'>;
}

const LOG_TABLES = ['request_logs', 'request_log_bodies', 'request_log_labels'];

/** Feedback, and entries of the request log with their bodies. */
export function telemetryEndings({ store, log }: TelemetryEndingDeps): Endings {
  return {
    endsWithWorkspace: [
      {
        area: 'feedback',
        tables: ['feedbacks'],
        remove: (id, { transaction, atMost }) =>
          transaction((db) => removeRows(db, store.engine, { table: 'feedbacks', owned: ofWorkspace(id), atMost })),
      },
      {
        area: 'request log',
        tables: LOG_TABLES,
        remove: async (id, step) => step.removedElsewhere(await log.erase({ workspaceId: id }, step.atMost)),
      },
    ],
    endsWithUser: [
      { area: 'feedback', tables: ['feedbacks'], remove: (person, step) => removeFeedback(person, step, store) },
      {
        area: 'request log',
        tables: LOG_TABLES,
        remove: async ({ id, organisationId, names }, step) =>
          step.removedElsewhere(await log.erase({ organisationId, userId: id, names }, step.atMost)),
      },
    ],
  };
}

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
