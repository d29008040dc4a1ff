import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { endpointOf } from '../../src/telemetry/aggregates/fact.ts';
import type { FigureOptions } from '../../src/telemetry/aggregates/options.ts';
import type { Graph } from '../../src/telemetry/analytics/graph.ts';
import type { GroupPage } from '../../src/telemetry/analytics/log-groups.ts';
import { GROUPS, type GroupQuestion, LOG_GRAPHS, type LogGraphName } from '../../src/telemetry/analytics/question.ts';
import type { Series } from '../../src/telemetry/analytics/series.ts';
import type { Summed } from '../../src/telemetry/analytics/sums.ts';
import type { TimeRange } from '../../src/telemetry/analytics/time-range.ts';
import { termsIn } from '../../src/telemetry/filter/language.ts';
import type { LogRow } from '../../src/telemetry/log-columns.ts';
import type { LogFilter } from '../../src/telemetry/log-query.ts';
import { type LogStore, type LogTarget, openLogStore } from '../../src/telemetry/log-store.ts';
import { seeded } from '../fuzz.ts';
import { GRAPH_FIGURES, groupFigures } from '../log-figures.ts';
import { createDatabase } from '../postgres.ts';
import { batchOf, removeTemporaryFolders, row, temporaryFolder } from './log-rows.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 2, 1);
const WHOLE: TimeRange = { from: START, until: START + 3 * DAY_MS };

type Random = ReturnType<typeof seeded>;

function randomRow(random: Random): LogRow {
  const maybe = <Value>(value: Value, share = 0.7): Value | null => (random.chance(share) ? value : null);
  const failed = random.chance(0.2);
  const workspace = random.pick(['one', 'one', 'two', 'foreign', null]);
  const [input, output] = [random.below(5_000), random.below(800)];
  const isKnown = random.chance(0.8);
  const metadata: Record<string, string> = {};
  if (random.chance(0.6)) metadata.team = random.pick(['blue', 'red', 'Grün', 'nu\0ll', '']);
  if (random.chance(0.3)) metadata['5'] = random.pick(['a', "it's"]);
  return row({
    created_at: START - HOUR_MS + random.below(3 * DAY_MS + 2 * HOUR_MS),
    organisation_id: workspace === 'foreign' || (workspace === null && random.chance(0.5)) ? 'other-org' : 'org',
    workspace_id: workspace,
    api_key_id: maybe(random.pick(['k1', 'k2', 'k3'])),
    user_id: maybe(random.pick(['ada', 'bob', 'eve', 'joe']), 0.5),
    virtual_key: maybe(random.pick(['v1', 'v2'])),
    provider: maybe(random.pick(['openai', 'anthropic'])),
    session_id: maybe(random.pick(['s1', 's2']), 0.3),
    model: maybe(random.pick(['gpt-4o', 'claude', 'ünïcode'])),
    path: random.pick(['/v1/chat/completions', '/v1/embeddings?a=1']),
    status: failed ? random.pick([400, 401, 429, 429, 500, 503]) : random.pick([200, 200, 200, 246]),
    failed_by: failed ? random.pick(['gateway', 'provider', 'client']) : random.chance(0.02) ? 'provider' : null,
    is_stream: random.chance(0.4),
    request_bytes: random.below(10_000),
    first_byte_ms: maybe(random.below(1_000) / 8),
    duration_ms: random.below(1_000) / (random.chance(0.5) ? 1 : 8),
    input_tokens: isKnown ? input : null,
    output_tokens: isKnown ? output : null,
    total_tokens: isKnown ? input + output : null,
    cached_tokens: maybe(random.below(100), 0.2),
    reasoning_tokens: maybe(random.below(100), 0.2),
    cost: isKnown && random.chance(0.9) ? random.below(1_000_000) / 1e8 : null,
    metadata: Object.keys(metadata).length > 0 ? JSON.stringify(metadata) : null,
  });
}

/** Metadata as they can be searched by: U+0000 is stored as another character. */
const labels = (entry: LogRow): Record<string, string> =>
  entry.metadata === null
    ? {}
    : Object.fromEntries(
        Object.entries(JSON.parse(entry.metadata) as Record<string, string>).map(([key, value]) => [
          key,
          value.replaceAll('\0', '\uFFFD'),
        ]),
      );

/** Filters beside the reach, each with what it means. */
const FILTERS: readonly [name: string, filter: Partial<LogFilter>, isMeant: (entry: LogRow) => boolean][] = [
  ['nothing', {}, () => true],
  ['a provider', { provider: 'openai' }, (entry) => entry.provider === 'openai'],
  ['a status', { status: 429 }, (entry) => entry.status === 429],
  [
    'a model and a user',
    { model: 'ünïcode', userId: 'eve' },
    (entry) => entry.model === 'ünïcode' && entry.user_id === 'eve',
  ],
  ['a path and streams', { pathPrefix: '/v1/emb', isStream: true }, (e) => e.path.startsWith('/v1/emb') && e.is_stream],
  ['metadata', { metadata: { team: 'Grün' } }, (entry) => labels(entry).team === 'Grün'],
  [
    'two metadata and a key',
    { metadata: { team: 'blue', '5': "it's" }, apiKeyId: 'k1' },
    (entry) => labels(entry).team === 'blue' && labels(entry)['5'] === "it's" && entry.api_key_id === 'k1',
  ],
  ['a session', { sessionId: 's1' }, (entry) => entry.session_id === 's1'],
  [
    'a filter in words',
    { terms: termsIn('tokens:>100 provider:openai') },
    (entry) => Number(entry.total_tokens) > 100 && entry.provider === 'openai',
  ],
  [
    'words about what figures are kept by',
    {
      terms: termsIn('status:<500 model:*O,CLA* -provider:none -user:eve,bob meta.team:blue,none -error:x stream:true'),
    },
    (entry) =>
      entry.status < 500 &&
      (entry.model === 'gpt-4o' || entry.model === 'claude') &&
      entry.provider !== null &&
      entry.user_id !== 'eve' &&
      entry.user_id !== 'bob' &&
      [undefined, 'blue'].includes(labels(entry).team) &&
      entry.is_stream,
  ],
  ['what there is not', { virtualKey: 'none' }, () => false],
];

const REACHES: readonly [name: string, workspaceId: string | null][] = [
  ['one workspace', 'one'],
  ['the organisation', null],
];

const shortened = (value: number | null) => (value === null ? null : Number(value.toPrecision(4)));

/** Of two keys, one is counted as entries come. */
const FIGURES: FigureOptions = { metadataKeys: ['team'], keepDays: { minutes: 3_650, hours: 3_650, days: 3_650 } };
const NO_DEADLINE = Number.POSITIVE_INFINITY;

type Asked = { readonly filter: LogFilter; readonly meant: readonly LogRow[] };

export interface FiguresToTry {
  readonly entries: number;
  /** Each question is asked without a filter, and under one of so many of the others: other ones for each question. */
  readonly oneFilterOf: number;
}

/** What a store says of random entries is what looking at each of them finds. */
export function describeRandomFigures({ entries, oneFilterOf }: FiguresToTry): void {
  afterAll(removeTemporaryFolders);
  const random = seeded(20_260_301);
  const rows = Array.from({ length: entries }, () => randomRow(random));
  const perBatch = entries / 6;
  const [unfiltered, ...others] = FILTERS;
  const filtersOf = (question: number) => [
    unfiltered!,
    ...others.filter((_, index) => (index + question) % oneFilterOf === 0),
  ];

  /** Many questions are about the same rows. */
  const found = new Map<string, readonly LogRow[]>();
  function once(key: string, find: () => readonly LogRow[]): readonly LogRow[] {
    const known = found.get(key) ?? find();
    found.set(key, known);
    return known;
  }

  /** The same question for the store, and answered by looking at every row. */
  function asked(
    workspaceId: string | null,
    [name, filter, isMeant]: (typeof FILTERS)[number],
    { from, until }: TimeRange,
  ): Asked {
    const meant = once(`${workspaceId} ${name} ${from} ${until}`, () =>
      rows.filter(
        (entry) =>
          entry.organisation_id === 'org' &&
          (workspaceId === null || entry.workspace_id === workspaceId) &&
          entry.created_at >= from &&
          entry.created_at < until &&
          isMeant(entry),
      ),
    );
    return { filter: { organisationId: 'org', workspaceId, ...filter }, meant };
  }

  for (const [engine, newTarget] of [
    ['SQLite', async (): Promise<LogTarget> => ({ engine: 'sqlite', file: join(temporaryFolder(), 'logs.db') })],
    ['PostgreSQL', async (): Promise<LogTarget> => ({ engine: 'postgres', url: await createDatabase() })],
  ] as const) {
    describe(`figures of ${entries} random entries on ${engine}`, () => {
      let target: LogTarget;
      let reader: LogStore;
      let writer: LogStore;
      beforeAll(async () => {
        target = await newTarget();
        writer = await openLogStore(target, 'writer', { figures: FIGURES });
        for (let at = 0; at < entries; at += perBatch) {
          await writer.insert(batchOf(...rows.slice(at, at + perBatch)));
          // The last of them wait to be taken into the figures.
          if (at < entries / 2) await writer.tend();
        }
        reader = await openLogStore(target, 'reader');
      });
      afterAll(async () => {
        await reader.close();
        await writer.close();
      });

      const graphOf = async (name: LogGraphName, filter: LogFilter, range: TimeRange) =>
        (await reader.analyse({ kind: 'graph', name, filter, range }, NO_DEADLINE)) as Graph;
      const groupsOf = async (question: Omit<GroupQuestion, 'kind'>) =>
        (await reader.analyse({ kind: 'group', ...question }, NO_DEADLINE)) as GroupPage;

      for (const [at, name] of LOG_GRAPHS.entries()) {
        for (const [reachAt, reach] of REACHES.entries()) {
          test(`${name} of ${reach[0]} are what counting by hand finds, under filters`, async () => {
            for (const each of filtersOf(at * REACHES.length + reachAt)) {
              const { filter, meant } = asked(reach[1], each, WHOLE);
              const graph = await graphOf(name, filter, WHOLE);
              expect(graph.bucket_seconds).toBe(3_600);
              expect(graph.summary).toEqual(GRAPH_FIGURES[name](meant) as never);
              expect(graph.data_points).toHaveLength(72);
              const hours = Map.groupBy(meant, ({ created_at }) => Math.floor((created_at - START) / HOUR_MS));
              for (const [index, { timestamp, ...figures }] of graph.data_points.entries()) {
                expect(timestamp).toBe(new Date(START + index * HOUR_MS).toISOString());
                expect(figures).toEqual(GRAPH_FIGURES[name](hours.get(index) ?? []) as never);
              }
            }
          });
        }
      }

      test('a range that begins within a bucket leaves out what came before it', async () => {
        const range = { from: START + 12_345_678, until: START + 12_345_678 + 7 * HOUR_MS };
        const { filter, meant } = asked(null, FILTERS[0]!, range);
        const graph = await graphOf('requests', filter, range);
        expect(graph.bucket_seconds).toBe(300);
        expect(graph.data_points[0]!.timestamp).toBe('2026-03-01T03:25:00.000Z');
        expect(graph.summary).toEqual({ requests: meant.length });
      });

      const by: readonly (readonly [GroupQuestion['by'], string, (entry: LogRow) => string | number | null])[] = [
        ...Object.values(GROUPS).map((column) => [column, column, (entry: LogRow) => entry[column]] as const),
        ['endpoint', 'endpoint', (entry) => endpointOf(entry.path)],
        [{ metadata: 'team' }, 'value', (entry) => labels(entry).team ?? null],
        [{ metadata: '5' }, 'value', (entry) => labels(entry)['5'] ?? null],
        [{ metadata: '__proto__' }, 'value', () => null],
      ];
      for (const [at, [column, key, nameOf]] of by.entries()) {
        test(`groups by ${JSON.stringify(column)} add up to what is there, under filters`, async () => {
          for (const [reachAt, reach] of REACHES.entries()) {
            for (const each of filtersOf(at * REACHES.length + reachAt)) {
              const { filter, meant } = asked(reach[1], each, WHOLE);
              const page = await groupsOf({ by: column, filter, range: WHOLE, current_page: 0, page_size: 1000 });
              const groups = Map.groupBy(meant, nameOf);
              expect(page).toMatchObject({ object: 'list', total: groups.size, has_more: false });
              const found = new Map(page.data.map((group) => [group[key], group]));
              for (const [name, within] of groups) {
                expect(found.get(name)!).toEqual({ [key]: name, ...groupFigures(within) });
              }
              const counts = page.data.map(({ requests }) => Number(requests));
              expect(counts).toEqual(counts.toSorted((one, other) => other - one));
            }
          }
        });
      }

      test('sums say the same as graphs and groups, by anything and under filters', async () => {
        const range = { from: START + 12_345, until: START + 2 * DAY_MS + 54_321 };
        for (const [at, [column, , nameOf]] of [[null, '', () => null] as const, ...by].entries()) {
          for (const each of filtersOf(at)) {
            const { filter, meant } = asked(null, each, range);
            const question = { kind: 'sums', by: column, filter, range } as const;
            const summed = (await reader.analyse(question, NO_DEADLINE)) as readonly Summed[];
            const groups = Map.groupBy(meant, nameOf);
            expect(new Set(summed.map(({ name }) => name))).toEqual(new Set(groups.keys()));
            for (const { name, sums, latency, firstByte } of summed) {
              const within = groups.get(name)!;
              const figures = groupFigures(within);
              expect(sums).toMatchObject({ ...GRAPH_FIGURES['errors/origins'](within), calls: within.length });
              expect(sums.cost / 1e9).toEqual(figures.cost);
              expect(sums.total_tokens).toBe(figures.total_tokens);
              const [slow, slowFirst] = [GRAPH_FIGURES.latency(within), GRAPH_FIGURES['first-byte'](within)];
              for (const [shown, percentiles] of [
                [slow, latency],
                [slowFirst, firstByte],
              ] as const)
                expect(shortened(percentiles.p90)).toBe((shown as { p90: number | null }).p90);
            }
          }
        }
      });

      test('series are those with the most, and what is not shown is in the others', async () => {
        const named = ['gpt-4o', 'claude', 'ünïcode', null].flatMap((model) =>
          ['k1', 'k2', 'k3', null].map((key) => [model, key] as const),
        );
        for (const each of [FILTERS[0]!, FILTERS[1]!, FILTERS[5]!]) {
          const { filter, meant } = asked(null, each, WHOLE);
          const question = { kind: 'series', metric: 'latency_p90', rankBy: 'cost', limit: 3, range: WHOLE } as const;
          const one = { ...question, by: 'model', then: null, filter } as const;
          const series = (await reader.analyse(one, NO_DEADLINE)) as Series;
          const latency = await graphOf('latency', filter, WHOLE);
          expect(series.total.points).toEqual(latency.data_points.map(({ p90 }) => p90 as number | null));
          expect(series.timestamps).toEqual(latency.data_points.map(({ timestamp }) => String(timestamp)));
          const costs = series.series.map(({ figures }) => figures.cost!);
          expect(costs).toEqual(costs.toSorted((less, more) => more - less));
          const groups = new Set(meant.map(({ model }) => model));
          expect(series.others?.groups ?? 0).toBe(Math.max(0, groups.size - 3));
          const two = (await reader.analyse({ ...one, then: 'api_key_id' }, NO_DEADLINE)) as Series;
          for (const { group, subgroup, value, figures } of two.series) {
            const within = meant.filter((e) => e.model === group && e.api_key_id === subgroup);
            expect(named).toContainEqual([group, subgroup!] as never);
            expect(figures).toMatchObject(GRAPH_FIGURES.cost(within));
            expect({ p90: value }).toMatchObject({ p90: (GRAPH_FIGURES.latency(within) as { p90: number }).p90 });
          }
          const shown = [...two.series, ...(two.others ? [two.others] : [])];
          expect(shown.reduce((sum, { figures }) => sum + figures.requests!, 0)).toBe(meant.length);
        }
      });

      test('groups come in pages that neither repeat nor leave out', async () => {
        const { filter } = asked(null, FILTERS[0]!, WHOLE);
        const ask = (current_page: number, page_size: number) =>
          groupsOf({ by: 'status', filter, range: WHOLE, current_page, page_size });
        const all = await ask(0, 1000);
        const pages = [await ask(0, 3), await ask(1, 3), await ask(2, 3)];
        expect(pages.flatMap(({ data }) => data)).toEqual([...all.data]);
        expect(pages.map(({ has_more }) => has_more)).toEqual([true, true, false]);
        expect(await ask(9, 3)).toMatchObject({ data: [], total: all.total, has_more: false });
      });

      test('a question whose time is over is given up', async () => {
        const question = { kind: 'graph', name: 'requests', ...asked(null, FILTERS[0]!, WHOLE), range: WHOLE } as const;
        const refusal = await reader.analyse(question, performance.now() - 1).catch((error: Error) => error);
        expect(refusal).toMatchObject({ code: 'analytics_too_slow', status: 503 });
      });

      // The last one: what it lets go is gone.
      test('times that begin and end within hours whose minutes are gone are what counting by hand finds', async () => {
        await writer.close();
        writer = await openLogStore(target, 'writer', {
          figures: { ...FIGURES, keepDays: { ...FIGURES.keepDays, minutes: 1 } },
        });
        while (await writer.tend());
        // More and less than half of the hour at the beginning, each with more and less at the end.
        const bounds = [
          [1, 29],
          [29, 31],
          [31, 59],
          [59, 1],
        ] as const;
        for (const [at, [begins, ends]] of bounds.entries()) {
          const from = START + at * HOUR_MS + begins * MINUTE_MS + 123;
          const range = { from, until: START + (50 + at) * HOUR_MS + ends * MINUTE_MS + 789 };
          for (const each of [unfiltered!, others[at]!]) {
            const { filter, meant } = asked(null, each, range);
            const hours = Map.groupBy(meant, ({ created_at }) => Math.floor(created_at / HOUR_MS));
            for (const name of LOG_GRAPHS) {
              const graph = await graphOf(name, filter, range);
              expect(graph.bucket_seconds).toBe(3_600);
              expect(graph.summary).toEqual(GRAPH_FIGURES[name](meant) as never);
              for (const { timestamp, ...figures } of graph.data_points) {
                const within = hours.get(Date.parse(String(timestamp)) / HOUR_MS) ?? [];
                expect(figures).toEqual(GRAPH_FIGURES[name](within) as never);
              }
            }
            const groups = Map.groupBy(meant, ({ model }) => model);
            const page = await groupsOf({ by: 'model', filter, range, current_page: 0, page_size: 1000 });
            expect(new Map(page.data.map(({ model, ...figures }) => [model, figures]))).toEqual(
              new Map([...groups].map(([model, within]) => [model, groupFigures(within) as never])),
            );
            const question = { kind: 'sums', by: 'model', filter, range } as const;
            const summed = (await reader.analyse(question, NO_DEADLINE)) as readonly Summed[];
            expect(new Map(summed.map(({ name, sums }) => [name, sums.calls]))).toEqual(
              new Map([...groups].map(([model, within]) => [model, within.length])),
            );
            const series = (await reader.analyse(
              {
                ...{
                  kind: 'series',
                  metric: 'latency_p90',
                  rankBy: 'latency_p90',
                  by: 'model',
                  then: null,
                  limit: 9,
                },
                filter,
                range,
              },
              NO_DEADLINE,
            )) as Series;
            const latency = await graphOf('latency', filter, range);
            expect(series.total.points).toEqual(latency.data_points.map(({ p90 }) => p90 as number | null));
            expect(new Map(series.series.map(({ group, figures }) => [group, figures.requests]))).toEqual(
              new Map([...groups].map(([model, within]) => [model, within.length])),
            );
          }
        }
      });
    });
  }
}
