import type { AllowedModels } from '../core/allowed-models.ts';
import { fail } from '../core/errors.ts';
import type { GuardrailUse } from '../core/guardrails.ts';
import { READ_LIMITS, shapeFault } from '../core/json-shape.ts';
import type { Principal } from '../core/principal.ts';
import type { ProviderOptions } from '../providers/provider.ts';
import { findProvider } from '../providers/registry.ts';
import { modelsInPath } from './addressed-model.ts';
import type { Attempt, OpenCall } from './call.ts';
import { type NamedModel, namedModels } from './named-models.ts';

/** Where a model would be asked. */
interface Place {
  readonly provider: string;
  readonly virtualKey: string | null;
}

/** Whether a list has a model: by its name, or with its provider or virtual key before it. */
export function isAllowed(models: AllowedModels, name: string, { provider, virtualKey: slug }: Place): boolean {
  if (models.allows(name) || models.allows(`${provider}/${name}`)) return true;
  if (slug === null) return false;
  // A virtual key that is called like another provider is not taken for it.
  const isPlain = slug === provider || findProvider(slug) === undefined;
  return models.allows(`@${slug}/${name}`) || (isPlain && models.allows(`${slug}/${name}`));
}

/** Refuses a model that the caller's key may not call. */
export function refuseUnlisted({ models }: Principal, name: string, place: Place): void {
  if (models && !isAllowed(models, name, place)) fail('model_not_allowed', name, models.names);
}

/** A model of a body whose caller may not call it; undefined: there is none. Null: the body names no model of its own. */
export function unlistedIn(models: AllowedModels, body: string, place: Place): string | null | undefined {
  const named = namedModels(body);
  if (!named?.some(isOwn)) return null;
  return named.filter((each) => isOwn(each) || isFurther(each)).find(({ name }) => !isAllowed(models, name, place))
    ?.name;
}

/** Refuses everything that names a model anywhere in a body which the key may not call. */
export function refuseUnlistedIn(principal: Principal, body: unknown, place: Place): void {
  if (!principal.models) return;
  for (const { name } of namedModels(JSON.stringify(body)) ?? []) refuseUnlisted(principal, name, place);
}

const isOwn = ({ path }: NamedModel): boolean => path.length === 1 && path[0] === 'model';

/** Calls that run nothing. */
const READING = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/**
 * Refuses a call of a key that may call certain models, unless its model is one of them: as it goes out, with what a
 * config and guardrails have made of it. The key's own default config is the operator's word: what it makes of a model
 * that the key may call is allowed, and so is the model that it gives to a call that names none.
 */
export function refuseOtherModels(call: OpenCall, { target }: Attempt, models: AllowedModels): void {
  const { request, log, asked, config, principal, isJson } = call;
  if (READING.has(request.method)) return;
  const place = { provider: target.provider.name, virtualKey: target.virtualKey };
  const { model } = log;
  const isOperators = config !== null && config === principal.defaults.config;
  const isChosenFor = isOperators && isJson && (asked === null ? model !== null : models.allows(asked));
  if (!isChosenFor && (model === null || !isAllowed(models, model, place)))
    fail('model_not_allowed', model, models.names);
  for (const name of alsoNamed(call, target.virtualKey === null ? target.options : {}))
    if (name !== model && !isAllowed(models, name, place)) fail('model_not_allowed', name, models.names);
}

/** Headers of providers that lead a call to another model than its body says. */
const HEADERS = [
  'azureml-model-deployment',
  'x-amzn-sagemaker-target-model',
  'x-amzn-sagemaker-target-variant',
  'x-amzn-sagemaker-inference-component',
];
/** The same as options of a provider that the caller names; a virtual key's are the operator's. */
const OPTIONS = [
  'azure_deployment_id',
  'azure_deployment_name',
  'predibase_deployment',
  'amzn_sagemaker_target_model',
  'amzn_sagemaker_target_variant',
  'amzn_sagemaker_inference_component',
];

/** Models that a call names beside the one that counts: a provider may take one of them. */
function alsoNamed(call: OpenCall, options: ProviderOptions): string[] {
  const { headers, search, endpoint, path } = call;
  const stated = [...HEADERS.map((name) => headers[name]), ...OPTIONS.map((name) => options[name])];
  return [
    ...stated.filter((name) => typeof name === 'string'),
    ...new URLSearchParams(search).getAll('model'),
    ...(endpoint === 'proxy' ? inProxied(call, path) : []),
    ...inBody(call),
  ];
}

/** What is named by its id there has models of its own. */
const ELSEWHERE =
  /\/(?:files|uploads|batches|threads|assistants|evals|batchPredictionJobs|model-invocation-jobs?)(?:\/|$)/i;

function inProxied({ principal }: OpenCall, path: string): string[] {
  if (ELSEWHERE.test(path)) fail('model_not_allowed', null, principal.models!.names);
  return modelsInPath(path);
}

/** Where the formats that the gateway knows name further models: tools that ask one, lists to choose from. */
const FURTHER = new Set(['models', 'tools model', 'requests model']);
const isFurther = ({ path }: NamedModel): boolean => path.length === 1 || FURTHER.has(path.join(' ').toLowerCase());

function inBody({ isJson, body, endpoint }: OpenCall): string[] {
  if (!isJson || !body) return [];
  const fault = shapeFault(body.head, READ_LIMITS);
  const named = fault ? null : namedModels(new TextDecoder().decode(body.head));
  if (!named) fail('model_hidden', 'the body is no JSON object in UTF-8 that can be read to its end');
  return named
    .filter((each) => endpoint === 'proxy' || (!isOwn(each) && isFurther(each)))
    .map(({ name }) => name.replace(/^models\//, ''));
}

/** Refuses checks that a caller wrote into a config and that ask a model which the caller may not call. */
export function refuseUnlistedChecks(guardrails: GuardrailUse, models: AllowedModels): void {
  for (const reference of [...guardrails.input, ...guardrails.output]) {
    if (typeof reference === 'string') continue;
    for (const { path, name } of namedModels(JSON.stringify(reference)) ?? [])
      if (path.at(-1) === 'model' && !models.allows(name)) fail('model_not_allowed', name, models.names);
  }
}
