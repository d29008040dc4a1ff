import { bigint, type Migration, text } from '../migrate.ts';

export const keys: Migration = {
  name: '0001-keys',
  up: async (db, engine) => {
    const { schema } = db;
    await schema
      .createTable('organisations')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .execute();
    await schema
      .createTable('workspaces')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
      .addColumn('slug', text(engine), (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('description', 'text')
      .addColumn('defaults', 'text', (column) => column.notNull())
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .addColumn('updated_at', bigint(engine), (column) => column.notNull())
      .addUniqueConstraint('workspaces_slug', ['organisation_id', 'slug'])
      .execute();
    await schema
      .createTable('users')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
      .addColumn('email', text(engine), (column) => column.notNull())
      .addColumn('username', 'text')
      .addColumn('first_name', 'text')
      .addColumn('last_name', 'text')
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .addColumn('updated_at', bigint(engine), (column) => column.notNull())
      .addUniqueConstraint('users_email', ['organisation_id', 'email'])
      .execute();
    await schema
      .createTable('api_keys')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
      .addColumn('workspace_id', text(engine), (column) => column.notNull().references('workspaces.id'))
      .addColumn('user_id', text(engine), (column) => column.references('users.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('description', 'text')
      .addColumn('scopes', 'text', (column) => column.notNull())
      .addColumn('defaults', 'text', (column) => column.notNull())
      .addColumn('masked', 'text', (column) => column.notNull())
      .addColumn('origin', 'text', (column) => column.notNull())
      .addColumn('expires_at', bigint(engine))
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .addColumn('updated_at', bigint(engine), (column) => column.notNull())
      .execute();
    await schema.createIndex('api_keys_workspace').on('api_keys').columns(['workspace_id', 'id']).execute();
    await schema
      .createTable('api_key_secrets')
      .addColumn('hash', text(engine), (column) => column.primaryKey())
      .addColumn('api_key_id', text(engine), (column) => column.notNull().references('api_keys.id').onDelete('cascade'))
      .addColumn('valid_until', bigint(engine))
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .execute();
    await schema.createIndex('api_key_secrets_key').on('api_key_secrets').column('api_key_id').execute();
    await schema
      .createTable('virtual_keys')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
      .addColumn('workspace_id', text(engine), (column) => column.notNull().references('workspaces.id'))
      .addColumn('slug', text(engine), (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('note', 'text')
      .addColumn('provider', text(engine), (column) => column.notNull())
      .addColumn('custom_host', 'text')
      .addColumn('sealed', 'text', (column) => column.notNull())
      .addColumn('masked', 'text', (column) => column.notNull())
      .addColumn('expires_at', bigint(engine))
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .addColumn('updated_at', bigint(engine), (column) => column.notNull())
      .addUniqueConstraint('virtual_keys_slug', ['workspace_id', 'slug'])
      .execute();
    await schema
      .createTable('facts')
      .addColumn('name', text(engine), (column) => column.primaryKey())
      .addColumn('value', 'text', (column) => column.notNull())
      .execute();
  },
};
