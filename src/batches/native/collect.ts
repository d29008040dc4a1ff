import { newObjectId } from '../../core/object-ids.ts';
import type { Incoming } from '../../http/upstream.ts';
import { ProviderAway, ProviderRefused, piecesOf } from '../../relay/provider-call.ts';
import type { BatchResultRow, BatchRow } from '../../storage/schema.ts';
import type { Lease } from '../../work/work.ts';
import type { Endpoint } from '../batch.ts';
import { linesOf } from '../lines.ts';
import { keepResults, usageIn } from '../usage.ts';
import { addTaken } from './account.ts';
import type { NativeApi, NativeJob, NativeResult, ResultContext } from './api.ts';
import type { Provider } from './ask.ts';
import { bucketOf } from './bucket.ts';
import { isInBucket } from './folder.ts';
import { numberOf } from './requests.ts';
import { type Context, nativeOf, nativeWith } from './step.ts';

const LINES_AT_ONCE = 100;
const BYTES_AT_ONCE = 8 << 20;
const LONGEST_LINE = 64 << 20;
const RESULTS = /\.jsonl(?:\.out)?$/;

/** A line of the results makes no sense. Perhaps the file was not whole, and is so the next time. */
export class UnreadableResults extends ProviderAway {}

export interface CollectOptions {
  /** Whether lines that make no sense are passed over: then their requests have no answer. */
  readonly isLenient: boolean;
}

/**
 * Brings the results of a job home, line by line. What is home already stays as it is, whatever is said of it again; what
 * was never asked for stays outside.
 */
export async function collect(
  batch: BatchRow,
  job: NativeJob,
  lease: Lease,
  context: Context,
  { isLenient }: CollectOptions,
): Promise<void> {
  const { api, provider, deps } = context;
  const { model = null } = nativeOf(batch);
  const about: ResultContext = { endpoint: batch.endpoint as Endpoint, model, now: deps.now() };
  let group = new Map<number, NativeResult>();
  let bytesHeld = 0;
  const flush = async () => {
    const results = group;
    group = new Map();
    bytesHeld = 0;
    lease.signal.throwIfAborted();
    const given = [...results].map(([number, each]) => ({
      row: rowOf(batch, number, each),
      usage: usageIn(each.body),
    }));
    const news = await lease.transaction(async (db) => {
      // What answers took is known together with them, or not at all.
      const current = await deps.table.lock(db, batch.id);
      const added = await keepResults(db, deps.table, batch.id, given);
      const found = added.map((number) => results.get(number)!);
      const native = current ? nativeOf(current) : {};
      if (native.hold) {
        const taken = addTaken(native, found, { total: batch.total ?? 0, target: provider.target, ...deps.limits });
        await deps.table.change(db, batch.id, { native: nativeWith(current!, { taken }) });
      }
      return found;
    });
    await deps.account?.(batch, news, { who: context.who, target: provider.target });
  };
  for await (const incoming of resultsOf(job, provider)) {
    for await (const { bytes } of linesOf(piecesOf(incoming), LONGEST_LINE)) {
      const found = bytes?.length ? readLine(bytes, api, about, isLenient) : null;
      const number = found && numberOf(found.name);
      // Of two answers to one request, the first counts.
      if (!found || number === null || number >= (batch.total ?? 0) || group.has(number)) continue;
      group.set(number, found);
      bytesHeld += bytes!.length;
      if (group.size === LINES_AT_ONCE || bytesHeld > BYTES_AT_ONCE) await flush();
    }
  }
  await flush();
}

/** One file after the other. In a folder of a bucket there are also files that hold no results. */
async function* resultsOf({ results }: NativeJob, provider: Provider): AsyncGenerator<Incoming> {
  for (const place of results) {
    if (!isInBucket(place)) {
      const file = await provider.send({ method: 'GET', path: place, body: null }).catch(gone);
      if (file) yield file;
    } else {
      const bucket = bucketOf(provider);
      for (const uri of await bucket.list(place)) if (RESULTS.test(uri)) yield bucket.open(uri);
    }
  }
}

/** The provider no longer has it, so what was in it has no answer. */
function gone(error: unknown): null {
  if (error instanceof ProviderRefused && error.status === 404) return null;
  throw error;
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

/** A line that is nested too deeply, or has an unknown form, counts as unreadable, too. */
function readLine(bytes: Uint8Array, api: NativeApi, about: ResultContext, isLenient: boolean): NativeResult | null {
  try {
    return api.readResult(JSON.parse(Buffer.from(bytes).toString()), about);
  } catch {
    if (isLenient) return null;
    throw new UnreadableResults('a line of its results cannot be read');
  }
}
