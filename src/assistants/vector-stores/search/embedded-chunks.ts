import { sql } from 'kysely';
import type { Store } from '../../../storage/store.ts';
import type { ChunkStore, ChunkText } from './chunk-store.ts';
import { type Ask, findByWords } from './embedded-words.ts';
import { type Scope, searchedFiles } from './scope.ts';
import type { SearchThread, Statement } from './thread/requests.ts';

export interface EmbeddedChunksOptions {
  readonly store: Pick<Store, 'db' | 'engine'>;
  /** Threads of their own: one looks words up and reads texts while another looks at vectors, and both do while the third writes. */
  readonly reader: SearchThread;
  readonly scanner: SearchThread;
  readonly writer: SearchThread;
  /** From so many chunks on, a search may miss some of the nearest. */
  readonly approximateFrom: number;
}

/** Chunks beside the embedded store: words in FTS5, vectors scanned. */
export function createEmbeddedChunks({
  store,
  reader,
  scanner,
  writer,
  approximateFrom,
}: EmbeddedChunksOptions): ChunkStore {
  const { db } = store;
  // Statements are only written here; the thread has the tables.
  const ask: Ask = async <Row>(query: ReturnType<typeof sql<Row>>, options = {}) => {
    const { sql: text, parameters } = query.compile(db);
    return (await reader.all({ sql: text, parameters, ...options })) as Row[];
  };
  // One thread brings the file's tables up to date. That may take longer than another one waits for it.
  let upToDate: Promise<unknown> | null = null;
  const areTablesThere = () =>
    (upToDate ??= ask(sql`select 1`).catch((error) => {
      upToDate = null;
      throw error;
    }));
  const scannedFiles = (scope: Scope): Statement => {
    const { sql: text, parameters } = searchedFiles(store, scope, { vectors: 'scanned' })
      .select(['indexed.id', 'indexed.chunks', 'indexed.dimensions'])
      .compile();
    return { sql: text, parameters };
  };

  return {
    newVectors: async () => 'scanned',
    add: (group) => writer.add(group),
    remove: (source, most) => writer.remove(source, most),
    texts: async (source) => {
      const rows = await ask<{ text: string }>(sql`select text from chunks where source = ${source} order by number`);
      return rows.map(({ text }) => text);
    },
    byWords: (scope, query, most) => findByWords({ ask, count: reader.count }, store, { scope, query, most }),
    expectVector: (scope) => {
      // What fails here fails again, and is told, when the vector is there.
      areTablesThere().then(
        () => scanner.expect(scannedFiles(scope)).catch(() => {}),
        () => {},
      );
    },
    byVector: async (scope, vector, most) => {
      await areTablesThere();
      return scanner.nearest({ files: scannedFiles(scope), vector, most, approximateFrom });
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
      scanner.close();
      writer.close();
    },
  };
}
