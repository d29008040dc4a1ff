import * as z from 'zod';
import { integerInQuery } from './list.ts';
import { type Checked, schemaOf } from './schema.ts';

/** Query of the lists of admin resources. */
export const pageQuery = () =>
  z.strictObject({
    current_page: integerInQuery(0).default(0).describe('Page number, from 0.'),
    page_size: integerInQuery(1, 1000).default(100).describe('Entries per page.'),
  });
export type PageQuery = Checked<typeof pageQuery>;

export interface Page<Item> {
  readonly object: 'list';
  readonly data: readonly Item[];
  readonly total: number;
  readonly has_more: boolean;
}

export function page<Item>(data: readonly Item[], total: number, { current_page, page_size }: PageQuery): Page<Item> {
  return { object: 'list', data, total, has_more: current_page * page_size + data.length < total };
}

export const pageOf = <Item extends z.ZodType>(item: () => Item) =>
  z.object({
    object: z.literal('list'),
    data: z.array(schemaOf(item)),
    total: z.number().int(),
    has_more: z.boolean(),
  });
