import { type BasicType, fileWriter, parquetWriteRows } from 'hyparquet-writer';
import type { LogDetail } from '../log-query.ts';

/** Held in memory until it is written. */
const ROWS_PER_GROUP = 500;

type Column = keyof LogDetail;

const TEXTS = ['id', 'trace_id', 'session_id', 'organisation_id', 'workspace_id', 'api_key_id', 'user_id'] as const;
const MORE_TEXTS = ['virtual_key', 'provider', 'model', 'method', 'path', 'failed_by', 'error_code'] as const;
const COUNTS = ['request_bytes', 'response_bytes', 'input_tokens', 'output_tokens', 'total_tokens'] as const;
const MORE_COUNTS = ['cached_tokens', 'reasoning_tokens'] as const;

const list = (names: readonly Column[], type: BasicType) => names.map((name) => ({ name, type }));

/** Objects are text in JSON, which every reader of such files can take apart. */
const COLUMNS: readonly { readonly name: Column; readonly type: BasicType }[] = [
  { name: 'created_at', type: 'TIMESTAMP' },
  ...list([...TEXTS, ...MORE_TEXTS], 'STRING'),
  ...list(['status', 'attempt_count'], 'INT32'),
  { name: 'is_stream', type: 'BOOLEAN' },
  ...list([...COUNTS, ...MORE_COUNTS], 'INT64'),
  ...list(['first_byte_ms', 'duration_ms', 'cost'], 'DOUBLE'),
  ...list(['client_address', 'metadata', 'hook_results', 'attempts', 'cache', 'request', 'response'], 'STRING'),
];

/** A row for each entry. Says how many. */
export async function writeParquet(path: string, entries: AsyncIterable<LogDetail>): Promise<number> {
  let count = 0;
  const rows = async function* () {
    for await (const entry of entries) {
      count++;
      yield Object.fromEntries(COLUMNS.map(({ name, type }) => [name, cellOf(entry[name], type)]));
    }
  };
  await parquetWriteRows({
    writer: fileWriter(path),
    rows: rows(),
    columns: COLUMNS.map((column) => ({ ...column, nullable: true })),
    rowGroupSize: ROWS_PER_GROUP,
  });
  return count;
}

function cellOf(value: unknown, type: BasicType): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'TIMESTAMP') return new Date(value as number);
  if (type === 'INT64') return BigInt(value as number);
  if (type !== 'STRING' || typeof value === 'string') return value;
  return JSON.stringify(value);
}
