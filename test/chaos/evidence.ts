import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Call, Caller } from './load.ts';
import type { ChaosNode } from './node.ts';
import type { Arrival } from './provider.ts';

/** What can be seen from outside, for invariants to judge. Times are those of `performance.now()`. */
export interface Evidence {
  readonly nodes: readonly ChaosNode[];
  readonly callers: readonly Caller[];
  /** What clients asked and were answered. */
  readonly calls: readonly Call[];
  /** What the provider saw. */
  readonly arrivals: readonly Arrival[];
  /** From the first harm until everything was well again. */
  readonly faults: readonly { readonly from: number; readonly until: number }[];
  /** The parts that `/health` called degraded, on any node. */
  readonly degraded: ReadonlySet<string>;
  /** Rows of the store as they are now. */
  readonly store: StoreView;
}

export interface LedgerRow {
  readonly model: string;
  readonly api_key_id: string;
  readonly state: 'final' | 'estimated' | 'unsent';
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  /** Billionths of a dollar. */
  readonly cost: number | null;
  readonly charges: string;
}

/** An entry of the request log. */
export interface LogLine {
  readonly model: string;
  readonly total_tokens: number | null;
  /** US dollars. */
  readonly cost: number | null;
}

/** The store, read past the gateway and past the links that are cut. */
export interface StoreView {
  rows<Row>(query: string): Promise<Row[]>;
  /** The same of the request log. */
  logRows<Row>(query: string): Promise<Row[]>;
  /** What the log has of calls that named a model. */
  log(): Promise<LogLine[]>;
  ledger(): Promise<LedgerRow[]>;
  close(): Promise<void>;
}

const LEDGER = 'select model, api_key_id, state, input_tokens, output_tokens, cost, charges from usage_ledger';

const LOG = 'select model, total_tokens, cost from request_logs where model is not null';

export async function viewPostgres(url: string): Promise<StoreView> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const rows = async <Row>(query: string) => (await client.query(query)).rows as Row[];
  const log = async () =>
    (await rows<LogLine>(LOG)).map((line) => ({ ...line, total_tokens: numberOrNull(line.total_tokens) }));
  const ledger = async () => (await rows<LedgerRow>(LEDGER)).map(withNumbers);
  return { rows, logRows: rows, log, ledger, close: () => client.end() };
}

export function viewSqlite(node: ChaosNode): StoreView {
  const read = async <Row>(file: string, query: string) => {
    const database = new Database(join(node.dataDir, file), { readonly: true });
    try {
      return database.query(query).all() as Row[];
    } finally {
      database.close();
    }
  };
  const rows = <Row>(query: string) => read<Row>('state.db', query);
  return {
    rows,
    logRows: (query) => read('logs.db', query),
    log: () => read<LogLine>('logs.db', LOG),
    ledger: () => rows<LedgerRow>(LEDGER),
    close: async () => {},
  };
}

/** 64-bit numbers come from PostgreSQL as text. */
const withNumbers = (row: LedgerRow): LedgerRow => ({
  ...row,
  input_tokens: numberOrNull(row.input_tokens),
  output_tokens: numberOrNull(row.output_tokens),
  cost: numberOrNull(row.cost),
});

const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value));
