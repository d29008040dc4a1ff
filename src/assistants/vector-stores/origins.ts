import type { VectorStoreFileRow } from '../../storage/schema.ts';

/** Where a sync has a file from. */
export interface Origin {
  /** The name of what is kept in step: several may be in one store, and none touches another's files. */
  readonly source: string;
  readonly path: string;
  readonly digest: string;
}

/** Undefined: a caller added it. */
export const originOf = (row: VectorStoreFileRow | undefined): Origin | undefined =>
  row?.source == null ? undefined : { source: row.source, path: row.source_path!, digest: row.digest! };
