/** Entries that leave together: the same ones, under the same names, however often it takes to send them. */
export interface Shipment {
  /** Sorts by time. */
  readonly name: string;
  readonly files: readonly ShipmentFile[];
  /** Entries that were removed before they could leave. */
  readonly missing: number;
}

/** The entries of one day and workspace. */
export interface ShipmentFile {
  readonly path: string;
  /** UTC, of when their calls began. */
  readonly date: string;
  /** Null: of calls that were refused before a workspace was known. */
  readonly workspaceId: string | null;
  readonly entries: number;
  readonly bytes: number;
  readonly sha256: string;
}

export type ShipmentFormat = 'ndjson' | 'parquet';

export interface ShipmentOrder {
  readonly format: ShipmentFormat;
  readonly withBodies: boolean;
  /** Where files are laid until they are sent. */
  readonly folder: string;
  /** So many entries, or those of one batch of the log if that is more. */
  readonly atMost: number;
}

export const EXTENSIONS: Readonly<Record<ShipmentFormat, string>> = { ndjson: 'ndjson.gz', parquet: 'parquet' };
