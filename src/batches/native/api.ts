import type { BatchFault, Endpoint } from '../batch.ts';
import type { Result } from '../execute.ts';

/** A question to a provider, in JSON both ways. */
export interface Question {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly search?: string;
  readonly body?: unknown;
}

/** What a provider says about a job. */
export interface NativeJob {
  readonly id: string;
  /** `ended`: it has done what it could; what it did not is missing from its results. */
  readonly state: 'running' | 'ended' | 'failed' | 'expired' | 'cancelled';
  /** Paths below the provider's base where the results lie, line by line. */
  readonly results: readonly string[];
  readonly faults: readonly BatchFault[];
}

export interface NewJob {
  readonly batchId: string;
  readonly endpoint: Endpoint;
  /** Of the first request. */
  readonly model: string | null;
  /** What the provider calls the uploaded requests; null where they are in the call itself. */
  readonly file: string | null;
}

/** One answer, and which request it is to. */
export interface NativeResult {
  readonly name: string;
  readonly result: Omit<Result, 'id'>;
  /** What the provider counted, where it is to be found. */
  readonly body: unknown;
}

/**
 * A provider's own batch API, as pure functions: requests and results line by line, questions and answers about jobs.
 * Requests go under names of ours: the clients' own may be longer, or written otherwise, than the provider allows.
 */
export interface NativeApi {
  readonly endpoints: readonly Endpoint[];
  /** Whether requests are uploaded as a file, or stand inside the call that creates the job. */
  readonly takes: 'file' | 'inline';
  /** A request as the provider wants it. Throws when it cannot be said there: it then fails alone. */
  encodeLine(name: string, body: Uint8Array, endpoint: Endpoint): string;
  /** Creates the job; for `inline`, what comes before and after the requests. */
  create(job: NewJob): Question;
  /** Lists jobs in which `found` looks for ours; null: the provider keeps no mark of ours. */
  readonly list: Question | null;
  found(answer: unknown, batchId: string): NativeJob | null;
  read(id: string): Question;
  readJob(answer: unknown): NativeJob;
  cancel(id: string): Question;
  /** Null: a line that says nothing about any request. */
  readResult(line: unknown, endpoint: Endpoint, now: number): NativeResult | null;
}

export type Members = Readonly<Record<string, unknown>>;

export const members = (value: unknown): Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Members) : {};
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Ids become parts of paths. */
export const segment = (id: string): string => encodeURIComponent(id);

export const isGood = (status: unknown): boolean => typeof status === 'number' && status >= 200 && status < 300;
