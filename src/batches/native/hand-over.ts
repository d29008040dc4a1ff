import type { BatchRow } from '../../storage/schema.ts';
import type { Lease } from '../../work/work.ts';
import type { Endpoint } from '../batch.ts';
import type { NewJob } from './api.ts';
import { Away, parsed, textOf } from './ask.ts';
import { bucketOf } from './bucket.ts';
import { finish } from './ending.ts';
import { folderOf, INPUT } from './folder.ts';
import { understood } from './follow.ts';
import { asForm, asInline, asLines, type Requests, requestsOf } from './requests.ts';
import { type Context, type CreateStep, type Native, nativeOf, type PollStep } from './step.ts';

/** Brings the requests to where the provider reads them. */
export async function upload(batch: BatchRow, lease: Lease, context: Context): Promise<void> {
  const { api, deps } = context;
  if (api.takes === 'inline')
    return create(batch, { step: 'create', file: null, model: null, isAsked: false }, lease, context);
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
  const { type, body } = asForm(requests.lines, `${batch.id}.jsonl`);
  const answer = await textOf(await provider.send({ method: 'POST', path: '/files', type, body }));
  const { id } = parsed(answer) as { id?: unknown };
  if (typeof id !== 'string') throw new Away('it did not answer with a file');
  return id;
}

/** The address follows from the batch, so whoever takes over writes the same object once more. */
async function toBucket(batch: BatchRow, requests: Requests, { api, provider }: Context): Promise<string> {
  const scheme = api.takes === 'gs' ? 'gs' : 's3';
  const uri = `${folderOf(provider.place, scheme, provider.target.provider.name)}${batch.id}/${INPUT}`;
  await bucketOf(provider).put(uri, asLines(requests.lines));
  return uri;
}

const nativeWith = (batch: BatchRow, news: Partial<Native>): string => JSON.stringify({ ...nativeOf(batch), ...news });

/** Creates the job, unless somebody before us has. */
export async function create(batch: BatchRow, step: CreateStep, lease: Lease, context: Context): Promise<void> {
  const { api, provider, deps } = context;
  const { file, model } = step;
  const current = await deps.table.read(deps.store.db, batch.id);
  // Stopped before anybody was asked to do anything.
  if (current?.stop && !step.isAsked) return finish(current, lease, deps);
  const { place } = provider;
  const asked: NewJob = { batchId: batch.id, endpoint: batch.endpoint as Endpoint, model, file, place };
  let job = step.isAsked && api.list ? api.found(await provider.ask(api.list(asked)), batch.id) : null;
  if (!job) {
    await lease.transaction((db) => lease.checkpoint(db, { ...step, isAsked: true }));
    const answer = api.takes === 'inline' ? await inline() : await provider.ask(api.create(asked));
    job = answer === null ? null : understood(api, answer);
  }
  if (!job) return finish(batch, lease, deps);
  const { id } = job;
  const next: PollStep = { step: 'poll', job: id, polls: 0, isCancelled: false };
  await lease.transaction(async (db) => {
    await deps.table.change(db, batch.id, { native: nativeWith(current ?? batch, { job: id, file, model }) });
    await lease.reschedule(db, { afterMs: deps.native.firstPollMs ?? 2_000 }, next);
  });

  /** Null: there is nothing to ask for, because no request could be said. */
  async function inline(): Promise<unknown> {
    const requests = requestsOf(batch, api, lease, deps);
    const first = await requests.lines.next();
    if (first.done) return null;
    const { type, body } = asInline(withFirst(first.value, requests.lines));
    const { method, path } = api.create(asked);
    return parsed(await textOf(await provider.send({ method, path, type, body })));
  }
}

async function* withFirst(first: string, rest: AsyncIterable<string>) {
  yield first;
  yield* rest;
}
