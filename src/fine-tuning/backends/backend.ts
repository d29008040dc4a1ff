import { createHash } from 'node:crypto';
import { fail } from '../../core/errors.ts';
import type { FineTuningOptions } from '../../providers/fine-tuning-options.ts';
import type { Authorize, ProviderOptions } from '../../providers/provider.ts';
import type { Question } from '../../relay/provider-call.ts';
import type { JobRequest, Method } from '../input.ts';
import type { JobError, JobId, Observed } from '../job.ts';

/** Whose account a job runs in. */
export interface Place {
  readonly options: ProviderOptions;
  readonly tuning: FineTuningOptions;
  /** Whether a host stands in the provider's place: then nothing goes to other hosts of the provider. */
  readonly hasCustomHost: boolean;
}

export interface NewJob {
  readonly id: JobId;
  readonly request: JobRequest;
  /** What the files are called at the provider. */
  readonly trainingFile: string;
  readonly validationFile: string | null;
}

export interface RemoteEvent {
  readonly remoteId: string;
  /** Milliseconds. */
  readonly createdAt: number;
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly type: 'message' | 'metrics';
  readonly data: unknown;
}

export interface RemoteCheckpoint {
  readonly remoteId: string;
  readonly createdAt: number;
  readonly model: string;
  readonly stepNumber: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/** One page of a list, newest first. */
export interface RemotePage<Item> {
  readonly items: readonly Item[];
  /** Where the next page begins; null: this was the last. */
  readonly next: string | null;
}

/** A file that is to be at the provider. */
export interface FileToSend {
  /** The same whenever the same job needs the same file: lower-case letters, digits and dashes. */
  readonly name: string;
  readonly bytes: number;
}

/** How the bytes of a file travel. */
export interface Sending {
  readonly method: 'POST' | 'PUT';
  /** Below the provider's base. */
  readonly path?: string;
  /** At another host of the provider, such as that of its buckets. */
  readonly url?: string;
  readonly contentType?: string;
  /** As the file of a form, with these fields before it. */
  readonly form?: { readonly fields: Readonly<Record<string, string>>; readonly filename: string };
  /** Where the other host wants another signature, which covers the body. */
  readonly signed?: Authorize;
}

/** How a provider gets at training files. */
export interface RemoteFiles {
  readonly mostBytes: number;
  /** Addresses that may stand in place of a file's id, and are used as they are. */
  readonly reference?: { readonly pattern: RegExp; readonly example: string };
  /** Refuses what cannot be sent, before the job is made. */
  check?(place: Place): void;
  /** What has to be there before the bytes. A 409 means that it is there already. */
  prepare?(file: FileToSend, place: Place): Question;
  send(file: FileToSend, place: Place): Sending;
  /** What it is called from then on. */
  nameIn(answer: unknown, file: FileToSend, place: Place): string;
  /** Looks for an upload whose answer never came. */
  find?(place: Place): Question;
  foundIn?(answer: unknown, file: FileToSend): string | null;
  /** Whether it can be used yet; left out where that is so at once. */
  readonly readiness?: {
    ask(name: string, place: Place): Question;
    in(answer: unknown): 'ready' | 'waiting' | JobError;
  };
  /** One example in the provider's format; left out where the formats are the same. Throws `BadExample`. */
  translate?(example: unknown, method: Method['type']): unknown;
}

/** What makes a job expressible in a provider's words. */
export interface Vocabulary {
  /** The hyperparameters of each method that it has. */
  readonly methods: Readonly<Partial<Record<Method['type'], readonly string[]>>>;
  readonly hasSeed: boolean;
  readonly hasIntegrations: boolean;
  /** Whether members of the body that the gateway does not know may be meant for it. */
  readonly takesExtra: boolean;
  /** What `provider_options` may hold. */
  readonly options: readonly string[];
}

/**
 * Fine-tuning at one family of providers: pure functions between our job and its requests and answers. What they throw
 * about an answer means that the answer cannot be read, and counts as none.
 */
export interface Backend {
  readonly vocabulary: Vocabulary;
  readonly files: RemoteFiles;
  /** Refuses what is missing in the configuration, before the job is made. */
  check?(place: Place): void;
  create(job: NewJob, place: Place): Question;
  /** What the new job is called at the provider. */
  createdIn(answer: unknown, job: NewJob): string;
  /** Looks for a job that was created, though its answer never came. A 404 means that there is none. */
  find(job: NewJob, place: Place, after: string | null): Question;
  foundIn(answer: unknown, job: NewJob): { readonly job: string | null; readonly next: string | null };
  read(remote: string, place: Place): Question;
  observe(answer: unknown): Observed;
  cancel(remote: string, place: Place): Question;
  pause?(remote: string, place: Place): Question;
  resume?(remote: string, place: Place): Question;
  /** Left out: the gateway tells what happened from the states it sees. */
  readonly events?: {
    ask(remote: string, place: Place, after: string | null): Question;
    in(answer: unknown): RemotePage<RemoteEvent>;
  };
  readonly checkpoints?: {
    ask(remote: string, place: Place, after: string | null): Question;
    in(answer: unknown): RemotePage<RemoteCheckpoint>;
  };
  /** Where the bytes of a result file are. */
  result?(remoteFile: string, place: Place): Question;
  /** What a refusal says, in the words of a job's error. */
  failure(status: number, answer: unknown): JobError;
}

/** An example of a training file that the provider's format cannot hold. */
export class BadExample extends Error {}

/** What the virtual key has to say first. */
export const missing = (provider: string, option: keyof FineTuningOptions): never =>
  fail(
    'invalid_provider_option',
    `configurations.fine_tuning.${option}`,
    `${provider} needs it for fine-tuning; set it on the virtual key.`,
  );

/** Our id as a name that every provider takes: lower-case, at most 35 characters. */
export const tokenOf = (id: string): string => `gw-${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;

/** Refuses what the provider cannot be asked for: nothing is left out without a word. */
export function checkExpressible(request: JobRequest, provider: string, { vocabulary }: Pick<Backend, 'vocabulary'>) {
  const refuse = (param: string, why: string): never => fail('not_expressible', param, provider, why);
  const { type, hyperparameters } = request.method;
  const known = vocabulary.methods[type];
  if (!known) return refuse('method.type', `it has ${Object.keys(vocabulary.methods).join(' and ')}, not ${type}`);
  for (const [name, value] of Object.entries(hyperparameters))
    if (value !== 'auto' && !known.includes(name))
      refuse(`method.${type}.hyperparameters.${name}`, `it has ${known.join(', ')}`);
  if (request.isSeedGiven && !vocabulary.hasSeed) refuse('seed', 'it takes none');
  if (request.integrations?.length && !vocabulary.hasIntegrations) refuse('integrations', 'it has none');
  for (const name of Object.keys(request.providerOptions))
    if (!vocabulary.options.includes(name))
      refuse(`provider_options.${name}`, `it knows ${vocabulary.options.join(', ') || 'none'}`);
  const [extra] = Object.keys(request.extra);
  if (extra !== undefined && !vocabulary.takesExtra) fail('unknown_parameter', extra.slice(0, 80));
}

/** The hyperparameters that are not left to the provider, under the provider's names. */
export function renamed<Value>(
  { hyperparameters }: Method,
  names: Readonly<Record<string, string>>,
  written: (value: number | string) => Value,
): Record<string, Value> {
  const found: Record<string, Value> = {};
  for (const [ours, theirs] of Object.entries(names)) {
    const value = hyperparameters[ours];
    if (value !== undefined && value !== 'auto') found[theirs] = written(value);
  }
  return found;
}
