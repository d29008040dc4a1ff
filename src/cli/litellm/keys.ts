import * as z from 'zod';
import { type UsageLimit, usageLimit } from '../../core/limits.ts';
import { schemaOf } from '../../core/schema.ts';
import { DATA_SCOPES } from '../../core/scopes.ts';
import { sha256 } from '../../crypto/seal.ts';
import type { ApiKeyWish } from '../../desired/desired.ts';
import { checked, type Findings, pathText } from '../../desired/reading/findings.ts';
import type { Path, Source } from '../../desired/reading/source.ts';
import { resetOf } from './budgets.ts';
import { fromText, isEmpty } from './csv-values.ts';
import { checkedModels, modelsOfKey } from './model-access.ts';

const moment = z
  .string()
  .transform((text) => text.trim().replace(/^(\d{4}-\d\d-\d\d) /, '$1T'))
  .transform((text) => (/(Z|[+-]\d\d(:?\d\d)?)$/i.test(text) ? text.replace(/([+-]\d\d)$/, '$1:00') : `${text}Z`))
  .refine((text) => !Number.isNaN(Date.parse(text)), 'give a moment such as 2030-01-31T12:00:00Z')
  .transform((text) => new Date(text).toISOString());
const limit = z.int('give a whole number above 0').min(1, 'give a whole number above 0; block the key instead of 0');

/** The columns of LiteLLM_VerificationToken that have a counterpart. */
const record = z.looseObject({
  token: z
    .string()
    .regex(/^([0-9a-f]{64}|sk-\S+)$/, 'give the hash of the key (64 hexadecimal digits) or the sk-… key'),
  key_name: z.string().nullish(),
  key_alias: z.string().nullish(),
  expires: moment.nullish(),
  blocked: z.boolean().nullish(),
  models: z.array(z.string()).nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  user_id: z.string().nullish(),
  team_id: z.string().nullish(),
  team_models: z.array(z.string()).nullish(),
  rpm_limit: limit.nullish(),
  tpm_limit: limit.nullish(),
  max_budget: z.number().positive('give a number above 0; block the key instead of 0').nullish(),
  budget_duration: z.string().nullish(),
  budget_reset_at: moment.nullish(),
  spend: z.number().nullish(),
});
type Key = z.infer<typeof record>;

const TAKEN = new Set(Object.keys(record.shape));
/** About the past or about LiteLLM itself: nothing is lost without them. */
const IDLE = new Set(
  'created_at created_by updated_at updated_by last_active soft_budget_cooldown model_spend rotation_count last_rotation_at'.split(
    ' ',
  ),
);

export interface KeyOptions {
  readonly workspace: string;
  /** The config that routes by the names of models. */
  readonly config: string | null;
  /** The virtual key that calls of a key with these models go to, if there is one for all. */
  readonly defaultVirtualKey: (models: readonly string[]) => string | null;
  /** The names of models behind the access groups of the config. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  /** The models of each team that is known. */
  readonly teams: ReadonlyMap<string, readonly string[]>;
}

/** Keys keep their hashes, and so clients keep their keys. */
export function readKeys(source: Source, findings: Findings, options: KeyOptions): ApiKeyWish[] {
  const { list, path } = recordsIn(source.value);
  if (list === null) {
    findings.fault(source.placeOf([]), 'give the rows of LiteLLM_VerificationToken: a list, or {"keys": […]}');
    return [];
  }
  return list.flatMap((value, index) => readKey(fromText(value), [...path, index], source, findings, options) ?? []);
}

function recordsIn(value: unknown): { list: unknown[] | null; path: Path } {
  if (Array.isArray(value)) return { list: value, path: [] };
  const { keys, data } = (value ?? {}) as { keys?: unknown; data?: unknown };
  if (Array.isArray(keys)) return { list: keys, path: ['keys'] };
  return { list: Array.isArray(data) ? data : null, path: ['data'] };
}

function readKey(
  value: unknown,
  path: Path,
  source: Source,
  findings: Findings,
  { workspace, config, defaultVirtualKey, groups, teams }: KeyOptions,
): ApiKeyWish | null {
  const key = checked(record, value, { source, path, findings });
  if (key === null) return null;
  const hash = key.token.startsWith('sk-') ? sha256(key.token) : key.token;
  const name = (key.key_alias || key.key_name || `litellm ${hash.slice(0, 8)}`).trim().slice(0, 255);
  const leaveOut: LeaveOut = (field, why) =>
    findings.leaveOut(source.placeOf([...path, ...field]), `key ${name}: ${pathText(field)} ${why}`);
  const team = teams.get(key.team_id ?? '') ?? key.team_models ?? undefined;
  const models = checkedModels(modelsOfKey({ key: key.models ?? [], team }, groups), { source, path, findings });
  if (models === undefined) return null;
  const virtualKey = defaultVirtualKey(models ?? []);
  const metadata = metadataOf(key, leaveOut);
  sayWhatIsLeft(key, leaveOut, team !== undefined);
  const usage = budgetOf(key, path, source, findings);
  if (usage === null) return null;
  return {
    place: source.placeOf(path),
    ref: hash,
    workspace,
    secret: { hash, masked: maskedOf(key, hash), mayReplace: false },
    fields: {
      name,
      description: 'From LiteLLM',
      scopes: DATA_SCOPES,
      defaults: {
        ...(config !== null && { config }),
        ...(virtualKey !== null && { virtual_key: virtualKey }),
        ...(Object.keys(metadata).length > 0 && { metadata }),
      },
      models,
      // A blocked key is one that ended long ago: it answers 401 and can be opened again.
      expires_at: key.blocked ? new Date(0).toISOString() : (key.expires ?? null),
      rate_limits: [
        ...(key.rpm_limit ? [{ type: 'requests' as const, unit: 'rpm' as const, value: key.rpm_limit }] : []),
        ...(key.tpm_limit ? [{ type: 'tokens' as const, unit: 'rpm' as const, value: key.tpm_limit }] : []),
      ],
      usage_limits: usage,
    },
  };
}

/** LiteLLM shows keys as `sk-...abcd`; more than that is not shown here either. */
const maskedOf = ({ key_name }: Key, hash: string) =>
  key_name && /^sk-\.{3}\S{1,6}$/.test(key_name) ? key_name.replace('...', '***') : `sha256:${hash.slice(0, 6)}***`;

type LeaveOut = (field: Path, why: string) => void;

/** Short texts are added to every call of the key; who it belonged to stays visible in the log. */
function metadataOf({ metadata, user_id, team_id }: Key, leaveOut: LeaveOut): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(metadata ?? {})) {
    const isPlain = ['string', 'number', 'boolean'].includes(typeof value);
    if (isPlain && name !== '' && [...name].length <= 128 && [...String(value)].length <= 128)
      kept[name] = String(value);
    else leaveOut(['metadata', name], 'is not a text of at most 128 characters');
  }
  if (user_id) kept.user_id ??= user_id.slice(0, 128);
  if (team_id) kept.team_id ??= team_id.slice(0, 128);
  return kept;
}

function sayWhatIsLeft(key: Key, leaveOut: LeaveOut, knowsTeam: boolean) {
  if (key.team_id)
    leaveOut(
      ['team_id'],
      `is kept as metadata; the team's own limits are not${knowsTeam ? '' : ', nor its models: give them with --teams'}`,
    );
  if (key.max_budget && key.spend) leaveOut(['spend'], 'is not carried over: its budget starts again from 0');
  for (const [field, value] of Object.entries(key)) {
    if (TAKEN.has(field) || IDLE.has(field) || isEmpty(value)) continue;
    leaveOut([field], 'has no counterpart');
  }
}

/** Null: a fault. A key with a budget never becomes one without. */
function budgetOf(key: Key, path: Path, source: Source, findings: Findings): readonly UsageLimit[] | null {
  if (!key.max_budget) return [];
  const reset = resetOf(key.budget_duration);
  if (typeof reset === 'string') {
    const field = [...path, 'budget_duration'];
    findings.fault(source.placeOf(field), `${pathText(field)}: ${reset}`);
    return null;
  }
  const anchor = reset.periodic_reset_days && key.budget_reset_at ? { next_usage_reset_at: key.budget_reset_at } : {};
  const limits = { type: 'cost', credit_limit: key.max_budget, ...reset, ...anchor };
  const found = checked(schemaOf(usageLimit), limits, { source, path: [...path, 'max_budget'], findings });
  return found === null ? null : [found];
}
