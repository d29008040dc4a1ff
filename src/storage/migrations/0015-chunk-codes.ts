import { sql } from 'kysely';
import { bytes, type Migration, text } from '../migrate.ts';

/** Vectors a bit for each number, by which a search of many finds those to look at. The embedded store has them in a file of its own. */
export const chunkCodes: Migration = {
  name: '0015-chunk-codes',
  up: async (db, engine) => {
    if (engine !== 'postgres') return;
    await db.schema
      .createTable('chunk_codes')
      .addColumn('source', text(engine), (column) => column.notNull())
      .addColumn('first', 'integer', (column) => column.notNull())
      .addColumn('dimensions', 'integer', (column) => column.notNull())
      .addColumn('centre', bytes(engine), (column) => column.notNull())
      .addColumn('centre_scale', sql`double precision`, (column) => column.notNull())
      .addColumn('factors', bytes(engine), (column) => column.notNull())
      .addColumn('bits', bytes(engine), (column) => column.notNull())
      .addPrimaryKeyConstraint('chunk_codes_pkey', ['source', 'first'])
      .execute();
  },
};
