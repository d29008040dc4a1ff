import type { Question } from '../../api/early.ts';
import { lookedAt, type OpenedView } from '../../shell/reach.ts';

export const LOGS = '/v1/logs';
const PAGE = 100;
/** Says which entries of the log are calls, for people who do not ask for everything that reached the gateway. */
const CALLS =
  'path:/v1/chat/completions*,/v1/completions*,/v1/messages*,/v1/responses*,/v1/embeddings*,/v1/rerank*,/v1/moderations*,/v1/images/*,/v1/audio/*,/v1/proxy/*,/v1beta/*,/v1/v1beta/*,/api/*,/mcp*,*/mcp';

export interface EntriesWish {
  readonly workspace_id: string;
  readonly filter: string;
  /** Milliseconds since the epoch. */
  readonly from: number;
  /** Not included; null: whatever comes. */
  readonly until: number | null;
  /** Changes when another time is meant: what is called the last hour begins later and later, and is the same list. */
  readonly timeKey: string;
}

export function wishOf(workspace_id: string, looked: ReturnType<typeof lookedAt>): EntriesWish {
  const { reach, span, filter, isAll } = looked;
  // A time that ends now stays open: what comes next is in it.
  const until = reach.range === '' ? span.until : null;
  return {
    workspace_id,
    // What people wrote stands first, so that the place of a fault in it is its place in the whole.
    filter: [filter, ...(isAll ? [] : [CALLS])].filter(Boolean).join(' '),
    from: span.from,
    until,
    timeKey: reach.range || `${span.from} ${until}`,
  };
}

export const entriesAsked = ({ workspace_id, filter, from, until }: EntriesWish, after?: string) => ({
  ...{ workspace_id, limit: PAGE, start_time: String(from) },
  ...(filter && { filter }),
  ...(until !== null && { end_time: String(until) }),
  ...(after && { after }),
});

/** Everything that the page asks first. */
export const questions = (view: OpenedView): Question[] => [
  { path: LOGS, query: entriesAsked(wishOf(view.workspace.id, lookedAt(view))), scopes: ['logs.list'] },
];
