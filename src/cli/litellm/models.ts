import * as z from 'zod';
import { type RateLimit, rateLimit, type UsageLimit, usageLimit } from '../../core/limits.ts';
import { schemaOf } from '../../core/schema.ts';
import type { VirtualKeyWish } from '../../desired/desired.ts';
import { checked, type Findings, type Place, pathText } from '../../desired/reading/findings.ts';
import type { Environment } from '../../desired/reading/secrets.ts';
import type { Path, Source } from '../../desired/reading/source.ts';
import { type Access, accessOf, type Saying } from './access.ts';
import { resetOf } from './budgets.ts';
import { grouped } from './grouping.ts';
import { asNumber } from './numbers.ts';
import { type Parameters, sorted, unknownInfo } from './parameters.ts';
import { type OwnPrice, priceOf } from './prices.ts';
import { deploymentOf } from './providers.ts';

const text = z.union([z.string().min(1), z.number().transform(String)], { error: 'give a text' });
const entry = z.looseObject({
  model_name: text,
  litellm_params: z.looseObject({ model: text }, { error: 'give an object with model and the rest' }),
});
const credential = z.looseObject({ credential_name: z.string(), credential_values: z.record(z.string(), z.unknown()) });

const share = z.number('give a number').min(0).max(1e6).nullish();
const seconds = z.number('give seconds').positive('give seconds above 0').max(86_400).nullish();
const attempts = z.int('give a whole number').min(0).nullish();

/** What a config says of one deployment beside whom it asks. */
export interface TargetParts {
  readonly default_params?: Readonly<Record<string, unknown>>;
  readonly drop_params?: readonly string[] | true;
  readonly request_timeout?: number;
  readonly retry?: { readonly attempts: number };
}

/** One line of the model list: how clients call it, and where it is now. */
export interface Model {
  readonly name: string;
  readonly slug: string;
  /** What the provider calls it. */
  readonly model: string;
  /** Its share among deployments of the same name. */
  readonly weight: number | null;
  readonly parts: TargetParts;
  readonly place: Place;
}

export interface Models {
  readonly virtualKeys: readonly VirtualKeyWish[];
  readonly models: readonly Model[];
}

/** A model as the file has it, before it is known which others share its credential. */
export interface ReadModel extends Omit<Model, 'slug'> {
  readonly access: Access;
  readonly limits: readonly RateLimit[];
  readonly budget: UsageLimit | null;
  readonly price: OwnPrice | null;
}

interface Reading {
  readonly source: Source;
  readonly findings: Findings;
  readonly environment: Environment;
  readonly folder: string;
  readonly credentials: Map<string, Parameters>;
}

/** The model list as virtual keys: one for each credential and the host it belongs to. */
export function readModels(
  source: Source,
  findings: Findings,
  { environment, folder, workspace }: { environment: Environment; folder: string; workspace: string },
): Models {
  const config = (source.value ?? {}) as Record<string, unknown>;
  const list = config.model_list;
  if (!Array.isArray(list) || list.length === 0) {
    findings.fault(source.placeOf(['model_list']), 'model_list: give a list of models');
    return { virtualKeys: [], models: [] };
  }
  const before = findings.count;
  const credentials = credentialsIn(config);
  const read = list.flatMap((value, index) => {
    const reading = { source, findings, environment, folder, credentials };
    return readModel(value, ['model_list', index], reading) ?? [];
  });
  if (read.length === 0 && findings.count === before)
    findings.fault(source.placeOf(['model_list']), 'model_list: none of its models can be taken over');
  return grouped(read, findings, workspace);
}

const credentialsIn = (config: Record<string, unknown>): Map<string, Parameters> =>
  new Map(
    (Array.isArray(config.credential_list) ? config.credential_list : [])
      .map((value) => credential.safeParse(value).data)
      .flatMap((found) => (found ? [[found.credential_name, found.credential_values]] : [])),
  );

function readModel(value: unknown, path: Path, reading: Reading): ReadModel | null {
  const { source, findings, credentials } = reading;
  const found = checked(entry, value, { source, path, findings });
  if (found === null) return null;
  const before = findings.count;
  let isGivenUp = false;
  const inside = [...path, 'litellm_params'];
  const own = found.litellm_params as Parameters & { model: string };
  const info = (found.model_info ?? {}) as Parameters;
  const at = (name: string) => (name in own || !(name in info) ? [...inside, name] : [...path, 'model_info', name]);
  const placed = (say: (place: Place, says: string) => void, glue: string) => (name: string, says: string) =>
    say(source.placeOf(at(name)), `${pathText(at(name))}${glue} ${says}`);
  const giveUp = (name: string, says: string) => {
    isGivenUp = true;
    findings.leaveOut(source.placeOf(at(name)), `model ${found.model_name}: ${name} ${says}`);
  };
  const saying: Saying = {
    refuse: placed(findings.fault, ':'),
    leaveOut: placed(findings.leaveOut, ''),
    note: placed(findings.note, ''),
    giveUp,
  };
  const stored = storedCredential(own, credentials, saying);
  const custom = own.custom_llm_provider;
  const deployment = deploymentOf(own.model, typeof custom === 'string' ? custom : undefined);
  if (typeof deployment === 'string') {
    findings.leaveOut(source.placeOf(at('model')), `model ${found.model_name}: ${deployment}`);
    return null;
  }
  const access = accessOf(deployment, { ...stored, ...own }, { ...reading, ...saying });
  const { defaults, drops, unknown } = sorted(own);
  for (const parameter of unknown) saying.leaveOut(parameter, 'has no counterpart');
  for (const member of unknownInfo(info)) saying.leaveOut(member, 'has no counterpart');
  const number = <Schema extends z.ZodType>(schema: Schema, name: string) =>
    checked(schema, asNumber(own[name]), { source, path: at(name), findings }) ?? null;
  const timeout = number(seconds, own.timeout === undefined ? 'request_timeout' : 'timeout');
  const retries = number(attempts, own.num_retries === undefined ? 'max_retries' : 'num_retries');
  const model: ReadModel = {
    name: found.model_name,
    model: deployment.model,
    access,
    place: source.placeOf(path),
    weight: number(share, 'weight'),
    limits: limitsIn(own, inside, source, findings),
    budget: budgetIn(own, inside, source, findings),
    price: priceOf(access.provider, { own, info }, saying),
    parts: partsOf(defaults, drops, { timeout, retries: atMost5(retries, (says) => saying.note('num_retries', says)) }),
  };
  return findings.count > before || isGivenUp ? null : model;
}

function storedCredential(own: Parameters, credentials: Reading['credentials'], { refuse }: Saying): Parameters {
  const name = own.litellm_credential_name;
  if (typeof name !== 'string') return {};
  const stored = credentials.get(name);
  if (!stored) refuse('litellm_credential_name', `there is no "${name}" in credential_list`);
  return stored ?? {};
}

/** How often a failed call is tried again here, whatever the file says. */
export function atMost5(retries: number | null, note: (says: string) => void): number | null {
  if (retries === null || retries <= 5) return retries;
  note(`is ${retries}; a call is tried again at most 5 times`);
  return 5;
}

const partsOf = (
  defaults: Readonly<Record<string, unknown>>,
  drops: readonly string[] | true,
  { timeout, retries }: { timeout: number | null; retries: number | null },
): TargetParts => ({
  ...(Object.keys(defaults).length > 0 && { default_params: defaults }),
  ...((drops === true || drops.length > 0) && { drop_params: drops }),
  ...(timeout !== null && { request_timeout: Math.round(timeout * 1_000) }),
  ...(retries !== null && { retry: { attempts: retries } }),
});

function limitsIn(own: Parameters, inside: Path, source: Source, findings: Findings): readonly RateLimit[] {
  const limit = (parameter: 'rpm' | 'tpm', type: RateLimit['type']) => {
    const value = asNumber(own[parameter]);
    if (value === undefined || value === null) return [];
    return (
      checked(schemaOf(rateLimit), { type, unit: 'rpm', value }, { source, path: [...inside, parameter], findings }) ??
      []
    );
  };
  return [limit('rpm', 'requests'), limit('tpm', 'tokens')].flat();
}

function budgetIn(own: Parameters, inside: Path, source: Source, findings: Findings): UsageLimit | null {
  const amount = asNumber(own.max_budget);
  if (amount === undefined || amount === null) return null;
  const reset = resetOf(typeof own.budget_duration === 'string' ? own.budget_duration : null);
  if (typeof reset === 'string') {
    const field = [...inside, 'budget_duration'];
    findings.fault(source.placeOf(field), `${pathText(field)}: ${reset}`);
    return null;
  }
  const limit = { type: 'cost', credit_limit: amount, ...reset };
  return checked(schemaOf(usageLimit), limit, { source, path: [...inside, 'max_budget'], findings });
}
