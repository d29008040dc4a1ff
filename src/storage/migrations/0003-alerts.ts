import { type AnyDb, bigint, type Engine, type Migration, real, text } from '../migrate.ts';

/** Alerts: rules, whom they tell, what holds now, what was told, and what each node sees. */
export const alerts: Migration = {
  name: '0003-alerts',
  up: async (db, engine) => {
    await createChannels(db, engine);
    await createRules(db, engine);
    await createEvents(db, engine);
    await createSightings(db, engine);
  },
};

const owned = ({ schema }: AnyDb, table: string, engine: Engine) =>
  schema
    .createTable(table)
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
    .addColumn('workspace_id', text(engine), (column) => column.references('workspaces.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull());

async function createChannels(db: AnyDb, engine: Engine) {
  await owned(db, 'alert_channels', engine)
    .addColumn('kind', text(engine), (column) => column.notNull())
    .addColumn('is_enabled', 'integer', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('last_delivery', 'text')
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('alert_channels_workspace')
    .on('alert_channels')
    .columns(['organisation_id', 'workspace_id', 'id'])
    .execute();
}

async function createRules(db: AnyDb, engine: Engine) {
  await owned(db, 'alert_rules', engine)
    .addColumn('condition', 'text', (column) => column.notNull())
    .addColumn('channels', 'text', (column) => column.notNull())
    .addColumn('repeat_after', 'integer')
    .addColumn('is_enabled', 'integer', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('alert_rules_workspace')
    .on('alert_rules')
    .columns(['organisation_id', 'workspace_id', 'id'])
    .execute();
  await db.schema
    .createTable('alert_looks')
    .addColumn('rule_id', text(engine), (column) =>
      column.primaryKey().references('alert_rules.id').onDelete('cascade'),
    )
    .addColumn('problem', 'text')
    .addColumn('checked_at', bigint(engine), (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('alert_states')
    .addColumn('rule_id', text(engine), (column) => column.notNull().references('alert_rules.id').onDelete('cascade'))
    .addColumn('subject', text(engine), (column) => column.notNull())
    .addColumn('level', 'integer', (column) => column.notNull())
    .addColumn('since', bigint(engine), (column) => column.notNull())
    .addColumn('told_at', bigint(engine), (column) => column.notNull())
    .addColumn('found', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('alert_states_key', ['rule_id', 'subject'])
    .execute();
}

/** They go step by step with their workspace, so they do not hang on the rows of it. */
async function createEvents({ schema }: AnyDb, engine: Engine) {
  await schema
    .createTable('alert_events')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('rule_id', text(engine), (column) => column.notNull())
    .addColumn('organisation_id', text(engine), (column) => column.notNull())
    .addColumn('workspace_id', text(engine))
    .addColumn('told', 'text', (column) => column.notNull())
    .addColumn('channels', 'text', (column) => column.notNull())
    .addColumn('at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('alert_events_rule').on('alert_events').columns(['rule_id', 'id']).execute();
  await schema.createIndex('alert_events_workspace').on('alert_events').column('workspace_id').execute();
  await schema.createIndex('alert_events_at').on('alert_events').column('at').execute();
}

async function createSightings({ schema }: AnyDb, engine: Engine) {
  await schema
    .createTable('alert_sightings')
    .addColumn('node', text(engine), (column) => column.notNull())
    .addColumn('kind', text(engine), (column) => column.notNull())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('subject', text(engine), (column) => column.notNull())
    .addColumn('slot', bigint(engine), (column) => column.notNull())
    .addColumn('amount', real(engine), (column) => column.notNull())
    .addColumn('whole', real(engine), (column) => column.notNull())
    .addColumn('detail', 'text')
    .addColumn('seen_at', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('alert_sightings_key', ['node', 'kind', 'workspace_id', 'subject', 'slot'])
    .execute();
}
