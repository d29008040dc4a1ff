import { type RawBuilder, sql } from 'kysely';
import { NO_WORKSPACE } from '../log-columns.ts';
import type { Column, Term, Test } from './language.ts';

type Condition = RawBuilder<boolean>;

/** What a term asks of an entry of that workspace. An entry without the value does not meet it, and meets its opposite. */
export function conditionOf({ column, key, isNot, tests }: Term, workspace: string | null): Condition {
  const holds = key === null ? holdsFor(column, tests) : hasLabel(workspace, key, tests);
  return isNot ? sql<boolean>`not coalesce(${holds}, ${sql.lit(false)})` : holds;
}

const RESULTS = sql.ref('request_logs.hook_results');
const ATTEMPTS = sql.ref('request_logs.attempts');
const says = (column: RawBuilder<unknown>, text: string) => sql`${column} like ${sql.lit(`%${text}%`)}`;

/**
 * What no column holds is worked out of one, as `aggregates/fact.ts` does it for figures. What people and models say cannot
 * be taken for it: in their texts every quote has a backslash before it.
 */
const MADE: Partial<Record<Column, RawBuilder<unknown>>> = {
  verdict: sql`(case when ${RESULTS} is null then null
    when ${says(RESULTS, '"verdict":false,"deny":true')} then 'denied'
    when ${says(RESULTS, '"verdict":false')} then 'failed' else 'passed' end)`,
  cache_status: sql`(case ${sql.join(
    ['HIT', 'REFRESH', 'MISS'].map(
      (status) => sql`when ${says(ATTEMPTS, `"cache":["${status}"`)} then ${sql.lit(status)}`,
    ),
    sql` `,
  )} end)`,
};

/**
 * Of what is worked out of a column PostgreSQL has no statistics. It takes such a condition for one that next to nothing meets, and
 * sorts all entries of a day in the place of reading the newest ones until there are enough. Of this it thinks that half meet it.
 */
export const mayOftenHold = (condition: Condition): Condition =>
  sql<boolean>`coalesce(${condition}, ${sql.lit(false)})`;

function holdsFor(column: Column, tests: readonly Test[]): Condition {
  const made = MADE[column];
  return made ? mayOftenHold(anyOf(made, tests)) : anyOf(sql.ref(`request_logs.${column}`), tests);
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
      return mayOftenHold(sql<boolean>`lower(${value}) like ${patternOf(test.parts)} escape '!'`);
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
