/** What the threads of file search are asked to do. */

/** Where the chunks are. */
export type ChunkPlace =
  | { readonly engine: 'sqlite'; readonly file: string; readonly stateFile: string }
  | { readonly engine: 'postgres'; readonly url: string };

/** A question in SQL, as a query builder compiles it. */
export interface Statement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** It asks about the state alone, not about chunks: until that changes, the answer stays as it is. */
  readonly isOfState?: true;
}

export interface ChunkToAdd {
  readonly text: string;
  readonly begins: number;
  readonly ends: number;
  /** Where in its file it is, as JSON; null: that is not known. */
  readonly locator: string | null;
  /** Of length one; null: it has none. */
  readonly vector: Float32Array | null;
}

/** Some chunks of one file that follow each other. */
export interface ChunkGroup {
  readonly source: string;
  readonly storeId: string;
  /** The number of the first of them. */
  readonly first: number;
  readonly dimensions: number | null;
  readonly vectors: 'none' | 'scanned' | 'pgvector';
  readonly chunks: readonly ChunkToAdd[];
}

export interface Nearest {
  /** Which files are searched: rows of `id`, `chunks` and `dimensions`. Those with vectors of another length are passed over. */
  readonly files: Statement;
  /** The database compares their vectors itself, where these are looked at with all their numbers; else they lie in blocks. */
  readonly isByExtension?: true;
  readonly vector: Float32Array;
  readonly most: number;
  /** From so many chunks on, the nearest are found by codes, which may miss some. */
  readonly approximateFrom: number;
}

/** Which chunk. */
export interface Place {
  readonly source: string;
  readonly number: number;
}

export interface NearPlace extends Place {
  readonly similarity: number;
}

/** What a thread does. The process on the other side of it calls it through the same interface. */
export interface SearchThread {
  /** Adds chunks; those that are there stay as they are. */
  add(group: ChunkGroup): Promise<void>;
  /** Removes up to so many chunks of a source; answers whether there may be more. */
  remove(source: string, most: number): Promise<boolean>;
  /** The files of a search that will come: which they are is found out before. */
  expect(files: Statement): Promise<void>;
  /** The chunks whose vectors are nearest, nearest first. Null: there are more than are looked at. */
  nearest(question: Nearest): Promise<readonly NearPlace[] | null>;
  /** In how many chunks of the embedded store each of these queries of its index finds its words, counted no further than so many. */
  count(queries: readonly string[], most: number): Promise<readonly number[]>;
  /** Rows of the embedded store. */
  all(statement: Statement): Promise<unknown[]>;
  close(): void;
}

export type Operation = 'add' | 'remove' | 'expect' | 'nearest' | 'count' | 'all';

export interface ThreadRequest {
  readonly id: number;
  readonly place: ChunkPlace;
  readonly operation: Operation;
  readonly given: readonly unknown[];
}

export type ThreadReply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly fault: string; readonly code: string };
