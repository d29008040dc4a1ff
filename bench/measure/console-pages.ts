import { before, lastSpan, PRESETS, type Span, stepOf } from '../../web/shell/spans.ts';

/** What pages of the console ask for when they are opened, all at once, as a browser does. */

/** As `web/pages/logs/entries.ts` says which entries are calls. */
const CALLS = 'path:/v1/chat/completions*,/v1/completions*,/v1/messages*,/v1/responses*,/v1/embeddings*,/mcp*';

const question = ({ from, until }: Span, points?: number) =>
  new URLSearchParams({
    time_of_generation_min: String(from),
    time_of_generation_max: String(until),
    bucket_seconds: String(stepOf(until - from, points) / 1_000),
    filter: '-provider:none',
  });
/** As `web/api/together.ts` asks what pages ask in one turn. */
const together = (...asked: readonly string[]) =>
  `/v1/analytics/questions?${new URLSearchParams(asked.map((each): [string, string] => ['question[]', each.slice('/v1/analytics/'.length)]))}`;
const series = (asked: URLSearchParams, by: string, metric = 'requests', limit = 7) =>
  `/v1/analytics/series?${asked}&metric=${metric}&group_by=${by}&limit=${limit}`;

type Page = (span: Span) => readonly string[];

export const CONSOLE_PAGES: Readonly<Record<string, Page>> = {
  overview: (span) => {
    const [now, past, few] = [question(span), question(before(span)), question(span, 30)];
    return [
      ...[now, past].map((asked) => `/v1/analytics/graphs/all?${asked}`),
      together(
        ...['cache_status', 'verdict'].map((by) => series(now, by, 'requests', 8)),
        ...['model', 'api_key_id', 'user_id'].map((by) => series(few, by)),
        series(few, 'error_code', 'errors'),
      ),
    ];
  },
  explore: (span) => [series(question(span), 'model')],
  'explore by two': (span) => [
    `${series(question(span), 'model', 'cost')}&subgroup_by=api_key_id`,
    `${series(question(before(span)), 'model', 'cost', 50)}&subgroup_by=api_key_id`,
  ],
  logs: ({ from }) => [`/v1/logs?${new URLSearchParams({ limit: '100', start_time: String(from), filter: CALLS })}`],
};

const RANGES: readonly string[] = ['1h', '24h', '7d', '30d'];
/** The times that are chosen there, as they are asked about now. */
export const consoleSpans = (now: number): readonly Span[] =>
  PRESETS.filter(({ value }) => RANGES.includes(value)).map(({ ms }) => lastSpan(ms, now));
