import { newId } from '../core/ids.ts';
import { type LeftOut, Sample } from '../core/sample.ts';
import type { LogRow } from './log-columns.ts';

/** How much is kept of a path, which a stranger may make as long as they like. */
export const LONGEST_PATH = 256;
const MOST = { perAddress: 10, inAll: 100 };

type Kind = Pick<LogRow, 'organisation_id' | 'status' | 'failed_by' | 'error_code'>;

export interface StrangerEntriesOptions {
  readonly add: (row: LogRow) => void;
  readonly onLeftOut: () => void;
}

/** Which calls of unknown callers have an entry of their own; one that says how many stands for the others. */
export class StrangerEntries {
  readonly #sample: Sample<Kind>;

  constructor({ add, onLeftOut }: StrangerEntriesOptions) {
    this.#sample = new Sample({ ...MOST, now: Date.now, onLeftOut, tell: (leftOut) => add(rowOf(leftOut)) });
  }

  takes(row: LogRow): boolean {
    return this.#sample.takes(row.client_address, `${row.status} ${row.error_code}`, row);
  }

  /** Tells what was left out so far. */
  flush(): void {
    this.#sample.flush();
  }
}

function rowOf({ kind, count, from, to, addresses, fromOthers }: LeftOut<Kind>): LogRow {
  const { organisation_id, status, failed_by, error_code } = kind;
  const id = newId<string>();
  const shown = addresses.map((each) => `${each.address} ${each.count}`);
  if (fromOthers > 0) shown.push(`others ${fromOthers}`);
  return {
    id,
    trace_id: id,
    created_at: from,
    organisation_id,
    workspace_id: null,
    api_key_id: null,
    user_id: null,
    virtual_key: null,
    provider: null,
    model: null,
    method: '',
    path: '',
    status,
    failed_by,
    error_code,
    is_stream: false,
    request_bytes: 0,
    response_bytes: 0,
    first_byte_ms: null,
    duration_ms: 0,
    input_tokens: null,
    output_tokens: null,
    total_tokens: null,
    cached_tokens: null,
    reasoning_tokens: null,
    cost: null,
    client_address: addresses[0]?.address ?? '',
    metadata: JSON.stringify({
      left_out: String(count),
      until: new Date(to).toISOString(),
      addresses: shown.join(', '),
    }),
    hook_results: null,
    session_id: null,
    attempt_count: 0,
    attempts: null,
  };
}
