import * as z from 'zod';
import { fail } from './errors.ts';
import { isObjectId, type ObjectKind, PREFIXES } from './object-ids.ts';
import { schemaOf } from './schema.ts';

/** Which page of a list is asked for, in the words of OpenAI's lists. */
export interface ListQuery {
  readonly limit: number;
  /** By the time of creation. */
  readonly order: 'asc' | 'desc';
  /** The page begins behind this element. */
  readonly after?: string;
  /** The page ends before this element. */
  readonly before?: string;
}

export interface List<Item> {
  readonly object: 'list';
  readonly data: readonly Item[];
  readonly first_id: string;
  readonly last_id: string;
  readonly has_more: boolean;
}

/** `first_id` and `last_id` of a page without elements: the members are strings, so null would break a checked client. */
const NO_ID = '';

/** A whole number in a query, where everything is text. */
export const integerInQuery = (least: number, most = 1_000_000_000) =>
  z.preprocess(
    (given) => (typeof given === 'string' && /^-?\d{1,15}$/.test(given) ? Number(given) : given),
    z
      .int({ error: `give a whole number from ${least} to ${most}` })
      .min(least)
      .max(most),
  );

const cursor = () =>
  z
    .string()
    .transform((given) => given || undefined)
    .optional();

/** The query of a list. Lists without `before` say `.omit({ before: true })`. */
export const listQuery = ({ most = 100, usual = 20 }: { most?: number; usual?: number } = {}) =>
  z.strictObject({
    limit: integerInQuery(1, most).default(usual).describe('Elements per page.'),
    order: z.enum(['asc', 'desc']).default('desc').describe('By the time of creation.'),
    after: cursor().describe('The id of the element behind which the page begins.'),
    before: cursor().describe('The id of the element before which the page ends.'),
  });

export const listOf = <Item extends z.ZodType>(item: () => Item) =>
  z.object({
    object: z.literal('list'),
    data: z.array(schemaOf(item)),
    first_id: z.string(),
    last_id: z.string(),
    has_more: z.boolean(),
  });

/** Which rows make a page: those between two ids, neither included. */
export interface Bounds {
  readonly above?: string;
  readonly below?: string;
  /** Of ids: they sort by the time they were made. */
  readonly sort: 'asc' | 'desc';
  readonly limit: number;
}

export interface ListSource<Row> {
  /** Whether an element of this id is, or not long ago was, in the list: paging survives what is deleted meanwhile. */
  has(id: string): Promise<boolean>;
  /** The first rows between the bounds, in their order. */
  between(bounds: Bounds): Promise<Row[]>;
}

/**
 * One page of a list whose elements have ids of that kind.
 *
 *     listPage(query, 'file', { has: (id) => …, between: (bounds) => withinBounds(select, bounds).execute() })
 */
export async function listPage<Row extends { readonly id: string }>(
  query: ListQuery,
  kind: ObjectKind,
  source: ListSource<Row>,
): Promise<List<Row>> {
  const { limit, order, after, before } = query;
  await checkCursor('after', after, kind, source);
  await checkCursor('before', before, kind, source);
  const bounds = order === 'asc' ? { above: after, below: before } : { above: before, below: after };
  // Before an element alone, the page is the one that ends there: it is read away from the element and turned around.
  const isBackward = before !== undefined && after === undefined;
  const sort = isBackward === (order === 'asc') ? 'desc' : 'asc';
  const rows = await source.between({ ...bounds, sort, limit: limit + 1 });
  const page = rows.slice(0, limit);
  return listed(isBackward ? page.reverse() : page, rows.length > limit);
}

async function checkCursor(
  name: 'after' | 'before',
  id: string | undefined,
  kind: ObjectKind,
  source: Pick<ListSource<unknown>, 'has'>,
) {
  if (id === undefined) return;
  const expected = PREFIXES[kind].replace(/[-_]$/, '');
  if (!isObjectId(kind, id))
    fail(
      'invalid_value',
      name,
      `Invalid '${name}': '${id.slice(0, 80)}'. Expected an ID that begins with '${expected}'.`,
    );
  if (!(await source.has(id))) fail('cursor_not_found', name);
}

export const listed = <Item extends { readonly id: string }>(data: readonly Item[], hasMore: boolean): List<Item> => ({
  object: 'list',
  data,
  first_id: data[0]?.id ?? NO_ID,
  last_id: data.at(-1)?.id ?? NO_ID,
  has_more: hasMore,
});
