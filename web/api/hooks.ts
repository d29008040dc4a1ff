import {
  keepPreviousData,
  type QueryClient,
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { whenPainted } from '../design/painted.ts';
import { toast } from '../design/toast.tsx';
import { api, type Options, type PathsWith, type ResponseOf } from './client.ts';
import type { Question } from './early.ts';

type GetOptions<P extends PathsWith<'get'>> = Omit<Options<P, 'get'>, 'body' | 'signal'>;

interface When {
  /** What it is for is not in view: what is has time to be drawn first. */
  readonly isLater?: boolean;
}

/** What a GET answers, as a query; its key begins with the path, so changes name the paths that they make stale. */
export const query = <P extends PathsWith<'get'>>(
  path: P,
  options: GetOptions<P> = {} as GetOptions<P>,
  { isLater = false }: When = {},
) =>
  queryOptions({
    queryKey: [path, options] as const,
    queryFn: async ({ signal }): Promise<ResponseOf<P>> => {
      if (isLater) await whenPainted();
      return (api.get as (path: P, options: unknown) => Promise<ResponseOf<P>>)(path, { ...options, signal });
    },
  });

/** Asks what a page shows first, by the same queries; tells when all have come. */
export function askAll(queries: QueryClient, questions: readonly Question[]): Promise<unknown> {
  const asked = ({ path, query: about }: Question) =>
    queries.prefetchQuery(query(path as PathsWith<'get'>, { query: about } as never));
  return Promise.all(questions.map(asked));
}

/** Reads and keeps what a GET answers; `enabled: false` waits, `keepsLast` shows the answer of before while another comes. */
export const useApi = <P extends PathsWith<'get'>>(
  path: P,
  options: GetOptions<P> = {} as GetOptions<P>,
  {
    keepsLast = false,
    isLater = false,
    ...more
  }: When & { enabled?: boolean; refetchInterval?: number | false; keepsLast?: boolean } = {},
) =>
  useQuery({ ...query(path, options, { isLater }), ...more, ...(keepsLast && { placeholderData: keepPreviousData }) });

export interface ActionOptions<Result> {
  /** Paths whose answers are stale from then on. */
  readonly changes?: readonly string[];
  /** Said when it worked. */
  readonly done?: string;
  readonly onDone?: (result: Result) => void;
  /** Where faults are shown; left out, they come as a toast. */
  readonly onFault?: (error: Error) => void;
}

/** Something that changes something: `const remove = useAction((id: string) => api.delete(…), { changes: ['/v1/api-keys'] })`. */
export function useAction<Input = void, Result = unknown>(
  work: (input: Input) => Promise<Result>,
  { changes = [], done, onDone, onFault }: ActionOptions<Result> = {},
) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: work,
    onSuccess: (result) => {
      for (const path of changes)
        void client.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith(path) });
      if (done) toast({ title: done, tone: 'good' });
      onDone?.(result);
    },
    onError: (error: Error) => (onFault ? onFault(error) : toast({ title: error.message, tone: 'bad' })),
  });
}
