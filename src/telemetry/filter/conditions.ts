import { type RawBuilder, sql } from 'kysely';
import { NO_WORKSPACE } from '../log-columns.ts';
import type { Term, Test } from './language.ts';

type Condition = RawBuilder<boolean>;

/** What a term asks of an entry of that workspace. An entry without the value does not meet it, and meets its opposite. */
export function conditionOf({ column, key, isNot, tests }: Term, workspace: string | null): Condition {
  const holds = key === null ? anyOf(sql.ref(`request_logs.${column}`), tests) : hasLabel(workspace, key, tests);
  return isNot ? sql<boolean>`not coalesce(${holds}, ${sql.lit(false)})` : holds;
}

const anyOf = (value: RawBuilder<unknown>, tests: readonly Test[]): Condition =>
  sql<boolean>`(${sql.join(
    tests.map((test) => testOf(value, test)),
    sql` or `,
  )})`;

function testOf(value: RawBuilder<unknown>, test: Test): Condition {
  switch (test.is) {
    case 'equal':
      return sql<boolean>`${value} = ${test.value}`;
    case 'absent':
      return sql<boolean>`${value} is null`;
    case 'like':
      // Both stores the same: one of them tells capitals apart by itself and the other does not.
      return sql<boolean>`lower(${value}) like ${patternOf(test.parts)} escape '!'`;
    default:
      return sql<boolean>`${value} ${sql.raw(test.is)} ${test.value}`;
  }
}

const patternOf = (parts: readonly string[]): string =>
  parts.map((part) => part.toLowerCase().replace(/[!%_]/g, '!$&')).join('%');

function hasLabel(workspace: string | null, key: string, tests: readonly Test[]): Condition {
  const of = sql<boolean>`from request_log_labels as said
    where said.workspace_id = ${workspace ?? NO_WORKSPACE} and said.key = ${key}
    and said.created_at = request_logs.created_at and said.log_id = request_logs.id`;
  const some = tests.filter(({ is }) => is !== 'absent');
  const conditions = [
    ...(some.length > 0 ? [sql<boolean>`exists (select 1 ${of} and ${anyOf(sql.ref('said.value'), some)})`] : []),
    ...(some.length < tests.length ? [sql<boolean>`not exists (select 1 ${of})`] : []),
  ];
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`;
}
