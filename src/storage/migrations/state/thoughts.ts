import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** What providers signed before they called a tool, for clients that do not send it back. It goes with its workspace. */
export async function createThoughts({ schema }: AnyDb, engine: Engine): Promise<void> {
  await schema
    .createTable('kept_thoughts')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    // No reference: there may be too many for the transaction in which the workspace goes.
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('bytes', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('kept_thoughts_expires').on('kept_thoughts').columns(['expires_at']).execute();
  await schema
    .createIndex('kept_thoughts_workspace')
    .on('kept_thoughts')
    .columns(['workspace_id', 'expires_at'])
    .execute();
}
