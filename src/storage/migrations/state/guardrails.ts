import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

export async function createGuardrails({ schema }: AnyDb, engine: Engine): Promise<void> {
  await schema
    .createTable('guardrails')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
    .addColumn('workspace_id', text(engine), (column) => column.references('workspaces.id').onDelete('cascade'))
    .addColumn('slug', text(engine), (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version_id', text(engine), (column) => column.notNull())
    .addColumn('owner_id', text(engine), (column) => column.notNull())
    .addColumn('updated_by', text(engine))
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .addUniqueConstraint('guardrails_slug', ['organisation_id', 'slug'])
    .execute();
  await schema.createIndex('guardrails_workspace').on('guardrails').columns(['workspace_id', 'id']).execute();
  await schema
    .createTable('guardrail_versions')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('guardrail_id', text(engine), (column) =>
      column.notNull().references('guardrails.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('created_by', text(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema
    .createIndex('guardrail_versions_guardrail')
    .on('guardrail_versions')
    .columns(['guardrail_id', 'id'])
    .execute();
  await schema
    .alterTable('organisations')
    .addColumn('defaults', 'text', (column) => column.notNull().defaultTo('{}'))
    .execute();
}
