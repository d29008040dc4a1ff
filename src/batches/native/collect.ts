import { newObjectId } from '../../core/object-ids.ts';
import type { Target } from '../../relay/target.ts';
import type { BatchResultRow, BatchRow } from '../../storage/schema.ts';
import type { Lease } from '../../work/work.ts';
import type { Endpoint } from '../batch.ts';
import type { BatchDeps } from '../kinds.ts';
import { linesOf } from '../lines.ts';
import type { NativeApi, NativeJob, NativeResult } from './api.ts';
import { Away, type Provider, piecesOf } from './ask.ts';
import { numberOf } from './requests.ts';

const LINES_AT_ONCE = 100;
const LONGEST_LINE = 64 << 20;

export interface CollectDeps {
  readonly api: NativeApi;
  readonly provider: Provider;
  readonly target: Target;
  readonly deps: BatchDeps;
}

/** Brings the results of a job home, line by line. What is home already stays as it is. */
export async function collect(batch: BatchRow, job: NativeJob, lease: Lease, context: CollectDeps): Promise<void> {
  const { api, provider, deps } = context;
  let group: { row: BatchResultRow; found: NativeResult }[] = [];
  const flush = async () => {
    const results = group;
    group = [];
    lease.signal.throwIfAborted();
    const rows = results.map(({ row }) => row);
    const added = new Set(await lease.transaction((db) => deps.table.insertResults(db, rows)));
    const news = results.filter(({ row }) => added.has(row.number)).map(({ found }) => found);
    await deps.account?.(batch, news, context.target);
  };
  for (const path of job.results) {
    const incoming = await provider.send({ method: 'GET', path, body: null });
    for await (const { bytes } of linesOf(piecesOf(incoming), LONGEST_LINE)) {
      const found = bytes?.length ? readLine(bytes, batch, api, deps) : null;
      const number = found && numberOf(found.name);
      if (!found || number === null || number >= (batch.total ?? 0)) continue;
      group.push({ found, row: rowOf(batch, number, found) });
      if (group.length === LINES_AT_ONCE) await flush();
    }
  }
  await flush();
}

function rowOf(batch: BatchRow, number: number, { result }: NativeResult): BatchResultRow {
  return {
    batch_id: batch.id,
    number,
    id: newObjectId('batchRequest'),
    is_error: result.isError ? 1 : 0,
    response: result.response,
    error: result.error,
  };
}

function readLine(bytes: Uint8Array, batch: BatchRow, api: NativeApi, { now }: BatchDeps): NativeResult | null {
  let line: unknown;
  try {
    line = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    throw new Away('a line of its results is not JSON');
  }
  return api.readResult(line, batch.endpoint as Endpoint, now());
}
