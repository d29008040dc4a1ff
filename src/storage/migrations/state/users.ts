import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** How people sign in, the workspaces they belong to, and who is invited. */
export async function createUsers({ schema }: AnyDb, engine: Engine): Promise<void> {
  for (const column of ['password_hash', 'external_id'])
    await schema.alterTable('users').addColumn(column, text(engine)).execute();
  await schema.createIndex('users_external').on('users').columns(['organisation_id', 'external_id']).unique().execute();
  await schema.alterTable('organisations').addColumn('machine_tokens', 'text').execute();
  await schema
    .createTable('workspace_members')
    .addColumn('workspace_id', text(engine), (column) =>
      column.notNull().references('workspaces.id').onDelete('cascade'),
    )
    .addColumn('user_id', text(engine), (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('role', text(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('workspace_members_pkey', ['workspace_id', 'user_id'])
    .execute();
  await schema.createIndex('workspace_members_user').on('workspace_members').column('user_id').execute();
  await schema
    .createTable('sessions')
    .addColumn('hash', text(engine), (column) => column.primaryKey())
    .addColumn('user_id', text(engine), (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('sessions_user').on('sessions').column('user_id').execute();
  await schema.createIndex('sessions_ends').on('sessions').column('expires_at').execute();
  await schema
    .createTable('invites')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
    .addColumn('email', text(engine), (column) => column.notNull())
    .addColumn('role', text(engine), (column) => column.notNull())
    .addColumn('workspaces', 'text', (column) => column.notNull())
    .addColumn('token_hash', text(engine), (column) => column.notNull().unique())
    .addColumn('status', text(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('invites_organisation').on('invites').columns(['organisation_id', 'id']).execute();
  await schema
    .createTable('sign_in_failures')
    .addColumn('source', text(engine), (column) => column.primaryKey())
    .addColumn('failures', bigint(engine), (column) => column.notNull())
    .addColumn('ends_at', bigint(engine), (column) => column.notNull())
    .execute();
}
