import {
  infiniteQueryOptions,
  keepPreviousData,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { api, type ResponseOf } from '../../api/client.ts';
import { type EntriesWish, entriesAsked, LOGS } from './questions.ts';

export type LogEntry = ResponseOf<'/v1/logs'>['data'][number];
export type LogDetail = ResponseOf<'/v1/logs/{id}'>;
export type Attempt = LogDetail['attempts'][number];

const LIVE_MS = 2_000;
/** So many entries that came while looking on are kept; then the list begins anew. */
const MOST_FRESH = 2_000;
const newestFirst = (one: LogEntry, other: LogEntry): number =>
  other.created_at - one.created_at || (other.id < one.id ? -1 : other.id > one.id ? 1 : 0);

const keyOf = ({ workspace_id, filter, timeKey }: Pick<EntriesWish, 'workspace_id' | 'filter' | 'timeKey'>) =>
  ['/v1/logs', workspace_id, filter, timeKey] as const;

const asking = (wish: EntriesWish) => (after: string | undefined, signal: AbortSignal) =>
  api.get(LOGS, { query: entriesAsked(wish, after), signal });

/** Entries page by page, as they are scrolled to. */
export const entriesQuery = (wish: EntriesWish) => {
  const ask = asking(wish);
  return infiniteQueryOptions({
    queryKey: [...keyOf(wish), 'pages'],
    queryFn: ({ pageParam, signal }) => ask(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    refetchOnWindowFocus: false,
  });
};

/** Entries of the log, and new ones as they come. Nothing is counted. */
export function useEntries(wish: EntriesWish, isLive: boolean) {
  const client = useQueryClient();
  const { workspace_id, filter, timeKey } = wish;
  const key = useMemo(() => keyOf({ workspace_id, filter, timeKey }), [workspace_id, filter, timeKey]);
  const pages = useInfiniteQuery({ ...entriesQuery(wish), placeholderData: keepPreviousData });
  const newest = useQuery({
    queryKey: [...key, 'live'],
    queryFn: ({ signal }) => asking(wish)(undefined, signal),
    enabled: isLive && pages.isSuccess && !pages.isPlaceholderData,
    refetchInterval: LIVE_MS,
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });

  const [fresh, setFresh] = useState<{ readonly key: string; readonly rows: readonly LogEntry[] }>({
    key: '',
    rows: [],
  });
  const name = key.join('\n');
  const first = pages.data?.pages[0]?.data;
  useEffect(() => {
    const came = newest.data;
    if (!came || !first) return;
    setFresh((before) => {
      const rows = before.key === name ? before.rows : [];
      const known = new Set([...rows, ...first].map(({ id }) => id));
      const added = came.data.filter(({ id }) => !known.has(id));
      if (added.length === 0) return before.key === name ? before : { key: name, rows };
      const isGap = known.size > 0 && came.has_more && added.length === came.data.length;
      if (isGap || rows.length + added.length > MOST_FRESH) {
        // More came in between than one answer holds: the list begins anew rather than with a hole in it.
        void client.resetQueries({ queryKey: [...key, 'pages'] });
        return { key: name, rows: [] };
      }
      return { key: name, rows: [...added, ...rows] };
    });
  }, [newest.data, first, name, key, client]);

  const rows = useMemo(() => {
    if (!pages.data) return undefined;
    const older = pages.data.pages.flatMap((page) => page.data);
    if (fresh.key !== name || fresh.rows.length === 0) return older;
    const known = new Set(older.map(({ id }) => id));
    return [...fresh.rows.filter(({ id }) => !known.has(id)), ...older].sort(newestFirst);
  }, [pages.data, fresh, name]);

  return {
    rows,
    error: pages.error,
    isLoading: pages.isPending,
    isStale: pages.isPlaceholderData,
    isLoadingMore: pages.isFetchingNextPage,
    hasMore: pages.hasNextPage,
    liveError: isLive ? newest.error : null,
    /** Adds what has come since. */
    look: newest.refetch,
    more: useCallback(() => {
      if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage();
    }, [pages.hasNextPage, pages.isFetchingNextPage, pages.fetchNextPage]),
    refresh: () => void client.resetQueries({ queryKey: key }),
  };
}
