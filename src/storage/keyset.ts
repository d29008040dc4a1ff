import type { Bounds } from '../core/list.ts';

/** As much of a query as paging by id needs. */
interface Pageable<Query> {
  where(column: 'id', operator: '<' | '>', value: string): Query;
  orderBy(column: 'id', direction: 'asc' | 'desc'): Query;
  limit(limit: number): Query;
}

/** The rows of one page, by their ids: `withinBounds(db.selectFrom('files').selectAll(), bounds).execute()`. */
export function withinBounds<Query extends Pageable<Query>>(query: Query, bounds: Bounds): Query {
  const { above, below, sort, limit } = bounds;
  const from = above === undefined ? query : query.where('id', '>', above);
  const to = below === undefined ? from : from.where('id', '<', below);
  return to.orderBy('id', sort).limit(limit);
}
