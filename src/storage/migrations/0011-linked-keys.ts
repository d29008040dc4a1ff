import { type Migration, text } from '../migrate.ts';

/** Virtual keys that use the credential of another one. */
export const linkedKeys: Migration = {
  name: '0011-linked-keys',
  up: async ({ schema }, engine) => {
    await schema.alterTable('virtual_keys').addColumn('source_id', text(engine)).execute();
    await schema.alterTable('virtual_keys').addColumn('link', text(engine)).execute();
    await schema.createIndex('virtual_keys_source').on('virtual_keys').columns(['source_id', 'workspace_id']).execute();
  },
};
