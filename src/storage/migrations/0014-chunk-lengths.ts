import type { Migration } from '../migrate.ts';

/** How many words a chunk has. The embedded store keeps its chunks, and this of each, in a file of their own. */
export const chunkLengths: Migration = {
  name: '0014-chunk-lengths',
  up: async ({ schema }, engine) => {
    if (engine === 'postgres') await schema.alterTable('chunks').addColumn('length', 'integer').execute();
  },
};
