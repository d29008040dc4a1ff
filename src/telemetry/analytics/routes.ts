import * as z from 'zod';
import { fail } from '../../core/errors.ts';
import { integerInQuery } from '../../core/list.ts';
import { pageOf, pageQuery } from '../../core/paging.ts';
import { type Principal, reachesOrganisation } from '../../core/principal.ts';
import type { Checked } from '../../core/schema.ts';
import { jsonText } from '../../http/reply.ts';
import { type Call, get, type MakeSchema, post, type Route } from '../../http/route.ts';
import type { Store } from '../../storage/store.ts';
import { workspaceIdOf } from '../../storage/workspace-lookup.ts';
import { FEEDBACK_GRAPHS, type FeedbackGraphs } from '../feedback/graphs.ts';
import { filterFields, filterOf, filterText, metadataIn, queryWithMetadata, termsOf, word } from '../log-filters.ts';
import type { LogFilter, LogReach } from '../log-query.ts';
import type { RecountProgress } from '../log-sink.ts';
import type { RequestLog } from '../request-log.ts';
import { rangeFields, rangeOf } from './asked-range.ts';
import { facets, GRAPHS, group, groupSummary, guardrailFigures, recounted, series } from './described.ts';
import type { By } from './kinds.ts';
import { GROUPS, type GroupQuestion, LOG_GRAPHS, MADE_GROUPS } from './question.ts';
import { METRIC_NAMES } from './series.ts';
import { cover, MOST_BUCKETS, type TimeRange, WISHED_LENGTHS_MS } from './time-range.ts';
import { type Askable, togetherRoute } from './together.ts';

const reachFields = () => ({
  ...rangeFields(),
  workspace_slug: word()
    .optional()
    .describe('Slug or id. All workspaces when left out, for keys that act on the whole organisation.'),
});
const askedFields = () => ({ ...filterFields(), filter: filterText() });
const LENGTHS = WISHED_LENGTHS_MS.map((ms) => ms / 1_000);
const bucketSeconds = () =>
  integerInQuery(1)
    .refine((seconds) => LENGTHS.includes(seconds), `must be one of ${LENGTHS.join(', ')}`)
    .optional()
    .describe(
      `How long the time of a point is: one of ${LENGTHS.join(', ')}, and no more than ${MOST_BUCKETS} points. As short as that allows unless given; longer where shorter times are no longer told apart.`,
    );
const logQuery = () => queryWithMetadata({ ...reachFields(), ...askedFields() });
const graphQuery = () => queryWithMetadata({ ...reachFields(), ...askedFields(), bucket_seconds: bucketSeconds() });
const groupQuery = () => queryWithMetadata({ ...reachFields(), ...askedFields(), ...pageQuery().shape });
const facetQuery = () =>
  queryWithMetadata({
    ...reachFields(),
    ...askedFields(),
    limit: integerInQuery(1, 1_000).default(100).describe('How many values of each.'),
  });
const SERIES_BY = [...Object.values(GROUPS), ...Object.values(MADE_GROUPS), 'failed_by'] as const;
const METADATA_BY = /^metadata\.(.+)$/s;
const seriesBy = () =>
  word()
    .refine(
      (name) => METADATA_BY.test(name) || (SERIES_BY as readonly string[]).includes(name),
      `must be one of ${SERIES_BY.join(', ')} or metadata.<key>`,
    )
    .transform((name): By => {
      const [, key] = METADATA_BY.exec(name) ?? [];
      return key === undefined ? (name as (typeof SERIES_BY)[number]) : { metadata: key };
    });
const seriesQuery = () =>
  queryWithMetadata({
    ...reachFields(),
    ...askedFields(),
    metric: z.enum(METRIC_NAMES).describe('What the points say.'),
    group_by: seriesBy().describe(
      'What series are told apart by: model, provider, api_key_id, metadata.team and so on.',
    ),
    subgroup_by: seriesBy().optional().describe('What each of those groups is told apart by: series are pairs then.'),
    bucket_seconds: bucketSeconds(),
    rank_by: z.enum(METRIC_NAMES).optional().describe('What the most is had of; the metric unless given.'),
    limit: integerInQuery(1, 50).default(8).describe('How many series; all others are taken together.'),
  });
const feedbackQuery = () => {
  const { api_key_id, trace_id } = filterFields();
  return queryWithMetadata({ ...reachFields(), api_key_id, trace_id });
};

export interface AnalyticsDeps {
  readonly log: Pick<RequestLog, 'analyse' | 'recount'>;
  readonly store: Store;
}

export interface FeedbackGraphDeps {
  readonly graphs: FeedbackGraphs;
  readonly store: Store;
}

export function analyticsRoutes(deps: AnalyticsDeps): Route[] {
  const askables = [...LOG_GRAPHS.map((name) => logGraph(name, deps)), facetsOf(deps), seriesOf(deps)];
  return [
    ...askables.map(aloneRoute),
    togetherRoute(askables),
    ...Object.entries(GROUPS).map(([name, column]) => groupRoute(name, column, deps)),
    ...Object.entries(MADE_GROUPS).map(([name, made]) => groupRoute(name, made, deps)),
    metadataRoute(deps),
    guardrailsRoute(deps),
    ...rebuildRoutes(deps),
  ];
}

/** The graphs that are drawn from feedback; they stand among those of the log. */
export const feedbackGraphRoutes = (deps: FeedbackGraphDeps): Route[] =>
  FEEDBACK_GRAPHS.map((name) => feedbackGraphRoute(name, deps));

const scopes = ['analytics.view'] as const;
type GroupKey = Parameters<typeof group>[0];

const aloneRoute = ({ name, summary, query: schema, response, answer }: Askable): Route =>
  get(`/v1/analytics/${name}`, { scopes, summary, query: schema, response }, async ({ principal, query }) =>
    jsonText(await answer(principal, query)),
  );

/** The schema says what the answer is made from. */
const askable = <Query extends z.ZodType>(
  of: Omit<Askable, 'query' | 'answer'> & {
    readonly query: MakeSchema<Query>;
    readonly answer: (who: Principal, query: z.infer<Query>) => Promise<string>;
  },
): Askable => of as Askable;

const logGraph = (name: (typeof LOG_GRAPHS)[number], { log, store }: AnalyticsDeps): Askable =>
  askable({
    ...{ name: `graphs/${name}`, summary: GRAPHS[name].summary, query: graphQuery, response: GRAPHS[name].response },
    answer: async (who, query) => {
      const range = rangeOf(query);
      const filter = await askedBy(store, who, query);
      return log.analyse({ kind: 'graph', name, filter, range, ...bucketsAsked(query, range) });
    },
  });

const feedbackGraphRoute = (name: (typeof FEEDBACK_GRAPHS)[number], { graphs, store }: FeedbackGraphDeps): Route =>
  get(
    `/v1/analytics/graphs/${name}`,
    { scopes, summary: GRAPHS[name].summary, query: feedbackQuery, response: GRAPHS[name].response },
    async ({ principal, query }) => {
      const range = rangeOf(query);
      const asked = { apiKeyId: query.api_key_id, traceId: query.trace_id, metadata: metadataIn(query) };
      const filter = { ...asked, ...(await reachOf(store, principal, query)) };
      return graphs.draw({ name, filter, range });
    },
  );

const GROUPS_PATH = '/v1/analytics/groups';
const groupDetails = (name: string, key: GroupKey) =>
  ({ scopes, summary: groupSummary(name), query: groupQuery, response: () => pageOf(() => group(key)) }) as const;

const groupRoute = (name: string, column: GroupQuestion['by'] & GroupKey, deps: AnalyticsDeps): Route =>
  get(`${GROUPS_PATH}/${name}`, groupDetails(name, column), (call) => groups(column, call, deps));

const metadataRoute = (deps: AnalyticsDeps): Route =>
  get(`${GROUPS_PATH}/metadata/:key`, groupDetails('metadata/:key', 'value'), (call) =>
    groups({ metadata: call.params.key }, call, deps),
  );

const guardrailsQuery = () => z.strictObject(reachFields());
const guardrailsRoute = ({ log, store }: AnalyticsDeps): Route =>
  get(
    `${GROUPS_PATH}/guardrails`,
    {
      scopes,
      summary: 'How often each guardrail looked and objected, by the hours that the time touches',
      query: guardrailsQuery,
      response: guardrailFigures,
    },
    async ({ principal, query }) => {
      const reach = await reachOf(store, principal, query);
      return jsonText(await log.analyse({ kind: 'guardrails', reach, range: rangeOf(query) }));
    },
  );

const facetsOf = ({ log, store }: AnalyticsDeps): Askable =>
  askable({
    ...{ name: 'facets', summary: 'Which models, keys, users and so on were called with' },
    ...{ query: facetQuery, response: facets },
    answer: async (who, query) => {
      const filter = await askedBy(store, who, query);
      return log.analyse({ kind: 'facets', filter, range: rangeOf(query), limit: query.limit });
    },
  });

const seriesOf = ({ log, store }: AnalyticsDeps): Askable =>
  askable({
    ...{ name: 'series', summary: 'A figure over time by model, key, user and so on' },
    ...{ query: seriesQuery, response: series },
    answer: async (who, query) => {
      const { metric, group_by: by, subgroup_by: then = null, rank_by: rankBy = metric, limit } = query;
      const filter = await askedBy(store, who, query);
      const range = rangeOf(query);
      const asked = { metric, rankBy, by, then, limit, filter, range, ...bucketsAsked(query, range) };
      return log.analyse({ kind: 'series', ...asked });
    },
  });

const REBUILD = '/v1/analytics/rebuild';

const rebuildRoutes = ({ log }: AnalyticsDeps): Route[] => [
  post(
    REBUILD,
    {
      scopes: ['organisation.manage'],
      audit: { resource: 'analytics', action: 'rebuild' },
      summary: 'Count all figures anew from the log; they come from the log itself until that is done',
      response: recounted,
    },
    async () => progressOf(await log.recount(true)),
  ),
  get(
    REBUILD,
    { scopes: ['organisation.manage'], summary: 'How far figures are counted anew', response: recounted },
    async () => progressOf(await log.recount(false)),
  ),
];

const shownMoment = (moment: number | null) => (moment === null ? null : new Date(moment).toISOString());

const progressOf = ({ countedFrom, oldest }: RecountProgress) => ({
  object: 'analytics-rebuild',
  status: countedFrom === null ? 'completed' : 'running',
  counted_from: shownMoment(countedFrom),
  log_from: shownMoment(oldest),
});

async function groups(
  by: GroupQuestion['by'],
  { principal, query }: Call<Checked<typeof groupQuery>>,
  { log, store }: AnalyticsDeps,
) {
  const question: GroupQuestion = {
    kind: 'group',
    by,
    range: rangeOf(query),
    filter: await askedBy(store, principal, query),
    current_page: query.current_page,
    page_size: query.page_size,
  };
  const text = await log.analyse(question);
  return by === 'workspace_id' ? withSlugs(store, JSON.parse(text)) : jsonText(text);
}

function bucketsAsked({ bucket_seconds }: { bucket_seconds?: number }, range: TimeRange): { bucketMs?: number } {
  if (bucket_seconds === undefined) return {};
  const bucketMs = bucket_seconds * 1_000;
  const { count } = cover(range, bucketMs);
  // The longest cover any time.
  if (count > MOST_BUCKETS && bucketMs < WISHED_LENGTHS_MS.at(-1)!)
    fail(
      'invalid_request',
      'bucket_seconds',
      `would give ${count} points; at most ${MOST_BUCKETS} are given, so ask for longer ones`,
    );
  return { bucketMs };
}

async function askedBy(store: Store, who: Principal, query: Checked<typeof logQuery>): Promise<LogFilter> {
  return { ...filterOf(query), terms: termsOf(query.filter), ...(await reachOf(store, who, query)) };
}

async function reachOf(store: Store, who: Principal, query: { workspace_slug?: string }): Promise<LogReach> {
  const named = query.workspace_slug;
  const own = reachesOrganisation(who) ? null : who.workspaceId;
  const workspaceId = named === undefined ? own : await workspaceIdOf(store.db, who, named);
  return { organisationId: who.organisationId, workspaceId };
}

type Listed = { readonly data: readonly { readonly workspace_id: string | null }[] };

/** The log knows workspaces by their ids alone. */
async function withSlugs<Answer extends Listed>({ db }: Store, answer: Answer) {
  const ids = answer.data.flatMap(({ workspace_id }) => workspace_id ?? []);
  const rows =
    ids.length === 0 ? [] : await db.selectFrom('workspaces').select(['id', 'slug']).where('id', 'in', ids).execute();
  const slugs = new Map(rows.map(({ id, slug }) => [id, slug]));
  const named = ({ workspace_id, ...figures }: Answer['data'][number]) => ({
    workspace_id,
    workspace_slug: (workspace_id && slugs.get(workspace_id)) ?? null,
    ...figures,
  });
  return { ...answer, data: answer.data.map(named) };
}
