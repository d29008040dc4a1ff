import { sql } from 'kysely';
import { bigint, type Migration, text } from '../migrate.ts';

/** Responses that are made while no client waits. What is here goes with the row of its response. */
export const backgroundResponses: Migration = {
  name: '0013-background-responses',
  up: async (db, engine) => {
    const { schema } = db;
    await schema
      .createTable('response_work')
      .addColumn('response_id', text(engine), (column) =>
        column.primaryKey().references('responses.id').onDelete('cascade'),
      )
      .addColumn('workspace_id', text(engine), (column) => column.notNull())
      .addColumn('api_key_id', text(engine), (column) => column.notNull())
      .addColumn('request', 'text', (column) => column.notNull())
      .addColumn('proofs', 'text')
      .addColumn('state', 'text')
      .addColumn('state_sequence', 'integer', (column) => column.notNull())
      .addColumn('keeps_events', 'integer', (column) => column.notNull())
      .addColumn('ended_at', bigint(engine))
      .execute();
    await sql`create index response_work_ended on response_work (ended_at) where ended_at is not null`.execute(db);
    await schema
      .createTable('response_events')
      .addColumn('response_id', text(engine), (column) =>
        column.notNull().references('responses.id').onDelete('cascade'),
      )
      .addColumn('sequence', 'integer', (column) => column.notNull())
      .addColumn('events', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('response_events_pkey', ['response_id', 'sequence'])
      .execute();
  },
};
