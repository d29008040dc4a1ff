import type { Columns } from '../core/columns.ts';
import type { FigureOptions } from './aggregates/options.ts';
import type { LogRow } from './log-columns.ts';
import type { PackedBody } from './packed-bodies.ts';

/** A value as it stands in a row. */
export type Cell = LogRow[keyof LogRow];

/** Records on their way to the store, each with its packed bodies, if any were kept. */
export interface LogBatch {
  readonly rows: readonly LogRow[];
  /** As many as rows; counting these does not make rows of columns. */
  readonly bodies: readonly (PackedBody | null)[];
  /** The rows once more, where they came so. */
  readonly columns?: Columns<Cell>;
}

/** Whose entries are meant. A person's are those made with their keys and sessions, and those whose `_user` names them. */
export type LogOwner =
  | { readonly workspaceId: string }
  | { readonly organisationId: string; readonly userId: string; readonly names: readonly string[] };

/** The key of metadata under which applications say for whom they call. */
export const USER_LABEL = '_user';

/** How far figures are counted anew: from the newest entries to the oldest. Milliseconds since the epoch. */
export interface RecountProgress {
  /** From here on they are; null: all are. */
  readonly countedFrom: number | null;
  /** Where the log begins; null: there are no entries. */
  readonly oldest: number | null;
}

/** What is kept beside entries. */
export interface SinkOptions {
  readonly figures?: FigureOptions;
  /** Whether entries wait to be exported (`shipments/`). */
  readonly isExported?: boolean;
  /** Whether words are looked for in bodies that ask for it (`search/`). */
  readonly searches?: boolean;
}

/** The same, as those who insert entries need it. */
export interface Kept extends Required<Omit<SinkOptions, 'figures'>> {
  /** Of metadata that figures are kept by. */
  readonly keys: readonly string[];
}

/** What the writer needs of a store. */
export interface LogSink {
  /**
   * All or nothing. A record that is already there is left as it is, so a batch may be sent again; only what guardrails
   * have found since then is added to it, in whatever order the two come.
   */
  insert(batch: LogBatch): Promise<void>;
  /** Deletes at most so many entries that are older; says how many it were. */
  prune(before: number, atMost: number): Promise<number>;
  /** Removes at most so many entries of a workspace or a person, with their bodies; says how many it were. */
  erase(whose: LogOwner, atMost: number): Promise<number>;
  /** Does a short piece of the upkeep of figures; says whether there is more to do at once. */
  tend(): Promise<boolean>;
  /** Begins to count figures anew from the entries that are there, when told to; `tend` does it. Says how far it is. */
  recount(isToBegin: boolean): Promise<RecountProgress>;
  close(): Promise<void>;
}

/** Results are only ever added to. */
export const FOUND_MORE = "length(excluded.hook_results) > length(coalesce(request_logs.hook_results, ''))";
