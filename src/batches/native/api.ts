import type { BatchStorage } from '../../providers/batch-storage.ts';
import type { ProviderOptions } from '../../providers/provider.ts';
import type { Question } from '../../relay/provider-call.ts';
import type { BatchFault, Endpoint } from '../batch.ts';
import type { Result } from '../execute.ts';

/** What a provider says about a job. */
export interface NativeJob {
  readonly id: string;
  /** `ended`: it has done what it could; what it did not is missing from its results. */
  readonly state: 'running' | 'ended' | 'failed' | 'expired' | 'cancelled';
  /** Where the results lie, line by line: paths below the provider's base, or folders of a bucket. */
  readonly results: readonly string[];
  readonly faults: readonly BatchFault[];
}

/** What a page of jobs says about ours. */
export interface Found {
  readonly job: NativeJob | null;
  /** Where the next page begins; null: this was the last. */
  readonly next: string | null;
}

/** In whose account a job runs. */
export interface Place {
  readonly options: ProviderOptions;
  /** The bucket that the virtual key names. */
  readonly storage: BatchStorage | null;
}

export interface NewJob {
  readonly batchId: string;
  readonly endpoint: Endpoint;
  /** Of the first request. */
  readonly model: string | null;
  /** What the provider calls the uploaded requests; null where they are in the call itself. */
  readonly file: string | null;
  readonly place: Place;
}

/** One answer, and which request it is to. */
export interface NativeResult {
  readonly name: string;
  readonly result: Omit<Result, 'id' | 'usage'>;
  /** What the provider counted, where it is to be found. */
  readonly body: unknown;
}

export interface ResultContext {
  readonly endpoint: Endpoint;
  /** Of the first request, where all of them have the same. */
  readonly model: string | null;
  readonly now: number;
}

/** What a provider asks of a batch as a whole. One that does not fit goes through the gateway. */
export interface Demands {
  readonly leastRequests?: number;
  readonly hasOneModel?: boolean;
  /** Whether it can do this request at all. */
  fits?(body: Members): boolean;
}

/**
 * A provider's own batch API, as pure functions: requests and results line by line, questions and answers about jobs.
 * Requests go under names of ours: the clients' own may be longer, or written otherwise, than the provider allows.
 */
export interface NativeApi {
  readonly endpoints: readonly Endpoint[];
  /** Where requests go: into a file at the provider, into the call that creates the job, or into a bucket. */
  readonly takes: 'file' | 'inline' | 'gs' | 's3';
  readonly demands?: Demands;
  /** Refuses a configuration that lacks something, before the batch is made. */
  check?(place: Place): void;
  /** A request as the provider wants it. Throws when it cannot be said there: it then fails alone. */
  encodeLine(name: string, body: Uint8Array, endpoint: Endpoint): string;
  /** Creates the job; for `inline`, what comes before and after the requests. */
  create(job: NewJob): Question;
  /** Lists jobs in which `found` looks for ours, page by page; null: the provider keeps no mark of ours. */
  readonly list: ((job: NewJob, after: string | null) => Question) | null;
  /** Throws when the answer is no such list: to take that for an empty one would make the job once more. */
  found(answer: unknown, batchId: string, after: string | null): Found;
  read(id: string): Question;
  readJob(answer: unknown): NativeJob;
  cancel(id: string): Question;
  /** Null: a line that says nothing about any request. */
  readResult(line: unknown, context: ResultContext): NativeResult | null;
  /** What is to be deleted there when the batch is over: paths below the provider's base, or folders of a bucket. */
  leftovers(what: Left): readonly string[];
}

/** What a batch leaves at the provider, as far as it got. */
export interface Left {
  readonly file: string | null;
  readonly job: NativeJob | null;
}

export type Members = Readonly<Record<string, unknown>>;

export const members = (value: unknown): Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Members) : {};
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** Some leave out a list that is empty; what is something else is no list. */
export function jobsIn(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error('the provider did not answer with a list of jobs');
  return value;
}
export const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Ids become parts of paths. */
export const segment = (id: string): string => encodeURIComponent(id);

export const isGood = (status: unknown): boolean => typeof status === 'number' && status >= 200 && status < 300;

/** An answer with its status, as a line of the output or the error file has it. */
export const answered = (name: string, status: number, body: unknown, requestId = ''): NativeResult => ({
  name,
  body,
  result: {
    isError: !isGood(status),
    response: JSON.stringify({ status_code: status, request_id: requestId, body }),
    error: null,
  },
});

export const unanswered = (name: string, code: string, message: string): NativeResult => ({
  name,
  body: null,
  result: { isError: true, response: null, error: JSON.stringify({ code, message }) },
});

export const unexplained = (name: string): NativeResult =>
  unanswered(name, 'invalid_response', 'The provider gave neither an answer nor a reason.');

/** The files of a job that was uploaded to the provider and answered in others. */
export const filesOf = ({ file, job }: Left): string[] => [
  ...(file === null ? [] : [`/files/${segment(file)}`]),
  ...(job?.results ?? []).map((path) => path.replace(/\/content$/, '')),
];
