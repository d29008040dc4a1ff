import type { Database } from 'bun:sqlite';
import { openSqliteFile } from './sqlite.ts';

declare const self: Worker;

/** A question for the thread; the first one names the file. */
export interface Question {
  readonly id: number;
  readonly file: string;
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** A thread either reads all its life or does not. */
  readonly writes?: boolean;
}

export type Reply =
  | { readonly id: number; readonly rows: unknown[] }
  | { readonly id: number; readonly fault: string; readonly code: string };

let database: Database | null = null;

/** Asks the embedded store on a connection of its own, so that a long query does not hold up requests. */
self.onmessage = ({ data }: MessageEvent<Question>) => {
  const { id, file, sql, parameters, writes = false } = data;
  try {
    database ??= openSqliteFile(file, { durability: 'normal', readonly: !writes });
    const rows = database.query(sql).all(...(parameters as []));
    self.postMessage({ id, rows } satisfies Reply);
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    self.postMessage({ id, fault: message, code: String(code ?? '') } satisfies Reply);
  }
};
