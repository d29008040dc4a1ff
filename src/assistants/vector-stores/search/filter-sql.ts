import { type RawBuilder, type Sql, sql } from 'kysely';
import type { Engine } from '../../../storage/migrate.ts';
import type { AttributeValue, Filter } from './filter.ts';

type Condition = RawBuilder<unknown>;

const SIGNS = { gt: sql.raw('>'), gte: sql.raw('>='), lt: sql.raw('<'), lte: sql.raw('<=') } as const;

/** A condition on the column `attributes`, JSON text, of the table that it is said of. Never null: it can be negated. */
export function filterSql(filter: Filter, engine: Engine, column: Condition): Condition {
  const holds = (key: string, test: (value: Columns) => Condition) => holding(engine, column, key, test);
  switch (filter.type) {
    case 'and':
    case 'or': {
      const parts = filter.filters.map((each) => filterSql(each, engine, column));
      return sql`(${sql.join(parts, filter.type === 'and' ? sql` and ` : sql` or `)})`;
    }
    case 'eq':
      return holds(filter.key, (value) => equals(value, filter.value, engine));
    case 'ne':
      return sql`(not ${holds(filter.key, (value) => equals(value, filter.value, engine))})`;
    case 'in':
      return holds(filter.key, (value) => isOneOf(value, filter.value, engine));
    case 'nin':
      return sql`(not ${holds(filter.key, (value) => isOneOf(value, filter.value, engine))})`;
    default:
      return holds(filter.key, (value) => compares(value, SIGNS[filter.type], filter.value, engine));
  }
}

/** An attribute, as a database shows it. */
interface Columns {
  readonly type: Condition;
  readonly text: Condition;
  readonly number: Condition;
}

/** Keys are values to the database, so they may be anything: as a path they would need a syntax. */
function holding(engine: Engine, column: Condition, key: string, test: (value: Columns) => Condition): Condition {
  if (engine === 'sqlite')
    return sql`exists (select 1 from json_each(${column}) as a where a.key = ${key} and ${test({
      type: sql`a.type`,
      text: sql`a.value`,
      // JSON writes a large number in fewer digits than it has: read as a whole number it would be another.
      number: sql`cast(a.value as real)`,
    })})`;
  return sql`exists (select 1 from jsonb_each(${column}::jsonb) as a where a.key = ${key} and ${test({
    type: sql`jsonb_typeof(a.value)`,
    text: sql`(a.value #>> '{}') collate "C"`,
    // Only of a number: a text that is none would be an error, and conditions are tested in any order.
    number: sql`(case when jsonb_typeof(a.value) = 'number' then (a.value #>> '{}')::numeric end)`,
  })})`;
}

const isOneOf = (value: Columns, values: readonly AttributeValue[], engine: Engine): Condition =>
  sql`(${sql.join(
    values.map((each) => equals(value, each, engine)),
    sql` or `,
  )})`;

function equals(value: Columns, expected: AttributeValue, engine: Engine): Condition {
  if (typeof expected !== 'boolean') return compares(value, sql.raw('='), expected, engine);
  const literal = expected ? 'true' : 'false';
  if (engine === 'sqlite') return sql`(${value.type} = ${literal})`;
  return sql`(${value.type} = 'boolean' and ${value.text} = ${literal})`;
}

function compares(value: Columns, sign: ReturnType<Sql['raw']>, expected: string | number, engine: Engine): Condition {
  if (typeof expected === 'number') {
    if (engine === 'sqlite') return sql`(${value.type} in ('integer', 'real') and ${value.number} ${sign} ${expected})`;
    return sql`(coalesce(${value.number} ${sign} ${String(expected)}::numeric, false))`;
  }
  const type = engine === 'sqlite' ? 'text' : 'string';
  return sql`(${value.type} = ${type} and ${value.text} ${sign} ${expected})`;
}
