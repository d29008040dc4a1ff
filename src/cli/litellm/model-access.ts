import * as z from 'zod';
import { models as modelsInput } from '../../admin/schemas.ts';
import { allowedModels, storedModels } from '../../core/allowed-models.ts';
import { checked, type Findings, pathText } from '../../desired/reading/findings.ts';
import type { Path, Source } from '../../desired/reading/source.ts';
import { fromText, isEmpty } from './csv-values.ts';

/** Names with a meaning of their own in lists of models. */
const EVERY = 'all-proxy-models';
const OF_TEAM = 'all-team-models';
/** What LiteLLM itself calls a list that no model is on. */
const NONE = 'no-default-models';

/** Which models may be called; null: every one. */
export type ModelList = readonly string[] | null;

const team = z.looseObject({ team_id: z.string().min(1), models: z.array(z.string()).nullish() });
const listed = z.strictObject(modelsInput());
/** What a team says about itself, and what is about the past. */
const IDLE = new Set(
  'team_id team_alias models organization_id admins members members_with_roles spend blocked created_at updated_at model_spend metadata'.split(
    ' ',
  ),
);

/** The rows of LiteLLM_TeamTable: the models of each team. */
export function readTeams(source: Source, findings: Findings): ReadonlyMap<string, readonly string[]> {
  const { teams, data } = (source.value ?? {}) as { teams?: unknown; data?: unknown };
  const [list, path]: [unknown, Path] = Array.isArray(source.value)
    ? [source.value, []]
    : Array.isArray(teams)
      ? [teams, ['teams']]
      : [data, ['data']];
  if (!Array.isArray(list)) {
    findings.fault(source.placeOf([]), 'give the rows of LiteLLM_TeamTable: a list, or {"teams": […]}');
    return new Map();
  }
  const found = list.flatMap((value, index) => {
    const row = checked(team, fromText(value), { source, path: [...path, index], findings });
    if (row === null) return [];
    for (const [field, member] of Object.entries(row)) {
      if (IDLE.has(field) || isEmpty(member)) continue;
      findings.leaveOut(source.placeOf([...path, index, field]), `team ${row.team_id}: ${field} has no counterpart`);
    }
    return [[row.team_id, row.models ?? []] as const];
  });
  return new Map(found);
}

/** The names of models behind each access group of the config. */
export function accessGroups({ value }: Source): ReadonlyMap<string, readonly string[]> {
  const list = (value as { model_list?: unknown } | null)?.model_list;
  const pairs = (Array.isArray(list) ? list : []).flatMap((entry) => {
    const { model_name: name, model_info: info } = (entry ?? {}) as {
      model_name?: unknown;
      model_info?: { access_groups?: unknown } | null;
    };
    const groups = info?.access_groups;
    return (Array.isArray(groups) ? groups : []).map((group) => [String(group), String(name)] as const);
  });
  const grouped = Map.groupBy(pairs, ([group]) => group);
  return new Map([...grouped].map(([group, named]) => [group, named.map(([, name]) => name)]));
}

export interface AccessOf {
  readonly key: readonly string[];
  /** Undefined: the key has no team, or it is not known what the team may call. */
  readonly team: readonly string[] | undefined;
}

/** What a key may call here: what its own list and its team's both let through. */
export function modelsOfKey({ key, team }: AccessOf, groups: ReadonlyMap<string, readonly string[]>): ModelList {
  const own = listOf(
    key.flatMap((name) => (name === OF_TEAM ? (team ?? [EVERY]) : name)),
    groups,
  );
  const teams = listOf(team ?? [], groups);
  if (!own || !teams) return own ?? teams;
  const [byKey, byTeam] = [allowedModels(storedModels(own))!, allowedModels(storedModels(teams))!];
  const both = [...own.filter((name) => byTeam.allows(name)), ...teams.filter((name) => byKey.allows(name))];
  return both.length > 0 ? [...new Set(both)] : [NONE];
}

function listOf(names: readonly string[], groups: ReadonlyMap<string, readonly string[]>): ModelList {
  if (names.length === 0 || names.includes(EVERY)) return null;
  return [...new Set(names.flatMap((name) => groups.get(name) ?? name))];
}

/** A list in the form that keys have here; a fault gives undefined. */
export function checkedModels(
  models: ModelList,
  { source, path, findings }: { source: Source; path: Path; findings: Findings },
): ModelList | undefined {
  if (models === null) return null;
  const found = listed.safeParse({ models });
  if (found.success) return models;
  const field = [...path, 'models'];
  findings.fault(source.placeOf(field), `${pathText(field)}: ${found.error.issues[0]!.message}`);
  return undefined;
}
