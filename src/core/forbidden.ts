import { fail } from './errors.ts';
import { secretOptionNames } from './secret-names.ts';

/** What calls may be forbidden to bring along, beside single options of providers. */
export const FORBIDDABLE = [
  // Configs, and which one.
  'inline_config',
  'config',
  // Who is asked, and who pays.
  'virtual_key',
  'provider',
  'api_key',
  'custom_host',
  // The other members of a config, wherever in it they stand, and the headers that say the same.
  'name',
  'strategy',
  'targets',
  'weight',
  'passthrough',
  'retry',
  'cache',
  'request_timeout',
  'default_params',
  'override_params',
  'drop_params',
  'strip_model_prefix',
  'forward_headers',
  'strict_open_ai_compliance',
  'input_guardrails',
  'output_guardrails',
  // Headers that no config has a member for.
  'metadata',
  'debug',
] as const;

/** Under which other names the same thing may come. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  config: ['inline_config'],
  api_key: [...secretOptionNames],
  custom_host: ['azure_foundry_url', 'check_address'],
  cache: ['cache_force_refresh', 'cache_namespace'],
  input_guardrails: ['before_request_hooks'],
  output_guardrails: ['after_request_hooks'],
};

interface Prohibition {
  /** The rule, spelt as the organisation, the workspace or the key has it. */
  readonly rule: string;
  /** `the organisation`, `workspace research`, `API key notebook`. */
  readonly by: string;
  readonly isOfKey: boolean;
}

/** By what may come in a call: who forbids it. Made when a caller is looked up, so that a call asks and does not compute. */
export type Forbids = ReadonlyMap<string, Prohibition>;

interface Rules {
  readonly by: string;
  /** JSON as it is stored. */
  readonly stored: string | null | undefined;
  readonly isOfKey?: boolean;
}

export interface Places {
  readonly organisation: string | null | undefined;
  readonly workspace: { readonly slug: string; readonly stored: string | null | undefined };
  readonly key?: { readonly name: string; readonly stored: string | null | undefined };
}

/**
 * All that the organisation, the workspace and the key forbid a caller; undefined where none of them forbids anything.
 * If several forbid the same, the error names the highest.
 */
export function forbidsOf({ organisation, workspace, key }: Places): Forbids | undefined {
  if (!organisation && !workspace.stored && !key?.stored) return undefined;
  const all: Rules[] = [
    { by: 'the organisation', stored: organisation },
    { by: `workspace ${workspace.slug}`, stored: workspace.stored },
    { by: `API key ${key?.name}`, stored: key?.stored, isOfKey: true },
  ];
  const found = new Map<string, Prohibition>();
  for (const { by, stored, isOfKey = false } of all) {
    for (const rule of rulesIn(stored) ?? []) {
      for (const name of [rule, ...(ALSO[rule] ?? [])]) if (!found.has(name)) found.set(name, { rule, by, isOfKey });
    }
  }
  return found;
}

/** Rules as they are kept in a row; no rules are null. */
export const storedRules = (rules: readonly string[] | null | undefined): string | null =>
  rules && rules.length > 0 ? JSON.stringify(rules) : null;

export const rulesIn = (stored: string | null | undefined): readonly string[] | null =>
  stored ? (JSON.parse(stored) as string[]) : null;

/** What forbids something named so; `where` is the header, the member of a config or the field that it came in. */
export function refuseForbidden(forbids: Forbids | undefined, name: string, where: string): void {
  const found = forbids?.get(name);
  if (found) fail('forbidden_by_rule', where, found.rule, found.by);
}
