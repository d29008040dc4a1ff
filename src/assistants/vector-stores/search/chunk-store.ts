import type { Scope } from './scope.ts';
import type { ChunkGroup, NearPlace, Place } from './thread/requests.ts';

export interface ChunkText extends Place {
  readonly text: string;
  /** Where in its file it is, as JSON; null: that is not known. */
  readonly locator: string | null;
}

export interface FoundByWords extends Place {
  /** From 0 to 1: how much of what the query asks for the chunk has. */
  readonly score: number;
}

/** Where chunks lie and are found: the one place that knows how each database does it. */
export interface ChunkStore {
  /** Where the vectors of files go that are taken in now. */
  newVectors(): Promise<'scanned' | 'pgvector'>;
  add(group: ChunkGroup): Promise<void>;
  /** Removes up to so many chunks of a source; answers whether there may be more. */
  remove(source: string, most: number): Promise<boolean>;
  /** All chunks of a source, in their order. */
  texts(source: string): Promise<string[]>;
  /** The chunks that the words of a query speak for, best first. */
  byWords(scope: Scope, query: string, most: number): Promise<readonly FoundByWords[]>;
  /** Told before the vector is there that `byVector` will be asked: what does not need it is found out meanwhile. */
  expectVector(scope: Scope): void;
  /** The chunks whose vectors are nearest, nearest first. Null: there are more than can be looked at. */
  byVector(scope: Scope, vector: Float32Array, most: number): Promise<readonly NearPlace[] | null>;
  /** The texts of some chunks, in any order. Those that are gone meanwhile are missing. */
  read(places: readonly Place[]): Promise<ChunkText[]>;
  close(): void;
}
