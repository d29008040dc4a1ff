import { sql } from 'kysely';
import type { Store } from '../../../storage/store.ts';
import type { ChunkStore, ChunkText } from './chunk-store.ts';
import { type Ask, findByWords } from './embedded-words.ts';
import { searchedFiles } from './scope.ts';
import type { SearchThread } from './thread/requests.ts';

export interface EmbeddedChunksOptions {
  readonly store: Pick<Store, 'db' | 'engine'>;
  /** Searches while the other one writes. */
  readonly reader: SearchThread;
  readonly writer: SearchThread;
  /** From so many chunks on, a search may miss some of the nearest. */
  readonly approximateFrom: number;
}

/** Chunks beside the embedded store: words in FTS5, vectors scanned. */
export function createEmbeddedChunks({ store, reader, writer, approximateFrom }: EmbeddedChunksOptions): ChunkStore {
  const { db } = store;
  // Statements are only written here; the thread has the tables.
  const ask: Ask = async <Row>(query: ReturnType<typeof sql<Row>>) => {
    const { sql: text, parameters } = query.compile(db);
    return (await reader.all({ sql: text, parameters })) as Row[];
  };

  return {
    newVectors: async () => 'scanned',
    add: (group) => writer.add(group),
    remove: (source, most) => writer.remove(source, most),
    texts: async (source) => {
      const rows = await ask<{ text: string }>(sql`select text from chunks where source = ${source} order by number`);
      return rows.map(({ text }) => text);
    },
    byWords: (scope, query, most) => findByWords(ask, store, { scope, query, most }),
    byVector: async (scope, vector, most) => {
      const only = { vectors: 'scanned', dimensions: vector.length } as const;
      const { sql: text, parameters } = searchedFiles(store, scope, only)
        .select(['indexed.id', 'indexed.chunks', 'indexed.dimensions'])
        .compile();
      return reader.nearest({ files: { sql: text, parameters }, vector, most, approximateFrom });
    },
    read: async (places) => {
      if (places.length === 0) return [];
      const wanted = sql.join(places.map(({ source, number }) => sql`(${source}, ${number})`));
      return ask<ChunkText>(
        sql`select source, number, text, locator from chunks where (source, number) in (values ${wanted})`,
      );
    },
    close: () => {
      reader.close();
      writer.close();
    },
  };
}
