import * as z from 'zod';
import { slugFrom } from '../../core/ids.ts';
import { type RateLimit, rateLimit } from '../../core/limits.ts';
import { canonical, type VirtualKeyWish } from '../desired/desired.ts';
import { checked, type Findings, type Place, pathText } from '../reading/findings.ts';
import type { Environment } from '../reading/secrets.ts';
import type { Path, Source } from '../reading/source.ts';
import { type Access, accessOf, type Parameters, unknownParameters } from './parameters.ts';
import { deploymentOf } from './providers.ts';

const entry = z.looseObject({
  model_name: z.string().min(1),
  litellm_params: z.looseObject({ model: z.string().min(1) }),
});
const credential = z.looseObject({ credential_name: z.string(), credential_values: z.record(z.string(), z.unknown()) });

const share = z.number().min(0).max(1e6).nullish();

/** One line of the model list: how clients call it, and where it is now. */
export interface Model {
  readonly name: string;
  readonly slug: string;
  /** What the provider calls it. */
  readonly model: string;
  /** Its share among deployments of the same name. */
  readonly weight: number | null;
  readonly place: Place;
}

export interface Models {
  readonly virtualKeys: readonly VirtualKeyWish[];
  readonly models: readonly Model[];
}

interface Read {
  readonly name: string;
  readonly model: string;
  readonly access: Access;
  readonly place: Place;
  readonly limits: readonly RateLimit[];
  readonly weight: number | null;
}

/** The model list as virtual keys: one for each credential and the host it belongs to. */
export function readModels(
  source: Source,
  findings: Findings,
  { environment, folder, workspace }: { environment: Environment; folder: string; workspace: string },
): Models {
  const config = (source.value ?? {}) as Record<string, unknown>;
  if (!Array.isArray(config.model_list)) {
    findings.fault(source.placeOf(['model_list']), 'model_list: give a list of models');
    return { virtualKeys: [], models: [] };
  }
  const credentials = credentialsIn(config);
  const read = config.model_list.flatMap((value, index) => {
    const path = ['model_list', index];
    return readModel(value, path, { source, findings, environment, folder, credentials }) ?? [];
  });
  return grouped(read, findings, workspace);
}

const credentialsIn = (config: Record<string, unknown>): Map<string, Parameters> =>
  new Map(
    (Array.isArray(config.credential_list) ? config.credential_list : [])
      .map((value) => credential.safeParse(value).data)
      .flatMap((found) => (found ? [[found.credential_name, found.credential_values]] : [])),
  );

function readModel(
  value: unknown,
  path: Path,
  reading: {
    source: Source;
    findings: Findings;
    environment: Environment;
    folder: string;
    credentials: Map<string, Parameters>;
  },
): Read | null {
  const { source, findings, credentials } = reading;
  const found = checked(entry, value, { source, path, findings });
  if (found === null) return null;
  const before = findings.faults.length;
  const inside = [...path, 'litellm_params'];
  const at = (parameter: string) => source.placeOf([...inside, parameter]);
  const own = found.litellm_params;
  const name = own.litellm_credential_name;
  const stored = typeof name === 'string' ? credentials.get(name) : {};
  if (!stored) findings.fault(at('litellm_credential_name'), `there is no "${name}" in credential_list`);
  const parameters: Parameters = { ...stored, ...own };
  const custom = own.custom_llm_provider;
  const deployment = deploymentOf(own.model, typeof custom === 'string' ? custom : undefined);
  if (typeof deployment === 'string') {
    findings.leaveOut(at('model'), `model ${found.model_name}: ${deployment}`);
    return null;
  }
  const refuse = (parameter: string, why: string) =>
    findings.fault(at(parameter), `${pathText([...inside, parameter])}: ${why}`);
  const leaveOut = (parameter: string, says: string) =>
    findings.leaveOut(at(parameter), `${pathText([...inside, parameter])} ${says}`);
  const access = accessOf(deployment, parameters, { ...reading, refuse, leaveOut });
  for (const parameter of unknownParameters(own)) leaveOut(parameter, 'has no counterpart');
  const info = Object.keys((found.model_info as object | null | undefined) ?? {}).filter((each) => each !== 'id');
  if (info.length > 0)
    findings.leaveOut(
      source.placeOf([...path, 'model_info']),
      `${pathText([...path, 'model_info'])}: ${info.join(', ')}`,
    );
  const limits = limitsIn(own, inside, source, findings);
  const weight = checked(share, own.weight, { source, path: [...inside, 'weight'], findings }) ?? null;
  if (findings.faults.length > before) return null;
  return { name: found.model_name, model: deployment.model, access, place: source.placeOf(path), limits, weight };
}

function limitsIn(own: Parameters, inside: Path, source: Source, findings: Findings): readonly RateLimit[] {
  const limit = (parameter: 'rpm' | 'tpm', type: RateLimit['type']) => {
    const value = own[parameter];
    if (value === undefined || value === null) return [];
    return checked(rateLimit(), { type, unit: 'rpm', value }, { source, path: [...inside, parameter], findings }) ?? [];
  };
  return [limit('rpm', 'requests'), limit('tpm', 'tokens')].flat();
}

/** Models that share a credential and its host share a virtual key. */
function grouped(read: readonly Read[], findings: Findings, workspace: string): Models {
  const groups = new Map<string, Read[]>();
  for (const each of read) {
    const { provider, key, custom_host, configurations } = each.access;
    const identity = canonical([provider, key, custom_host, configurations]);
    groups.set(identity, [...(groups.get(identity) ?? []), each]);
  }
  const taken = new Set<string>();
  const virtualKeys: VirtualKeyWish[] = [];
  const models: Model[] = [];
  for (const group of groups.values()) {
    const slug = slugFor(group[0]!, taken);
    taken.add(slug);
    virtualKeys.push(wishOf(group, slug, workspace));
    for (const { name, model, limits, weight, place } of group) {
      models.push({ name, slug, model, weight, place });
      // A limit of the whole credential would be another one than that of a single model.
      if (limits.length > 0 && group.length > 1)
        findings.leaveOut(place, `model ${name}: rpm and tpm, because other models share its credential (${slug})`);
    }
  }
  return { virtualKeys, models };
}

function wishOf(group: readonly Read[], slug: string, workspace: string): VirtualKeyWish {
  const { access, place, limits } = group[0]!;
  const { provider, key, custom_host, configurations } = access;
  return {
    place,
    ref: `${workspace}/${slug}`,
    workspace,
    slug,
    key,
    fields: {
      name: slug,
      note: `From LiteLLM: ${[...new Set(group.map(({ name }) => name))].join(', ')}`.slice(0, 2_000),
      provider,
      custom_host,
      configurations,
      expires_at: null,
      rate_limits: group.length === 1 ? limits : [],
      usage_limits: [],
    },
  };
}

/** From names that stay: the variable of the credential, then the place, then the model; the first that is free. */
function slugFor({ access, name }: Read, taken: ReadonlySet<string>): string {
  const { provider, variable, place } = access;
  const own = variable?.replace(/_?(API_)?(KEY|TOKEN)$/i, '') || provider;
  const base = slugFrom(own, provider);
  const candidates = [base, ...(place ? [slugFrom(`${base}-${place}`, base)] : []), slugFrom(`${base}-${name}`, base)];
  const free = candidates.find((candidate) => !taken.has(candidate));
  if (free) return free;
  for (let number = 2; ; number++) if (!taken.has(`${base}-${number}`)) return `${base}-${number}`;
}
