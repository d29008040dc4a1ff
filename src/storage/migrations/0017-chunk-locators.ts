import type { Migration } from '../migrate.ts';

/** Where in its file a chunk is. The embedded store keeps its chunks, and this of each, in a file of their own. */
export const chunkLocators: Migration = {
  name: '0017-chunk-locators',
  up: async ({ schema }, engine) => {
    if (engine === 'postgres') await schema.alterTable('chunks').addColumn('locator', 'text').execute();
  },
};
