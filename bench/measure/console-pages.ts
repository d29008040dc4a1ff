/** What pages of the console ask for when they are opened, all at once, as a browser does. */

const HOUR_MS = 3_600_000;
const STEPS_S = [60, 300, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400];
const stepOf = (spanMs: number, most: number) => STEPS_S.find((step) => spanMs / 1_000 / step <= most) ?? 86_400;

/** As `web/pages/logs/entries.ts` says which entries are calls. */
const CALLS = 'path:/v1/chat/completions*,/v1/completions*,/v1/messages*,/v1/responses*,/v1/embeddings*,/mcp*';

const question = (from: number, until: number, points: number) =>
  new URLSearchParams({
    time_of_generation_min: String(from),
    time_of_generation_max: String(until),
    bucket_seconds: String(stepOf(until - from, points)),
    filter: '-provider:none',
  });
const series = (asked: URLSearchParams, by: string, metric = 'requests', limit = 7) =>
  `/v1/analytics/series?${asked}&metric=${metric}&group_by=${by}&limit=${limit}`;

type Page = (from: number, until: number) => readonly string[];

export const CONSOLE_PAGES: Readonly<Record<string, Page>> = {
  overview: (from, until) => {
    const [now, before, few] = [
      question(from, until, 120),
      question(from - (until - from), from, 120),
      question(from, until, 30),
    ];
    return [
      ...[now, before].map((asked) => `/v1/analytics/graphs/all?${asked}`),
      ...['cache_status', 'verdict'].map((by) => series(now, by, 'requests', 8)),
      ...['model', 'api_key_id', 'user_id'].map((by) => series(few, by)),
      series(few, 'error_code', 'errors'),
    ];
  },
  explore: (from, until) => [series(question(from, until, 120), 'model')],
  'explore by two': (from, until) => [
    `${series(question(from, until, 120), 'model', 'cost')}&subgroup_by=api_key_id`,
    `${series(question(from - (until - from), from, 120), 'model', 'cost', 50)}&subgroup_by=api_key_id`,
  ],
  logs: (from) => [`/v1/logs?${new URLSearchParams({ limit: '100', start_time: String(from), filter: CALLS })}`],
};

export const CONSOLE_SPANS_MS = [HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS, 30 * 24 * HOUR_MS];
