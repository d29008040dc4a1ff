import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

export async function createConfigs({ schema }: AnyDb, engine: Engine): Promise<void> {
  await schema
    .createTable('configs')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
    .addColumn('workspace_id', text(engine), (column) => column.notNull().references('workspaces.id'))
    .addColumn('slug', text(engine), (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('version_id', text(engine), (column) => column.notNull())
    .addColumn('owner_id', text(engine), (column) => column.notNull())
    .addColumn('updated_by', text(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .addUniqueConstraint('configs_slug', ['workspace_id', 'slug'])
    .execute();
  await schema
    .createTable('config_versions')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('config_id', text(engine), (column) => column.notNull().references('configs.id').onDelete('cascade'))
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('created_by', text(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('config_versions_config').on('config_versions').columns(['config_id', 'id']).execute();
}
