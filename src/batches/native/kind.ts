import { GatewayError } from '../../core/errors.ts';
import type { BatchRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import type { Kind, Lease } from '../../work/work.ts';
import { type BatchFault, type Endpoint, entered, hasEnded } from '../batch.ts';
import { type BatchDeps, enqueueFinish, NATIVE } from '../kinds.ts';
import type { NativeApi, NativeJob } from './api.ts';
import { nativeApi } from './apis.ts';
import { type AskDeps, Away, type Provider, providerBehind, Refused, textOf } from './ask.ts';
import { collect } from './collect.ts';
import { asForm, asInline, requestsOf } from './requests.ts';

export type NativeDeps = BatchDeps & { readonly native: AskDeps & { readonly firstPollMs?: number } };

/** How far a batch is at the provider. */
type Step =
  | { readonly step: 'upload' }
  /** `isAsked`: the job may exist, though its answer never came. */
  | { readonly step: 'create'; readonly file: string | null; readonly model: string | null; readonly isAsked: boolean }
  | { readonly step: 'poll'; readonly job: string; readonly polls: number; readonly isCancelled: boolean };

const LONGEST_POLL_MS = 60_000;
/** The provider's window began a little after ours. */
const GRACE_MS = 600_000;

/** Hands a batch to the provider's own batch API, asks until it has ended, and brings the results home. */
export function nativeKind(deps: NativeDeps): Kind {
  const { store, table, workers, now } = deps;

  const failedWith = async (db: Db, batch: BatchRow, faults: readonly BatchFault[]) => {
    if (batch.stop) return enqueueFinish(db, batch, workers());
    await table.change(db, batch.id, { ...entered(batch, 'failed', now()), errors: JSON.stringify(faults) });
  };

  return {
    name: NATIVE,
    concurrency: 4,
    // A provider that is away changes nothing; the window ends it.
    maxAttempts: 1_000,
    run: async (lease) => {
      const batch = await table.read(store.db, lease.work.ref);
      if (!batch || hasEnded(batch.status)) return lease.transaction((db) => lease.done(db));
      try {
        await advance(batch, lease, { ...(await apiOf(batch, lease, deps)), deps });
      } catch (error) {
        const fault = faultOf(error);
        if (!fault) throw error;
        await lease.transaction(async (db) => {
          const current = await table.lock(db, batch.id);
          if (current && !hasEnded(current.status)) await failedWith(db, current, [fault]);
          await lease.done(db);
        });
      }
    },
    failed: async (db, work) => {
      const batch = await table.lock(db, work.ref);
      if (batch && !hasEnded(batch.status))
        await failedWith(db, batch, [providerFault('The provider does not answer.')]);
    },
    // Cancelling a batch asks the provider to; this row is not cancelled.
    cancelled: async () => {},
    sweep: async (db, at) => {
      const over = await db
        .selectFrom('batches')
        .select('id')
        .where('status', '=', 'in_progress')
        .where('mode', '=', 'native')
        .where('expires_at', '<=', at - GRACE_MS)
        .where('stop', 'is', null)
        .limit(20)
        .execute();
      for (const { id } of over) await table.change(db, id, { stop: 'expired' });
    },
  };
}

interface Context {
  readonly api: NativeApi;
  readonly provider: Provider;
  readonly deps: NativeDeps;
}

async function apiOf(batch: BatchRow, lease: Lease, deps: NativeDeps) {
  const who = await deps.principalOf(batch.api_key_id);
  const provider = await providerBehind({ who, virtualKey: batch.virtual_key, signal: lease.signal }, deps.native);
  const api = nativeApi(provider.target.provider.name);
  if (!api) throw new Refused(400, 'the virtual key leads to another provider than it did.');
  return { api, provider };
}

function advance(batch: BatchRow, lease: Lease, context: Context): Promise<void> {
  const step = (lease.work.payload ?? { step: 'upload' }) as Step;
  switch (step.step) {
    case 'upload':
      return upload(batch, lease, context);
    case 'create':
      return create(batch, step, lease, context);
    case 'poll':
      return poll(batch, step, lease, context);
    default:
      return step satisfies never;
  }
}

async function upload(batch: BatchRow, lease: Lease, context: Context): Promise<void> {
  const { api, provider, deps } = context;
  if (api.takes === 'inline')
    return create(batch, { step: 'create', file: null, model: null, isAsked: false }, lease, context);
  const requests = requestsOf(batch, api, lease, deps);
  const { type, body } = asForm(requests.lines, `${batch.id}.jsonl`);
  const answer = await textOf(await provider.send({ method: 'POST', path: '/files', type, body }));
  if (requests.said === 0) return finish(batch, lease, deps);
  const { id } = parsed(answer) as { id?: unknown };
  if (typeof id !== 'string') throw new Away('it did not answer with a file');
  const next: Step = { step: 'create', file: id, model: requests.model, isAsked: false };
  await lease.transaction((db) => lease.checkpoint(db, next));
  return create(batch, next, lease, context);
}

async function create(
  batch: BatchRow,
  step: Extract<Step, { step: 'create' }>,
  lease: Lease,
  context: Context,
): Promise<void> {
  const { api, provider, deps } = context;
  const { file, model } = step;
  const current = await deps.table.read(deps.store.db, batch.id);
  // Stopped before anybody was asked to do anything.
  if (current?.stop && !step.isAsked) return finish(current, lease, deps);
  let job = step.isAsked && api.list ? api.found(await provider.ask(api.list), batch.id) : null;
  if (!job) {
    await lease.transaction((db) => lease.checkpoint(db, { ...step, isAsked: true }));
    const question = api.create({ batchId: batch.id, endpoint: batch.endpoint as Endpoint, model, file });
    job = understood(api, api.takes === 'inline' ? await inline() : await provider.ask(question));
  }
  if (!job) return finish(batch, lease, deps);
  const next: Step = { step: 'poll', job: job.id, polls: 0, isCancelled: false };
  await lease.transaction(async (db) => {
    await deps.table.change(db, batch.id, { native: JSON.stringify({ job: job.id, file }) });
    await lease.reschedule(db, { afterMs: deps.native.firstPollMs ?? 2_000 }, next);
  });

  /** Null: there is nothing to ask for, because no request could be said. */
  async function inline(): Promise<unknown> {
    const requests = requestsOf(batch, api, lease, deps);
    const first = await requests.lines.next();
    if (first.done) return null;
    const { type, body } = asInline(withFirst(first.value, requests.lines));
    const { method, path } = api.create({ batchId: batch.id, endpoint: batch.endpoint as Endpoint, model, file });
    return parsed(await textOf(await provider.send({ method, path, type, body })));
  }
}

async function* withFirst(first: string, rest: AsyncIterable<string>) {
  yield first;
  yield* rest;
}

async function poll(
  batch: BatchRow,
  step: Extract<Step, { step: 'poll' }>,
  lease: Lease,
  context: Context,
): Promise<void> {
  const { api, provider, deps } = context;
  const wantsEnd = batch.stop !== null && !step.isCancelled;
  let job: NativeJob;
  try {
    job = understood(api, await provider.ask(api.read(step.job)).catch(onlyIfGone))!;
    if (job.state === 'running' && wantsEnd) await provider.ask(api.cancel(step.job)).catch(onlyIfGone);
    if (job.state !== 'running') await collect(batch, job, lease, { ...context, target: provider.target });
  } catch (error) {
    // A provider that is away is asked later; what it does meanwhile is not known.
    if (!(error instanceof Away)) throw error;
    return pollLater({ ...step, polls: step.polls + 1 }, lease, deps);
  }
  if (job.state !== 'running') return finish(batch, lease, deps, job);
  return pollLater(
    { ...step, polls: wantsEnd ? 0 : step.polls + 1, isCancelled: step.isCancelled || wantsEnd },
    lease,
    deps,
  );
}

function pollLater(next: Extract<Step, { step: 'poll' }>, lease: Lease, { native }: NativeDeps): Promise<void> {
  const { firstPollMs = 2_000 } = native;
  const fullMs = Math.min(LONGEST_POLL_MS, firstPollMs * 1.5 ** Math.min(next.polls, 30));
  const afterMs = Math.round(fullMs * (0.75 + Math.random() / 2));
  return lease.transaction((db) => lease.reschedule(db, { afterMs }, next));
}

/** A credential that does not work at the moment may do so tomorrow; a job that is gone stays so. */
function onlyIfGone(error: unknown): never {
  throw error instanceof Refused && error.status !== 404 ? new Away(error.message) : error;
}

/** What the provider said is home: the rest is as with any batch. */
async function finish(batch: BatchRow, lease: Lease, { table, workers, now }: NativeDeps, job?: NativeJob) {
  await lease.transaction(async (db) => {
    const current = await table.lock(db, batch.id);
    await lease.done(db);
    if (!current || hasEnded(current.status)) return;
    if (job?.state === 'failed' && current.stop === null) {
      const errors = job.faults.length > 0 ? job.faults : [providerFault('The provider says that the batch failed.')];
      return table.change(db, batch.id, { ...entered(current, 'failed', now()), errors: JSON.stringify(errors) });
    }
    if (current.stop === null && job?.state === 'expired') await table.change(db, batch.id, { stop: 'expired' });
    else if (current.stop === null && job?.state === 'cancelled')
      await table.change(db, batch.id, { ...entered(current, 'cancelling', now()), stop: 'cancelled' });
    else if (current.stop === null) await table.change(db, batch.id, entered(current, 'finalizing', now()));
    await enqueueFinish(db, current, workers());
  });
}

function understood(api: NativeApi, answer: unknown): NativeJob | null {
  if (answer === null) return null;
  try {
    return api.readJob(answer);
  } catch (error) {
    throw new Away(error instanceof Error ? error.message : String(error));
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Away('its answer is not JSON');
  }
}

/** What will not get better by waiting: the provider's no, or a key that is gone. */
function faultOf(error: unknown): BatchFault | null {
  if (error instanceof Refused) return providerFault(error.message);
  if (error instanceof GatewayError && error.status < 500 && error.status !== 429)
    return { code: error.code, message: error.message, param: error.param, line: null };
  return null;
}

const providerFault = (message: string): BatchFault => ({ code: 'provider_error', message, param: null, line: null });
