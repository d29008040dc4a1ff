import { bigint, type Migration, text } from '../migrate.ts';

/** Programs that people sign in with a code, and settings that such programs are given. */
export const logins: Migration = {
  name: '0006-logins',
  up: async ({ schema }, engine) => {
    await schema
      .createTable('login_grants')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('api_key_id', text(engine), (column) =>
        column.notNull().unique().references('api_keys.id').onDelete('cascade'),
      )
      .addColumn('salt', 'text', (column) => column.notNull())
      .addColumn('generation', 'integer', (column) => column.notNull())
      .addColumn('rotated_at', bigint(engine), (column) => column.notNull())
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .addColumn('expires_at', bigint(engine), (column) => column.notNull())
      .execute();
    await schema.createIndex('login_grants_end').on('login_grants').column('expires_at').execute();
    await schema
      .createTable('device_codes')
      .addColumn('hash', text(engine), (column) => column.primaryKey())
      .addColumn('user_code', text(engine), (column) => column.notNull().unique())
      .addColumn('client_id', 'text')
      .addColumn('state', text(engine), (column) => column.notNull())
      .addColumn('grant_id', text(engine), (column) =>
        column.unique().references('login_grants.id').onDelete('cascade'),
      )
      .addColumn('looks', 'integer', (column) => column.notNull())
      .addColumn('pause_ms', 'integer', (column) => column.notNull())
      .addColumn('polled_at', bigint(engine))
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .addColumn('expires_at', bigint(engine), (column) => column.notNull())
      .execute();
    await schema.createIndex('device_codes_end').on('device_codes').column('expires_at').execute();
    await schema
      .createTable('managed_settings')
      .addColumn('owner_id', text(engine), (column) => column.primaryKey())
      .addColumn('workspace_id', text(engine), (column) => column.references('workspaces.id').onDelete('cascade'))
      .addColumn('settings', 'text')
      .addColumn('desktop', 'text')
      .addColumn('updated_at', bigint(engine), (column) => column.notNull())
      .execute();
  },
};
