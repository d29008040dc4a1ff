import type { LogGraphName } from '../../telemetry/analytics/question.ts';
import type { TimeRange } from '../../telemetry/analytics/time-range.ts';
import type { LogFilter } from '../../telemetry/log-query.ts';
import type { Filter } from '../condition.ts';
import { found, inDollars, inPercent, inWords, type Look, type LookDeps, type Reach } from './look.ts';
import { slugOf } from './names.ts';

/** Conditions on what calls amount to in a stretch of time that ends now. They read the figures of `/v1/analytics`. */

interface Window {
  readonly window: number;
  readonly filter?: Filter;
}

interface Graph {
  readonly summary: Readonly<Record<string, number | null>>;
}

async function asked(
  { window, filter = {} }: Window,
  reach: Reach,
  { store, now }: LookDeps,
  more: Partial<LogFilter> = {},
): Promise<{ filter: LogFilter; range: TimeRange }> {
  const until = now();
  return {
    filter: {
      ...reach,
      ...more,
      ...(filter.api_key_id !== undefined && { apiKeyId: filter.api_key_id }),
      ...(filter.virtual_key !== undefined && { virtualKey: await slugOf(store.db, reach, filter) }),
      ...(filter.provider !== undefined && { provider: filter.provider }),
      ...(filter.model !== undefined && { model: filter.model }),
    },
    // Entries of this moment are wanted, too, also where the clock of the node that wrote them is a little ahead.
    range: { from: until - window * 1_000, until: until + 1_000 },
  };
}

async function summaryOf(
  name: LogGraphName,
  condition: Window,
  reach: Reach,
  deps: LookDeps,
  more?: Partial<LogFilter>,
): Promise<Graph['summary']> {
  const question = { kind: 'graph', name, ...(await asked(condition, reach, deps, more)) } as const;
  return (JSON.parse(await deps.log.analyse(question)) as Graph).summary;
}

/** Which calls are meant, for people. */
function meant({ filter = {} }: Window): string {
  const { api_key_id, virtual_key, provider, model } = filter;
  const parts = [
    model && `to ${model}`,
    provider && `at ${provider}`,
    virtual_key && `with the virtual key ${virtual_key}`,
    api_key_id && `of the API key ${api_key_id}`,
  ].filter(Boolean);
  return parts.length === 0 ? 'Calls' : `Calls ${parts.join(' ')}`;
}

/** There is one thing to find, whatever the filter. */
const ALL = 'calls';

export const lookAtSpending: Look<'spend_rate'> = async (condition, reach, deps) => {
  const { cost } = await summaryOf('cost', condition, reach, deps);
  const value = cost ?? 0;
  if (value <= condition.above) return found();
  const summary = `${meant(condition)} cost ${inDollars(value)} within ${inWords(condition.window)}; ${inDollars(condition.above)} is the threshold.`;
  return found({ subject: ALL, level: 1, summary, value, threshold: condition.above });
};

export const lookAtErrors: Look<'error_rate'> = async (condition, reach, deps) => {
  const { failed_by: failedBy, min_calls, above } = condition;
  const all = await summaryOf('errors/rate', condition, reach, deps);
  const requests = all.requests ?? 0;
  if (requests < min_calls) return found();
  const errors = failedBy
    ? ((await summaryOf('errors/rate', condition, reach, deps, { failedBy })).requests ?? 0)
    : (all.errors ?? 0);
  const value = (100 * errors) / requests;
  if (value <= above) return found();
  const by = failedBy ? ` by the ${failedBy}` : '';
  const summary = `${meant(condition)}: ${inPercent(value)} of ${requests} have failed${by} within ${inWords(condition.window)}; ${above} % is the threshold.`;
  return found({ subject: ALL, level: 1, summary, value, threshold: above });
};

export const lookAtLatency: Look<'latency'> = async (condition, reach, deps) => {
  const { percentile, min_calls, above } = condition;
  const figures = await summaryOf('latency', condition, reach, deps);
  const value = figures[`p${percentile}`] ?? null;
  if (value === null || value <= above || (figures.requests ?? 0) < min_calls) return found();
  const summary = `${meant(condition)}: one in ${oneIn(percentile)} took longer than ${Math.round(value)} ms within ${inWords(condition.window)}; ${above} ms is the threshold.`;
  return found({ subject: ALL, level: 1, summary, value, threshold: above });
};

const oneIn = (percentile: number): number => Math.round(100 / (100 - percentile));

/** A call that failed took nothing, and one without a model or without tokens has no price. */
const OK = 200;
const MOST_MODELS = 1_000;

interface ModelFigures {
  readonly model: string | null;
  readonly requests_without_cost: number;
  readonly total_tokens: number;
}

export const lookAtUnpriced: Look<'unpriced_calls'> = async (condition, reach, deps) => {
  const paging = { current_page: 0, page_size: MOST_MODELS };
  const question = {
    kind: 'group',
    by: 'model',
    ...paging,
    ...(await asked(condition, reach, deps, { status: OK })),
  } as const;
  const { data } = JSON.parse(await deps.log.analyse(question)) as { data: readonly ModelFigures[] };
  const { above, window } = condition;
  return found(
    ...data.flatMap(({ model, requests_without_cost: value, total_tokens }) => {
      if (model === null || total_tokens === 0 || value <= above) return [];
      const summary = `The price of the model ${model} is not known: ${value} ${value === 1 ? 'call' : 'calls'} within ${inWords(window)} cost nothing in the log and in budgets that allow them.`;
      return { subject: model, level: 1, summary, value, threshold: above };
    }),
  );
};
