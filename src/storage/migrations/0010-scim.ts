import { bigint, type Migration, text } from '../migrate.ts';

/** Users and groups that a directory keeps (SCIM), and what its groups mean here. */
export const scim: Migration = {
  name: '0010-scim',
  up: async ({ schema }, engine) => {
    for (const column of ['scim_user_name', 'scim_external_id', 'scim_display_name', 'role_origin'])
      await schema.alterTable('users').addColumn(column, text(engine)).execute();
    await schema.alterTable('users').addColumn('deactivated_at', bigint(engine)).execute();
    await schema.alterTable('workspace_members').addColumn('origin', text(engine)).execute();
    await schema
      .createIndex('users_scim_name')
      .on('users')
      .columns(['organisation_id', 'scim_user_name'])
      .unique()
      .execute();
    await schema.createIndex('users_scim_id').on('users').columns(['organisation_id', 'scim_external_id']).execute();
    await schema
      .createTable('scim_groups')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
      .addColumn('display_name', 'text', (column) => column.notNull())
      .addColumn('name_key', text(engine), (column) => column.notNull())
      .addColumn('external_id', text(engine))
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .addColumn('updated_at', bigint(engine), (column) => column.notNull())
      .execute();
    await schema
      .createIndex('scim_groups_name')
      .on('scim_groups')
      .columns(['organisation_id', 'name_key'])
      .unique()
      .execute();
    await schema
      .createTable('scim_group_members')
      .addColumn('group_id', text(engine), (column) =>
        column.notNull().references('scim_groups.id').onDelete('cascade'),
      )
      .addColumn('user_id', text(engine), (column) => column.notNull().references('users.id').onDelete('cascade'))
      .addPrimaryKeyConstraint('scim_group_members_pkey', ['group_id', 'user_id'])
      .execute();
    await schema.createIndex('scim_group_members_user').on('scim_group_members').column('user_id').execute();
    await schema
      .createTable('scim_mappings')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
      .addColumn('group_name', 'text', (column) => column.notNull())
      .addColumn('name_key', text(engine), (column) => column.notNull())
      .addColumn('workspace_id', text(engine), (column) => column.references('workspaces.id').onDelete('cascade'))
      .addColumn('role', text(engine), (column) => column.notNull())
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .execute();
    await schema
      .createIndex('scim_mappings_name')
      .on('scim_mappings')
      .columns(['organisation_id', 'name_key'])
      .execute();
  },
};
