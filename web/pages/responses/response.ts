import { useQuery } from '@tanstack/react-query';
import { send } from '../../api/client.ts';
import { faultOf } from '../../api/fault.ts';
import { useApi } from '../../api/hooks.ts';
import type { ResponseSummary } from '../../api/types.d.ts';
import { isRecord, type Json, textIn } from '../../conversation/parts.ts';
import type { Tone } from '../../design/badge.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';

export const LIVE_MS = 1_500;

export const toneOf = (status: string): Tone =>
  (({ queued: 'info', in_progress: 'accent', completed: 'good', incomplete: 'warn', failed: 'bad' }) as const)[
    status
  ] ?? 'plain';

export const isGoing = (status: string): boolean => status === 'queued' || status === 'in_progress';

/** What is shown only to those who ask for it. */
const INCLUDED = ['file_search_call.results', 'code_interpreter_call.outputs', 'web_search_call.action.sources'];

/** One response with what its tools found and wrote, looked at again while it is being made. */
export const useResponse = (id: string) =>
  useQuery({
    queryKey: ['/v1/responses/{response_id}', id],
    queryFn: async ({ signal }): Promise<Json> => {
      const include = INCLUDED.map((each) => `include[]=${each}`).join('&');
      const answer = await send(`/v1/responses/${encodeURIComponent(id)}?${include}`, { signal });
      if (!answer.ok) throw await faultOf(answer);
      const response: unknown = await answer.json();
      return isRecord(response) ? response : {};
    },
    refetchInterval: ({ state }) => (state.data && isGoing(textIn(state.data.status)) ? LIVE_MS : false),
  });

/** Of the log's entries, so many are looked at. */
const MOST_ENTRIES = 1_000;
/** A filter takes as many values. */
const MOST_TRACES = 50;

export interface Cost {
  readonly calls: number;
  /** Null: of none of them is it known. */
  readonly cost: number | null;
}

/**
 * What the calls of these responses cost, by their traces: one question for all of them. Empty where the role may not see the log;
 * a trace that is not wholly among what was answered is left out.
 */
export function useCosts(responses: readonly ResponseSummary[], isLive: boolean): ReadonlyMap<string, Cost> {
  const may = useMay();
  const { id: workspace_id } = useWorkspace();
  const traced = responses.filter(({ trace_id }) => trace_id !== null && /^[\w-]{1,64}$/.test(trace_id));
  const traces = [...new Set(traced.map(({ trace_id }) => trace_id!))].slice(0, MOST_TRACES);
  const from = Math.min(...traced.map(({ created_at }) => created_at)) - 60;
  const list = useApi(
    '/v1/logs',
    {
      query: {
        ...{ workspace_id, limit: MOST_ENTRIES, start_time: String(traces.length > 0 ? from : 0) },
        filter: filterOf(traces),
      },
    },
    { enabled: traces.length > 0 && may('logs.list'), refetchInterval: isLive ? LIVE_MS * 2 : false, keepsLast: true },
  );
  const costs = new Map<string, Cost>();
  if (!list.data || list.data.next_cursor) return costs;
  for (const { trace_id, model, cost } of list.data.data) {
    // What only took a request in, or told of a response, asked no model.
    if (model === null) continue;
    const before = costs.get(trace_id) ?? { calls: 0, cost: null };
    costs.set(trace_id, { calls: before.calls + 1, cost: cost === null ? before.cost : (before.cost ?? 0) + cost });
  }
  return costs;
}

const LONGEST = 1_900;

/** As many traces as a filter has room for. */
function filterOf(traces: readonly string[]): string {
  const kept: string[] = [];
  for (const trace of traces) if ([...kept, trace].join(',').length <= LONGEST) kept.push(trace);
  return `trace:${kept.join(',')}`;
}
