import type { Notify } from '../area/notify.ts';
import type { Segment } from '../files/content.ts';
import type { Files } from '../files/files.ts';
import {
  askProvider,
  type ProviderCallDeps,
  ProviderRefused,
  piecesOf,
  type Question,
  sendToProvider,
  understood,
} from '../relay/provider-call.ts';
import type { Db, Store } from '../storage/store.ts';
import type { RemoteCheckpoint, RemoteEvent, RemotePage } from './backends/backend.ts';
import { enteredEvents, inOurWords, retold } from './events.ts';
import { advance, isFinished, type Job, type Observed } from './job.ts';
import type { Behind } from './provider.ts';
import { keepCheckpoints, keepEvents, knownCheckpoints, knownEvents, saveJob } from './table.ts';

export interface LookDeps extends ProviderCallDeps {
  readonly store: Store;
  readonly files: Files;
  /** Told in the transaction in which a job ends. */
  readonly notify: Notify;
}

/** All that the provider says of a job at one moment. */
export interface Seen {
  readonly observed: Observed;
  /** Newest first, as far as they are new. */
  readonly events: readonly RemoteEvent[];
  readonly checkpoints: readonly RemoteCheckpoint[];
  /** Result files whose bytes are stored, and that are no files yet. */
  readonly results: readonly Segment[];
}

const MOST_PAGES = 100;
const MOST_RESULT_FILES = 10;
const MOST_RESULT_BYTES = 64 << 20;

/** Asks the provider how its job is. Throws `ProviderAway` when that is not to be known, also in part. */
export async function look(
  job: Job,
  remote: string,
  behind: Behind,
  deps: LookDeps,
  signal: AbortSignal,
): Promise<Seen> {
  const { backend, place, target } = behind;
  const answer = await askProvider(target, backend.read(remote, place), deps, signal);
  const observed = understood(() => backend.observe(answer));
  const { events, checkpoints } = backend;
  const newEvents = events
    ? await newest(
        await knownEvents(deps.store.db, job.id),
        (after) => events.ask(remote, place, after),
        events.in,
        (request) => askProvider(target, request, deps, signal),
      )
    : [];
  const newCheckpoints = checkpoints
    ? await newest(
        await knownCheckpoints(deps.store.db, job.id),
        (after) => checkpoints.ask(remote, place, after),
        checkpoints.in,
        (request) => askProvider(target, request, deps, signal),
      )
    : [];
  const results = observed.status === 'succeeded' ? await fetchResults(observed, behind, deps, signal) : [];
  return { observed, events: newEvents, checkpoints: newCheckpoints, results };
}

/** Page by page, from the newest to the first that is known. */
async function newest<Item extends { readonly remoteId: string }>(
  known: ReadonlySet<string>,
  request: (after: string | null) => Question,
  read: (answer: unknown) => RemotePage<Item>,
  askFor: (request: Question) => Promise<unknown>,
): Promise<Item[]> {
  const found: Item[] = [];
  let after: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer: unknown = await askFor(request(after)).catch(unlessNone);
    const { items, next } = understood(() => read(answer));
    found.push(...items.filter(({ remoteId }) => !known.has(remoteId)));
    if (next === null || items.some(({ remoteId }) => known.has(remoteId))) break;
    after = next;
  }
  return found;
}

/** Not every provider with jobs has a list of their events. */
function unlessNone(error: unknown): { data: [] } {
  if (error instanceof ProviderRefused) return { data: [] };
  throw error;
}

async function fetchResults(
  { resultFiles = [] }: Observed,
  { backend, target, place }: Behind,
  deps: LookDeps,
  signal: AbortSignal,
): Promise<Segment[]> {
  const kept: Segment[] = [];
  if (!backend.result) return kept;
  for (const file of resultFiles.slice(0, MOST_RESULT_FILES)) {
    try {
      const incoming = await sendToProvider(target, { ...backend.result(file, place), body: null }, deps, signal);
      kept.push(await deps.files.keep(bounded(piecesOf(incoming))));
    } catch (error) {
      // A file that the provider no longer has, or that is none, is no reason to go without the model.
      if (!(error instanceof ProviderRefused)) throw error;
    }
  }
  return kept;
}

/** Metrics of steps are small; a provider that sends more must not fill the store. */
async function* bounded(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    if (bytes > MOST_RESULT_BYTES) throw new ProviderRefused(200, { message: 'a result file is too large' });
    yield piece;
  }
}

/** What was seen becomes part of the job, in the transaction of the worker that holds its work. */
export async function apply(db: Db, job: Job, seen: Seen, behind: Behind, deps: LookDeps): Promise<Job> {
  if (isFinished(job.state)) return job;
  const now = deps.now();
  const { observed } = seen;
  const resultFiles: string[] = [];
  for (const segment of seen.results) {
    const { id } = await deps.files.insert(db, {
      workspaceId: job.workspaceId,
      userId: job.userId,
      filename: 'step_metrics.csv',
      purpose: 'fine-tune-results',
      segments: [segment],
    });
    resultFiles.push(id);
  }
  const error = observed.error && { ...observed.error, message: inOurWords(observed.error.message, job) };
  const { state, entered } = advance(job, { ...observed, error }, now, resultFiles);
  const hyperparameters = observed.hyperparameters ?? job.remote.hyperparameters;
  const next: Job = { ...job, state, remote: { ...job.remote, hyperparameters } };
  const told = behind.backend.events ? retold(seen.events, job) : enteredEvents(state, entered, now);
  await keepEvents(db, job.id, told, now);
  await keepCheckpoints(db, job.id, [...seen.checkpoints].reverse(), now);
  await saveJob(db, next);
  await tellEnd(db, next, deps);
  return next;
}

/** To be called when a job was changed that had not ended before. */
export async function tellEnd(db: Db, { id, workspaceId, state }: Job, { notify }: Pick<LookDeps, 'notify'>) {
  if (isFinished(state)) await notify(db, { workspaceId, type: `fine_tuning.job.${state.status}`, id });
}
