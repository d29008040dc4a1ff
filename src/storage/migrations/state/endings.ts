import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Workspaces that are deleted and persons who are forgotten: how far that is, and what came of it. */
export async function createEndings({ schema }: AnyDb, engine: Engine): Promise<void> {
  await schema
    .createTable('endings')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('organisation_id', text(engine), (column) => column.notNull())
    .addColumn('subject', text(engine), (column) => column.notNull())
    .addColumn('subject_id', text(engine), (column) => column.notNull())
    .addColumn('name', text(engine))
    .addColumn('status', text(engine), (column) => column.notNull())
    .addColumn('removed', 'text', (column) => column.notNull())
    .addColumn('abroad', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text')
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .addColumn('completed_at', bigint(engine))
    .execute();
  await schema
    .createIndex('endings_subject')
    .on('endings')
    .columns(['organisation_id', 'subject', 'subject_id'])
    .execute();
}
