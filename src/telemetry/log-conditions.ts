import { type RawBuilder, sql } from 'kysely';
import { charactersIn } from '../core/characters.ts';
import type { Engine } from '../storage/migrate.ts';
import { conditionOf, mayOftenHold } from './filter/conditions.ts';
import { fieldTerms } from './filter/language.ts';
import { NO_WORKSPACE } from './log-columns.ts';
import type { LogFilter } from './log-query.ts';

type Condition = RawBuilder<boolean>;

/** The pair by which entries are found, when there is one; further pairs are looked up for each entry. */
export const firstPair = ({ metadata = {} }: LogFilter): [string, string] | undefined => Object.entries(metadata)[0];

/** Labels are found by workspace: a question about them has to be asked about each. */
export const asksForLabels = (filter: LogFilter): boolean =>
  firstPair(filter) !== undefined || fieldTerms(filter.terms).some(({ key }) => key !== null);

/** What a filter asks of an entry of that workspace, beside its first pair of metadata. */
export function conditionsOf(filter: LogFilter, workspace: string | null): Condition[] {
  const conditions = [sql<boolean>`request_logs.organisation_id = ${filter.organisationId}`, ...exactly(filter)];
  // The index over failures is only considered when the query says that it asks for failures.
  if (filter.status !== undefined && filter.status >= 400) conditions.push(sql<boolean>`request_logs.status >= 400`);
  const { pathPrefix, traceId } = filter;
  if (traceId !== undefined) conditions.push(isInTrace(traceId));
  if (pathPrefix !== undefined)
    conditions.push(
      mayOftenHold(sql<boolean>`substr(request_logs.path, 1, ${charactersIn(pathPrefix)}) = ${pathPrefix}`),
    );
  const [, ...pairs] = Object.entries(filter.metadata ?? {});
  return [
    ...conditions,
    ...pairs.map(([key, value]) => hasLabel(workspace, key, value)),
    ...fieldTerms(filter.terms).map((term) => conditionOf(term, workspace)),
  ];
}

export const isInWorkspace = (workspace: string | null): Condition =>
  workspace === null
    ? sql<boolean>`request_logs.workspace_id is null`
    : sql<boolean>`request_logs.workspace_id = ${workspace}`;

export const isInWorkspaces = (workspaces: readonly string[], engine: Engine): Condition =>
  engine === 'postgres'
    ? sql<boolean>`request_logs.workspace_id = any(${workspaces}::text[])`
    : sql<boolean>`request_logs.workspace_id in (select value from json_each(${JSON.stringify(workspaces)}))`;

export const isLabelled = (workspace: string | null, [key, value]: readonly [string, string]): Condition =>
  sql<boolean>`request_logs.id = label.log_id and label.workspace_id = ${workspace ?? NO_WORKSPACE}
    and label.key = ${key} and label.value = ${value}`;

const hasLabel = (workspace: string | null, key: string, value: string): Condition => sql<boolean>`exists (
  select 1 from request_log_labels as other
  where other.workspace_id = ${workspace ?? NO_WORKSPACE} and other.key = ${key} and other.value = ${value}
  and other.created_at = request_logs.created_at and other.log_id = request_logs.id)`;

/** Most entries are the only one of their trace and bear its id; the index holds the others. */
const isInTrace = (id: string): Condition => sql<boolean>`request_logs.trace_id = ${id} and request_logs.id in (
  select traced.id from request_logs as traced where traced.trace_id = ${id} and traced.trace_id <> traced.id
  union all select ${id})`;

function exactly(filter: LogFilter): Condition[] {
  const wanted = {
    status: filter.status,
    failed_by: filter.failedBy,
    provider: filter.provider,
    model: filter.model,
    virtual_key: filter.virtualKey,
    api_key_id: filter.apiKeyId,
    user_id: filter.userId,
    session_id: filter.sessionId,
    is_stream: filter.isStream,
  };
  return Object.entries(wanted)
    .filter(([, value]) => value !== undefined)
    .map(([column, value]) => sql<boolean>`${sql.ref(`request_logs.${column}`)} = ${value}`);
}
