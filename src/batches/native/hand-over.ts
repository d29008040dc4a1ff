import { jsonIn, ProviderAway, type ProviderCall, ProviderRefused, understood } from '../../relay/provider-call.ts';
import type { BatchRow } from '../../storage/schema.ts';
import type { Lease } from '../../work/work.ts';
import type { Endpoint } from '../batch.ts';
import { members, type NativeApi, type NativeJob, type NewJob, text } from './api.ts';
import { bucketOf } from './bucket.ts';
import { finish } from './ending.ts';
import { folderOf, INPUT } from './folder.ts';
import { asForm, asInline, asLines, type Requests, requestsOf } from './requests.ts';
import { type Context, type CreateStep, nativeWith, type PollStep } from './step.ts';

const MOST_PAGES = 50;
/** Before the second and last time that a provider without lists is asked for the same job. */
const ASK_AGAIN_MS = 10_000;

/** Brings the requests to where the provider reads them. */
export async function upload(batch: BatchRow, lease: Lease, context: Context): Promise<void> {
  const { api, deps } = context;
  if (api.takes === 'inline')
    return create(batch, { step: 'create', file: null, model: null, isAsked: false }, lease, context);
  // Stopped before the provider was told of it.
  if (batch.stop) return finish(batch, lease, deps);
  const requests = requestsOf(batch, api, lease, deps);
  const file = await (api.takes === 'file' ? toFile(batch, requests, context) : toBucket(batch, requests, context));
  const next: CreateStep = { step: 'create', file, model: requests.model, isAsked: false };
  await lease.transaction(async (db) => {
    await deps.table.change(db, batch.id, { native: nativeWith(batch, { file, model: requests.model }) });
    await lease.checkpoint(db, next);
  });
  if (requests.said === 0) return finish(batch, lease, deps);
  return create(batch, next, lease, context);
}

async function toFile(batch: BatchRow, requests: Requests, { provider }: Context): Promise<string> {
  const { contentType, body } = asForm(requests.lines, `${batch.id}.jsonl`);
  const answer = await jsonIn(await provider.send({ method: 'POST', path: '/files', contentType, body }));
  const id = text(members(answer).id);
  if (id === null) throw new ProviderAway('it did not answer with a file');
  return id;
}

/** The address follows from the batch, so a node that takes over writes the same object once more. */
async function toBucket(batch: BatchRow, requests: Requests, { api, provider }: Context): Promise<string> {
  const scheme = api.takes === 'gs' ? 'gs' : 's3';
  const uri = `${folderOf(provider.place, scheme, provider.target.provider.name)}${batch.id}/${INPUT}`;
  await bucketOf(provider).put(uri, asLines(requests.lines));
  return uri;
}

/** Creates the job, unless a node before this one has. */
export async function create(batch: BatchRow, step: CreateStep, lease: Lease, context: Context): Promise<void> {
  const { provider, deps } = context;
  const { file, model } = step;
  const current = (await deps.table.read(deps.store.db, batch.id)) ?? batch;
  const { place } = provider;
  const asked: NewJob = { batchId: batch.id, endpoint: batch.endpoint as Endpoint, model, file, place };
  let job = step.isAsked ? await findJob(asked, context) : null;
  // Stopped before the provider had it.
  if (!job && current.stop) return finish(current, lease, deps);
  if (!job) {
    // Once: whatever is written down counts as getting on, and a provider that fails is to be asked ever more rarely.
    if (!step.isAsked) await lease.transaction((db) => lease.checkpoint(db, { ...step, isAsked: true }));
    const made = await makeJob(batch, asked, step, lease, context);
    if (made === 'later') return;
    if (made === 'nothing to do') return finish(batch, lease, deps);
    job = made;
  }
  const { id } = job;
  const next: PollStep = { step: 'poll', job: id, polls: 0, isCancelled: false };
  await lease.transaction(async (db) => {
    await deps.table.change(db, batch.id, { native: nativeWith(current, { job: id, file, model }) });
    await lease.reschedule(db, { afterMs: deps.native.firstPollMs ?? 2_000 }, next);
  });
}

/** The provider's job that carries our id. */
async function findJob(asked: NewJob, { api, provider }: Context): Promise<NativeJob | null> {
  if (!api.list) return null;
  let after: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer: unknown = await provider.ask(api.list(asked, after));
    const { job, next } = understood(() => api.found(answer, asked.batchId, after));
    if (job !== null || next === null) return job;
    after = next;
  }
  return null;
}

async function makeJob(
  batch: BatchRow,
  asked: NewJob,
  step: CreateStep,
  lease: Lease,
  context: Context,
): Promise<NativeJob | 'nothing to do' | 'later'> {
  const { api, provider, deps } = context;
  /** The provider may have made the job: it is asked once more, and not again and again. */
  const unclear = async (why: string): Promise<'later'> => {
    if (step.isRepeated) throw new ProviderRefused(502, { message: `nothing that names a batch, twice: ${why}` });
    const next: CreateStep = { ...step, isAsked: true, isRepeated: true };
    await lease.transaction((db) => lease.reschedule(db, { afterMs: deps.native.firstPollMs ?? ASK_AGAIN_MS }, next));
    return 'later';
  };
  const requests = api.takes === 'inline' ? requestsOf(batch, api, lease, deps) : null;
  const call = await creation(asked, api, requests);
  if (!call) return 'nothing to do';
  let answer: unknown;
  try {
    answer = await jsonIn(await provider.send(call));
  } catch (error) {
    // What goes wrong inside a body that is being sent comes out as the failure of the exchange.
    if (requests?.failure) throw requests.failure;
    // A provider that can list its jobs is asked for the list first.
    if (api.list || !(error instanceof ProviderAway) || error.status !== null) throw error;
    return unclear(error.message);
  }
  try {
    return api.readJob(answer);
  } catch (error) {
    return unclear(error instanceof Error ? error.message : String(error));
  }
}

/** What asks for the job; null: there is nothing to ask for, because no request could be said. */
async function creation(asked: NewJob, api: NativeApi, requests: Requests | null): Promise<ProviderCall | null> {
  const { method, path, search, body } = api.create(asked);
  if (!requests)
    return { method, path, search, contentType: 'application/json', body: Buffer.from(JSON.stringify(body)) };
  const first = await requests.lines.next();
  return first.done ? null : { method, path, ...asInline(withFirst(first.value, requests.lines)) };
}

async function* withFirst(first: string, rest: AsyncIterable<string>) {
  yield first;
  yield* rest;
}
