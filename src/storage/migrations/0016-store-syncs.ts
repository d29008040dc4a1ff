import { sql } from 'kysely';
import { type Migration, text } from '../migrate.ts';

/** Vector stores that are kept in step with files elsewhere. */
export const storeSyncs: Migration = {
  name: '0016-store-syncs',
  up: async (db, engine) => {
    const { schema } = db;
    await schema.alterTable('vector_stores').addColumn('sync', 'text').execute();
    for (const column of ['source', 'source_path', 'digest'] as const)
      await schema.alterTable('vector_store_files').addColumn(column, text(engine)).execute();
    await sql`create index vector_store_files_source on vector_store_files (store_id, source_path)
      where source_path is not null and deleted_at is null`.execute(db);
  },
};
