import { type SelectQueryBuilder, sql } from 'kysely';
import type { PageQuery } from '../core/paging.ts';
import type { Schema } from './schema.ts';

/** The rows that one page of an admin resource's list shows, by their ids, and how many there are on all pages. */
export async function rowsOnPage<Table extends keyof Schema>(
  matching: SelectQueryBuilder<Schema, Table, unknown>,
  { current_page, page_size }: PageQuery,
  order: 'asc' | 'desc' = 'asc',
) {
  const first = current_page * page_size;
  const rows = await matching.selectAll().orderBy(sql.ref('id'), order).limit(page_size).offset(first).execute();
  // The last page says how many there are; behind it there is nothing to be read.
  if (rows.length < page_size && (rows.length > 0 || first === 0)) return { rows, total: first + rows.length };
  const { total } = await matching
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { rows, total: Number(total) };
}
