import { type Compilable, sql } from 'kysely';
import type { Store } from '../../../storage/store.ts';
import type { ChunkStore, ChunkText } from './chunk-store.ts';
import { type Scope, searchedFiles } from './scope.ts';
import type { Place, SearchThread } from './thread/requests.ts';
import { MOST_LOOKED_AT, rarest, scopeWord, type Term, termsOf } from './words.ts';

export interface EmbeddedChunksOptions {
  readonly store: Pick<Store, 'db' | 'engine'>;
  /** Searches while the other one writes. */
  readonly reader: SearchThread;
  readonly writer: SearchThread;
}

const quoted = (word: string): string => `"${word.replaceAll('"', '""')}"`;
const anyOf = (words: readonly string[]): string => `(${words.map(quoted).join(' OR ')})`;

/** What a small store holds can be looked at whole, whatever the words; in a large one, the rare words lead. */
function matchOf(stores: readonly string[], counts: readonly Term[]): string | null {
  const isStore = ({ word }: Term) => stores.includes(word);
  const inStores = counts.filter(isStore).reduce((sum, { chunks }) => sum + chunks, 0);
  const terms = counts.filter((term) => !isStore(term));
  const isSmall = inStores <= MOST_LOOKED_AT;
  const words = (isSmall ? terms : rarest(terms)).map(({ word }) => word);
  if (words.length === 0 || inStores === 0) return null;
  return isSmall ? `scope : ${anyOf(stores)} AND words : ${anyOf(words)}` : `words : ${anyOf(words)}`;
}

/** Chunks beside the embedded store: words in FTS5, vectors scanned. */
export function createEmbeddedChunks({ store, reader, writer }: EmbeddedChunksOptions): ChunkStore {
  const { db } = store;
  // Statements are only written here; the thread has the tables.
  const all = async <Row>(query: Compilable<Row>): Promise<Row[]> => {
    const { sql: text, parameters } = query.compile();
    return (await reader.all({ sql: text, parameters })) as Row[];
  };
  const ask = <Row>(query: ReturnType<typeof sql<Row>>) => all<Row>({ compile: () => query.compile(db) });

  const countOf = (words: readonly string[]) =>
    ask<Term>(sql`select term as word, doc as chunks from chunk_terms where term in (${sql.join(words)})`);

  return {
    newVectors: async () => 'scanned',
    add: (group) => writer.add(group),
    remove: (source, most) => writer.remove(source, most),
    texts: async (source) => {
      const rows = await ask<{ text: string }>(sql`select text from chunks where source = ${source} order by number`);
      return rows.map(({ text }) => text);
    },
    byWords: async (scope: Scope, query: string, most: number) => {
      const words = termsOf(query);
      if (words.length === 0) return [];
      const stores = scope.storeIds.map(scopeWord);
      const match = matchOf(stores, await countOf([...stores, ...words]));
      if (match === null) return [];
      return ask<Place>(sql`
        select chunks.source, chunks.number
        from chunk_words join chunks on chunks.id = chunk_words.rowid
        where chunk_words match ${match} and chunks.source in ${searchedFiles(store, scope).select('indexed.id')}
        order by bm25(chunk_words, 0, 1), chunks.id limit ${most}`);
    },
    byVector: async (scope, vector, most) => {
      const only = { vectors: 'scanned', dimensions: vector.length } as const;
      const { sql: text, parameters } = searchedFiles(store, scope, only)
        .select(['indexed.id', 'indexed.chunks', 'indexed.dimensions'])
        .compile();
      return reader.nearest({ files: { sql: text, parameters }, vector, most });
    },
    read: async (places) => {
      if (places.length === 0) return [];
      const wanted = sql.join(places.map(({ source, number }) => sql`(${source}, ${number})`));
      return ask<ChunkText>(sql`select source, number, text from chunks where (source, number) in (values ${wanted})`);
    },
    close: () => {
      reader.close();
      writer.close();
    },
  };
}
