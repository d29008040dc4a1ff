import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../../core/errors.ts';
import type { Question } from '../../relay/provider-call.ts';
import type { JobRequest } from '../input.ts';
import { azure } from './azure.ts';
import { type Backend, checkExpressible, type NewJob, type Place } from './backend.ts';
import { bedrock } from './bedrock.ts';
import { fireworks } from './fireworks.ts';
import { openai } from './openai.ts';
import { vertex } from './vertex.ts';

const backends: Record<string, Backend> = { openai, azure, vertex, bedrock, fireworks };
const fixtures = join(import.meta.dir, 'fixtures');

interface Found {
  readonly answer: unknown;
  readonly job: string | null;
  readonly next: string | null;
}

/** One case: what we ask, what the provider says, what we make of it. A new case is a new file. */
type Case = { readonly source: string; readonly place?: Partial<Place> } & (
  | {
      readonly kind: 'create';
      readonly request: Partial<JobRequest>;
      readonly validation?: true;
      readonly sent: Question;
      readonly answer: unknown;
      readonly remote: string;
    }
  | {
      readonly kind: 'asks';
      readonly remote: string;
      readonly read: Question;
      readonly cancel: Question;
      readonly pause?: Question;
      readonly resume?: Question;
      readonly events?: Question;
      readonly checkpoints?: Question;
      readonly find?: Question;
      readonly found?: readonly Found[];
    }
  | { readonly kind: 'state'; readonly answer: unknown; readonly observed: unknown; readonly unreadable?: string }
  | {
      readonly kind: 'events' | 'checkpoints';
      readonly answer: unknown;
      readonly items: unknown;
      readonly next: unknown;
    }
  | { readonly kind: 'error'; readonly status: number; readonly answer: unknown; readonly error: unknown }
  | {
      readonly kind: 'file';
      readonly prepare?: Question;
      readonly sending: unknown;
      readonly answer: unknown;
      readonly name: string;
      readonly find?: Question;
      readonly found?: readonly { answer: unknown; name: string | null }[];
      readonly readinessAsk?: Question;
      readonly readiness?: readonly { answer: unknown; is: unknown }[];
      readonly examples?: readonly { method: 'supervised' | 'dpo'; from: unknown; to?: unknown; bad?: string }[];
    }
);

const asked: JobRequest = {
  model: 'base',
  training_file: 'file-ours',
  validation_file: null,
  suffix: null,
  seed: 7,
  isSeedGiven: false,
  method: { type: 'supervised', hyperparameters: {} },
  isMethodGiven: false,
  integrations: null,
  metadata: {},
  providerOptions: {},
  extra: {},
};
const jobOf = (request: Partial<JobRequest> = {}, hasValidation = false): NewJob => ({
  id: 'ftjob-0Vb1KV7s000ZeKT2EGSAXSZ8',
  request: { ...asked, ...request },
  trainingFile: 'file-remote',
  validationFile: hasValidation ? 'file-remote-2' : null,
});
const file = { name: 'gw-file', bytes: 120 };

function check(backend: Backend, given: Case) {
  const place: Place = { options: {}, tuning: {}, hasCustomHost: false, ...given.place };
  switch (given.kind) {
    case 'create': {
      const job = jobOf(given.request, given.validation);
      checkExpressible(job.request, 'it', backend);
      backend.check?.(place);
      expect(backend.create(job, place)).toEqual(given.sent);
      return expect(backend.createdIn(given.answer, job)).toBe(given.remote);
    }
    case 'asks':
      return checkAsks(backend, given, place);
    case 'state':
      if (given.unreadable) return expect(() => backend.observe(given.answer)).toThrow(given.unreadable);
      return expect(backend.observe(given.answer)).toEqual(given.observed as never);
    case 'events':
    case 'checkpoints':
      return expect(backend[given.kind]?.in(given.answer)).toEqual({ items: given.items, next: given.next } as never);
    case 'error':
      return expect(backend.failure(given.status, given.answer)).toEqual(given.error as never);
    case 'file':
      return checkFile(backend, given, place);
    default:
      return given satisfies never;
  }
}

function checkAsks(backend: Backend, given: Case & { kind: 'asks' }, place: Place) {
  const { remote } = given;
  expect(backend.read(remote, place)).toEqual(given.read);
  expect(backend.cancel(remote, place)).toEqual(given.cancel);
  if (given.pause) expect(backend.pause?.(remote, place)).toEqual(given.pause);
  if (given.resume) expect(backend.resume?.(remote, place)).toEqual(given.resume);
  if (given.events) expect(backend.events?.ask(remote, place, null)).toEqual(given.events);
  if (given.checkpoints) expect(backend.checkpoints?.ask(remote, place, null)).toEqual(given.checkpoints);
  if (given.find) expect(backend.find(jobOf(), place, null)).toEqual(given.find);
  for (const { answer, ...found } of given.found ?? []) expect(backend.foundIn(answer, jobOf())).toEqual(found);
}

function checkFile({ files }: Backend, given: Case & { kind: 'file' }, place: Place) {
  if (given.prepare) expect(files.prepare?.(file, place)).toEqual(given.prepare);
  const { signed: _, ...sending } = files.send(file, place);
  expect(sending).toEqual(given.sending as never);
  expect(files.nameIn(given.answer, file, place)).toBe(given.name);
  if (given.find) expect(files.find?.(place)).toEqual(given.find);
  for (const { answer, name } of given.found ?? []) expect(files.foundIn?.(answer, file)).toEqual(name);
  if (given.readinessAsk) expect(files.readiness?.ask(given.name, place)).toEqual(given.readinessAsk);
  for (const { answer, is } of given.readiness ?? []) expect(files.readiness?.in(answer)).toEqual(is as never);
  for (const { method, from, to, bad } of given.examples ?? [])
    if (bad) expect(() => files.translate?.(from, method)).toThrow(bad);
    else expect(files.translate?.(from, method)).toEqual(to);
}

for (const [name, backend] of Object.entries(backends))
  describe(name, () => {
    const cases = readdirSync(join(fixtures, name)).filter((each) => each.endsWith('.json'));
    test('there are cases for creation, states, questions, files and errors', () => {
      for (const kind of ['create', 'state', 'asks', 'file', 'error'])
        expect(cases.some((each) => each.startsWith(kind))).toBe(true);
    });
    for (const each of cases)
      test(each.replace('.json', ''), () =>
        check(backend, JSON.parse(readFileSync(join(fixtures, name, each), 'utf8'))),
      );
  });

/** The fault that a request has for a provider. */
function refusal(backend: Backend, request: Partial<JobRequest>): [string, string | null, string] | null {
  try {
    checkExpressible({ ...asked, ...request }, 'it', backend);
    return null;
  } catch (error) {
    const { code, param, message } = error as GatewayError;
    return [code, param, message];
  }
}

test('what a provider cannot be asked for is refused by its name', () => {
  const reinforcement = { method: { type: 'reinforcement' as const, hyperparameters: {}, grader: {} } };
  const dpo = { method: { type: 'dpo' as const, hyperparameters: {} } };
  const rate = { method: { type: 'supervised' as const, hyperparameters: { learning_rate_multiplier: 2 } } };
  const automatic = { method: { type: 'supervised' as const, hyperparameters: { learning_rate_multiplier: 'auto' } } };

  expect(refusal(openai, { ...reinforcement, isSeedGiven: true, extra: { new: 1 } })).toBeNull();
  for (const backend of [vertex, bedrock, fireworks]) {
    expect(refusal(backend, reinforcement)?.slice(0, 2)).toEqual(['not_expressible', 'method.type']);
    expect(refusal(backend, { isSeedGiven: true })?.[1]).toBe('seed');
    expect(refusal(backend, { integrations: [{ type: 'wandb', wandb: { project: 'p' } }] })?.[1]).toBe('integrations');
    expect(refusal(backend, { extra: { novel: 1 } })?.slice(0, 2)).toEqual(['unknown_parameter', 'novel']);
    expect(refusal(backend, { providerOptions: { novel: 1 } })?.[1]).toBe('provider_options.novel');
  }
  expect(refusal(bedrock, dpo)?.[2]).toBe('method.type: cannot be sent to it: it has supervised, not dpo.');
  expect(refusal(bedrock, rate)?.[1]).toBe('method.supervised.hyperparameters.learning_rate_multiplier');
  expect(refusal(bedrock, automatic)).toBeNull();
});

test('what the virtual key lacks is named before anything is sent', () => {
  const bare: Place = { options: {}, tuning: {}, hasCustomHost: false };
  const paramOf = (work: () => void) => {
    try {
      work();
    } catch (error) {
      return error instanceof GatewayError ? error.param : error;
    }
    return null;
  };
  expect(paramOf(() => fireworks.check?.(bare))).toBe('configurations.fine_tuning.account_id');
  expect(paramOf(() => bedrock.check?.(bare))).toBe('configurations.fine_tuning.role_arn');
  expect(paramOf(() => bedrock.files.check?.(bare))).toBe('configurations.fine_tuning.storage_uri');
  expect(paramOf(() => vertex.check?.(bare))).toBe('vertex_project_id');
  expect(paramOf(() => vertex.files.check?.({ ...bare, tuning: { storage_uri: 's3://bucket' } }))).toBe(
    'configurations.fine_tuning.storage_uri',
  );
  const elsewhere = { ...bare, tuning: { storage_uri: 'gs://bucket' }, hasCustomHost: true };
  expect(paramOf(() => vertex.files.check?.(elsewhere))).toBe('training_file');
});
