import { newObjectId } from '../../core/object-ids.ts';
import type { Incoming } from '../../http/upstream.ts';
import type { BatchResultRow, BatchRow } from '../../storage/schema.ts';
import type { Lease } from '../../work/work.ts';
import type { Endpoint } from '../batch.ts';
import { linesOf } from '../lines.ts';
import type { NativeApi, NativeJob, NativeResult, ResultContext } from './api.ts';
import { Away, type Provider, piecesOf } from './ask.ts';
import { bucketOf } from './bucket.ts';
import { isInBucket } from './folder.ts';
import { numberOf } from './requests.ts';
import { type Context, nativeOf } from './step.ts';

const LINES_AT_ONCE = 100;
const LONGEST_LINE = 64 << 20;
const RESULTS = /\.jsonl(?:\.out)?$/;

/** Brings the results of a job home, line by line. What is home already stays as it is. */
export async function collect(batch: BatchRow, job: NativeJob, lease: Lease, context: Context): Promise<void> {
  const { api, provider, deps } = context;
  const { model = null } = nativeOf(batch);
  const about: ResultContext = { endpoint: batch.endpoint as Endpoint, model, now: deps.now() };
  let group: { row: BatchResultRow; found: NativeResult }[] = [];
  const flush = async () => {
    const results = group;
    group = [];
    lease.signal.throwIfAborted();
    const rows = results.map(({ row }) => row);
    const added = new Set(await lease.transaction((db) => deps.table.insertResults(db, rows)));
    const news = results.filter(({ row }) => added.has(row.number)).map(({ found }) => found);
    await deps.account?.(batch, news, provider.target);
  };
  for await (const incoming of resultsOf(job, provider)) {
    for await (const { bytes } of linesOf(piecesOf(incoming), LONGEST_LINE)) {
      const found = bytes?.length ? readLine(bytes, api, about) : null;
      const number = found && numberOf(found.name);
      if (!found || number === null || number >= (batch.total ?? 0)) continue;
      group.push({ found, row: rowOf(batch, number, found) });
      if (group.length === LINES_AT_ONCE) await flush();
    }
  }
  await flush();
}

/** One file after the other. In a folder of a bucket there are also files that hold no results. */
async function* resultsOf({ results }: NativeJob, provider: Provider): AsyncGenerator<Incoming> {
  for (const place of results) {
    if (!isInBucket(place)) yield provider.send({ method: 'GET', path: place, body: null });
    else {
      const bucket = bucketOf(provider);
      for (const uri of await bucket.list(place)) if (RESULTS.test(uri)) yield bucket.open(uri);
    }
  }
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

function readLine(bytes: Uint8Array, api: NativeApi, about: ResultContext): NativeResult | null {
  let line: unknown;
  try {
    line = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    throw new Away('a line of its results is not JSON');
  }
  return api.readResult(line, about);
}
