import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { GROUPS, LOG_GRAPHS } from '../../src/telemetry/analytics/question.ts';
import { FEEDBACK_GRAPHS } from '../../src/telemetry/feedback/graphs.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { type Entry, GRAPH_FIGURES, groupFigures } from '../log-figures.ts';
import { givenUser } from '../people.ts';

type Logged = Entry & {
  readonly session_id: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
};

const GRAPHS = '/v1/analytics/graphs';
const LISTS = '/v1/analytics/groups';
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** By each of these, a group is made of what it says of an entry. */
const GROUPED: readonly (readonly [path: string, key: string, nameOf: (entry: Logged) => string | number | null])[] = [
  ...Object.entries(GROUPS).map(([path, column]) => [path, column, (entry: Logged) => entry[column]] as const),
  ['metadata/team', 'value', ({ metadata }) => metadata?.team ?? null],
  ['metadata/not%20there', 'value', () => null],
];

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`analytics on ${engine}`, () => {
    let gateway: TestGateway;
    let range: { from: number; until: number };
    /** Every entry of the time that is asked about. */
    let entries: Logged[];
    const ours = { id: '', slug: 'analysts', key: '' };
    const theirs = { id: '', slug: 'rivals', key: '' };

    beforeAll(async () => {
      gateway = await startGateway({ engine });
      range = { from: Date.now(), until: 0 };
      for (const place of [ours, theirs]) await fill(place);
      range.until = Date.now() + 1;
      while (Date.now() < range.until) await Bun.sleep(1);
      // Entries are stored in the order they close: behind this one, all are there.
      await gateway.logOf(await gateway.api.get('/v1/providers'));
      entries = await logged();
    });
    afterAll(() => gateway.stop());

    /** A workspace of its own, in which two users and a service call models, well and badly. */
    async function fill(place: typeof ours) {
      const { api, given } = gateway;
      place.id = (await given.workspace({ slug: place.slug })).id;
      const workspaces = [{ id: place.id, role: 'member' }];
      const slugs = [`${place.slug}-gpt`, `${place.slug}-claude`];
      await given.virtualKey({ slug: slugs[0], workspace_id: place.id });
      await given.virtualKey({ slug: slugs[1], workspace_id: place.id, provider: 'anthropic' });
      const scopes = ['completions.write', 'analytics.view', 'logs.list', 'models.list'];
      const keyFor = async (over: object) =>
        (await given.apiKey({ workspace_id: place.id, scopes, ...over })).key as string;
      place.key = await keyFor({});
      const people = [await givenUser(gateway, { workspaces }), await givenUser(gateway, { workspaces })];
      const keys = [place.key, await keyFor({ user_id: people[0].id }), await keyFor({ user_id: people[1].id })];
      const calls: [key: number, slug: number, body: object, team?: string][] = [
        [0, 0, { model: 'gpt-5' }, 'blue'],
        [1, 0, { model: 'gpt-5' }, 'red'],
        [1, 1, { model: 'claude-sonnet-5' }, 'blue'],
        [2, 0, { model: 'nobody-knows-its-price' }],
        [2, 0, { model: 'gpt-5', messages: [{ role: 'user', content: '[[simulate: status=429]]' }] }, 'red'],
        [0, 0, { model: 'gpt-5', messages: [{ role: 'user', content: '[[simulate: status=503]]' }] }],
        [0, 0, { model: 'gpt-5', stream: true, stream_options: { include_usage: true } }],
      ];
      for (const [key, slug, body, team] of calls) {
        const headers = {
          'x-gateway-virtual-key': slugs[slug]!,
          ...(team && { 'x-gateway-metadata': JSON.stringify({ team }) }),
        };
        const messages = [{ role: 'user', content: 'Hello' }];
        await api.post('/v1/chat/completions', { messages, max_tokens: 9, ...body }, { key: keys[key], headers });
      }
      const config = JSON.stringify({ virtual_key: slugs[0], cache: { mode: 'simple' } });
      for (const _ of ['asked', 'kept'])
        await api.post(
          '/v1/chat/completions',
          { model: 'gpt-5', messages: [{ role: 'user', content: 'Hello again' }] },
          { key: place.key, headers: { 'x-gateway-config': config, 'x-gateway-session-id': 'session-7' } },
        );
      await api.post('/v1/chat/completions', {}, { key: place.key });
      await api.get('/v1/models', { key: place.key });
    }

    async function logged(): Promise<Logged[]> {
      const query = `start_time=${range.from}&end_time=${range.until}&limit=1000`;
      const { data, has_more } = (await gateway.api.get(`/v1/logs?${query}`)).json;
      expect(has_more).toBe(false);
      return data;
    }

    const ask = (path: string, query: Record<string, string | number> = {}, key?: string) => {
      const asked = { time_of_generation_min: range.from, time_of_generation_max: range.until, ...query };
      const pairs = Object.entries(asked).map(([name, value]): [string, string] => [name, String(value)]);
      const search = new URLSearchParams(pairs);
      return gateway.api.get(`${path}?${search}`, key === undefined ? {} : { key });
    };
    const answerOf = async (...asked: Parameters<typeof ask>) => {
      const reply = await ask(...asked);
      if (reply.status !== 200) throw new Error(`${asked[0]} answered ${reply.status}: ${reply.text}`);
      return reply.json;
    };
    const of = (place: typeof ours) => entries.filter(({ workspace_id }) => workspace_id === place.id);

    test('there is something of everything to count', () => {
      const mine = of(ours);
      expect(mine.length).toBeGreaterThanOrEqual(9);
      expect(mine.some(({ cost, provider }) => cost === null && provider !== null)).toBe(true);
      expect(mine.some(({ cost }) => cost !== null && cost > 0)).toBe(true);
      expect([...new Set(mine.map(({ status }) => status))].sort()).toEqual([200, 400, 429, 503]);
      expect(new Set(mine.flatMap(({ user_id }) => user_id ?? [])).size).toBe(2);
      expect(of(theirs)).toHaveLength(mine.length);
    });

    for (const name of LOG_GRAPHS) {
      test(`the graph ${name} says what the log says, in all and in each minute`, async () => {
        for (const [query, key, meant] of [
          [{}, ours.key, of(ours)],
          [{}, undefined, entries],
          [{ workspace_slug: ours.slug }, undefined, of(ours)],
          [{ workspace_slug: ours.id }, ours.key, of(ours)],
          [{ provider: 'anthropic' }, ours.key, of(ours).filter(({ provider }) => provider === 'anthropic')],
          [{ session_id: 'session-7' }, ours.key, of(ours).filter((entry) => entry.session_id === 'session-7')],
          [{ filter: 'status:>=429' }, ours.key, of(ours).filter(({ status }) => status >= 429)],
          [{ 'metadata.team': 'blue' }, undefined, entries.filter(({ metadata }) => metadata?.team === 'blue')],
          [{ model: 'gpt-5', status: 429 }, ours.key, of(ours).filter((e) => e.model === 'gpt-5' && e.status === 429)],
        ] as const) {
          const graph = await answerOf(`${GRAPHS}/${name}`, query, key);
          expect(graph).toMatchObject({ object: 'analytics-graph', bucket_seconds: 60 });
          expect(graph.summary).toEqual(GRAPH_FIGURES[name](meant));
          const first = Math.floor(range.from / MINUTE_MS) * MINUTE_MS;
          expect(graph.data_points[0].timestamp).toBe(new Date(first).toISOString());
          expect(graph.data_points.length).toBe(Math.ceil((range.until - first) / MINUTE_MS));
          for (const { timestamp, ...figures } of graph.data_points) {
            const from = Date.parse(timestamp);
            const within = meant.filter(({ created_at }) => created_at >= from && created_at < from + MINUTE_MS);
            expect(figures).toEqual(GRAPH_FIGURES[name](within));
          }
        }
      });
    }

    for (const [path, key, nameOf] of GROUPED) {
      test(`the groups by ${path} add up to what the log says`, async () => {
        for (const [query, by, meant] of [
          [{}, ours.key, of(ours)],
          [{}, undefined, entries],
          [{ 'metadata.team': 'red' }, ours.key, of(ours).filter(({ metadata }) => metadata?.team === 'red')],
        ] as const) {
          const list = await answerOf(`${LISTS}/${path}`, query, by);
          const names = [...new Set(meant.map(nameOf))];
          expect(list).toMatchObject({ object: 'list', total: names.length, has_more: false });
          for (const name of names) {
            const { workspace_slug: _, ...group } = list.data.find(
              (each: Record<string, unknown>) => each[key] === name,
            );
            expect(group).toEqual({ [key]: name, ...groupFigures(meant.filter((entry) => nameOf(entry) === name)) });
          }
        }
      });
    }

    test('calls are told apart by what the cache said', async () => {
      const { data } = await answerOf(`${LISTS}/cache-statuses`, {}, ours.key);
      const said = data.map((each: { cache_status: string; requests: number }) => [each.cache_status, each.requests]);
      expect(said).toEqual([
        [null, of(ours).length - 2],
        ['HIT', 1],
        ['MISS', 1],
      ]);
      const { facets } = await answerOf('/v1/analytics/facets', {}, ours.key);
      expect(facets.cache_status.values.map(({ value }: { value: string }) => value)).toEqual([null, 'HIT', 'MISS']);
    });

    test('a time that ends now leaves out what came since, and nothing else', async () => {
      for (let round = 0; round < 3; round++) {
        const [from, until] = [range.from - 5 * MINUTE_MS, Date.now()];
        for (let call = 0; call < 3; call++)
          await gateway.logOf(await gateway.api.get('/v1/models', { key: ours.key }));
        const time = { time_of_generation_min: from, time_of_generation_max: until };
        const { summary } = await answerOf(`${GRAPHS}/tokens`, time, ours.key);
        const { data } = (
          await gateway.api.get(`/v1/logs?start_time=${from}&end_time=${until}&limit=1000`, { key: ours.key })
        ).json;
        expect(summary).toEqual(GRAPH_FIGURES.tokens(data));
      }
    });

    test('workspaces are shown with their slugs, and pages follow each other', async () => {
      const list = await answerOf(`${LISTS}/workspaces`);
      const slugs = new Map(list.data.map((each: Record<string, unknown>) => [each.workspace_id, each.workspace_slug]));
      expect(slugs.get(ours.id)).toBe(ours.slug);
      expect(slugs.get(theirs.id)).toBe(theirs.slug);
      const pages = [];
      for (const current_page of [0, 1, 2])
        pages.push(await answerOf(`${LISTS}/status-codes`, { current_page, page_size: 2 }, ours.key));
      const whole = await answerOf(`${LISTS}/status-codes`, {}, ours.key);
      expect(pages.flatMap(({ data }) => data)).toEqual(whole.data);
      expect(pages.map(({ has_more, total }) => [has_more, total])).toEqual([
        [true, 4],
        [false, 4],
        [false, 4],
      ]);
    });

    describe('questions that are asked at once', () => {
      const time = () => `time_of_generation_min=${range.from}&time_of_generation_max=${range.until}`;
      const together = (questions: readonly string[], as: { key?: string } = { key: ours.key }) => {
        const asked = new URLSearchParams(questions.map((each): [string, string] => ['question[]', each]));
        return gateway.api.get(`/v1/analytics/questions?${asked}`, as);
      };

      test('get the answers that each gets alone, in the order they were asked', async () => {
        const asked = [
          ...LOG_GRAPHS.map((name) => `graphs/${name}?${time()}`),
          `series?${time()}&metric=cost&group_by=model&subgroup_by=api_key_id`,
          `series?${time()}&metric=errors&group_by=metadata.team&filter=${encodeURIComponent('status:>=400 model:gpt-5')}`,
          `facets?${time()}&metadata.team=blue`,
        ];
        for (const as of [{ key: ours.key }, {}]) {
          const { data, ...list } = (await together(asked, as)).json;
          expect(list).toEqual({ object: 'list' });
          const alone = await Promise.all(asked.map((each) => gateway.api.get(`/v1/analytics/${each}`, as)));
          expect(data).toEqual(alone.map(({ json }) => json));
        }
        expect((await together(asked.slice(0, 1))).json.data).toHaveLength(1);
      });

      test('are refused as a whole when one of them is, which is named', async () => {
        const good = `graphs/all?${time()}`;
        const wrong: [question: string, param: string, why: string][] = [
          ['groups/users?x=1', 'question[1]', 'must begin with one of graphs/all'],
          ['//elsewhere.example/graphs/all', 'question[1]', 'must begin with one of graphs/all'],
          [`series?${time()}&group_by=model`, 'question[1].metric', 'Invalid'],
          [`series?${time()}&metric=cost&group_by=colour`, 'question[1].group_by', 'must be one of'],
          [`${good}&filter=${encodeURIComponent('status:>=')}`, 'question[1].filter', 'at character'],
          [`${good}&model=a&model=b`, 'question[1].model', 'is given twice'],
          [`${good}&hue=red`, 'question[1].hue', 'is not known here'],
          [
            `facets?time_of_generation_min=1700000005&time_of_generation_max=1700000004`,
            'question[1].time_of_generation_max',
            'behind',
          ],
        ];
        for (const [question, param, why] of wrong) {
          const { status, json } = await together([good, question]);
          expect([question, status, json.error.param]).toEqual([question, 400, param]);
          expect(json.error.message).toContain(why);
        }
        const many = await together(Array<string>(17).fill(good));
        expect([many.status, many.json.error.param]).toEqual([400, 'question[]']);
        const none = await together([]);
        expect([none.status, none.json.error.message]).toEqual([400, expect.stringContaining('given once for each')]);
        const other = await gateway.api.get(`/v1/analytics/questions?question=${encodeURIComponent(good)}`);
        expect([other.status, other.json.error.message]).toEqual([400, expect.stringContaining('question[]')]);
      });

      test('reach no further than each does alone', async () => {
        const [mine, foreign] = [ours.slug, theirs.slug].map((slug) => `graphs/cost?${time()}&workspace_slug=${slug}`);
        const alone = await gateway.api.get(`/v1/analytics/${foreign}`, { key: ours.key });
        const both = await together([mine!, foreign!]);
        expect([both.status, both.json.error.code]).toEqual([alone.status, alone.json.error.code]);
        expect(both.text).not.toContain('data_points');
        const { key } = await gateway.given.apiKey({ workspace_id: ours.id, scopes: ['completions.write'] });
        expect((await together([mine!], { key: String(key) })).json.error.code).toBe('insufficient_scope');
      });
    });

    describe('a workspace', () => {
      test('never sees numbers of another one, whatever it asks for', async () => {
        const rival = of(theirs);
        const asked: Record<string, string>[] = [
          { virtual_key: `${theirs.slug}-gpt` },
          { api_key_id: rival.find(({ api_key_id }) => api_key_id !== null)!.api_key_id! },
          { user_id: rival.find(({ user_id }) => user_id !== null)!.user_id! },
          { trace_id: rival[0]!.trace_id },
        ];
        for (const query of asked) {
          const graph = await answerOf(`${GRAPHS}/requests`, query, ours.key);
          expect([query, graph.summary]).toEqual([query, { requests: 0 }]);
          expect(await answerOf(`${LISTS}/users`, query, ours.key)).toMatchObject({ data: [], total: 0 });
          expect((await answerOf(`${GRAPHS}/requests`, query)).summary.requests).toBeGreaterThan(0);
        }
        const { data } = await answerOf(`${LISTS}/workspaces`, {}, ours.key);
        expect(data.map((each: { workspace_id: string }) => each.workspace_id)).toEqual([ours.id]);
      });

      test('that is not within reach looks like one that does not exist', async () => {
        for (const path of [`${GRAPHS}/cost`, `${GRAPHS}/feedbacks`, `${LISTS}/users`]) {
          const foreign = await ask(path, { workspace_slug: theirs.slug }, ours.key);
          const missing = await ask(path, { workspace_slug: 'nowhere' }, ours.key);
          expect([foreign.status, foreign.json.error.code]).toEqual([404, 'workspace_not_found']);
          expect([missing.status, missing.json.error.code]).toEqual([404, 'workspace_not_found']);
          expect((await ask(path, { workspace_slug: theirs.id }, ours.key)).status).toBe(404);
          expect((await ask(path, { workspace_slug: 'nowhere' })).status).toBe(404);
        }
      });
    });

    describe('refuses', () => {
      const rows: [what: string, query: Record<string, string>, param: string][] = [
        ['a time without a beginning', { time_of_generation_min: '' }, 'time_of_generation_min'],
        ['a time that is none', { time_of_generation_min: 'yesterday' }, 'time_of_generation_min'],
        ['a time without a date', { time_of_generation_max: '9999999999999999' }, 'time_of_generation_max'],
        ['a time that ends before it begins', { time_of_generation_max: '2020-01-01' }, 'time_of_generation_max'],
        ['more than 400 days', { time_of_generation_min: '2020-01-01' }, 'time_of_generation_max'],
        ['an unknown parameter', { colour: 'red' }, 'colour'],
        ['metadata without a key', { 'metadata.': 'x' }, 'metadata.'],
      ];
      for (const [what, query, param] of rows) {
        test(what, async () => {
          for (const path of [`${GRAPHS}/requests`, `${GRAPHS}/feedbacks/scores`, `${LISTS}/metadata/team`]) {
            const reply = await ask(path, query);
            expect([path, reply.status, reply.json.error.param]).toEqual([path, 400, param]);
          }
        });
      }

      test('a question without a time', async () => {
        for (const path of [`${GRAPHS}/requests`, `${GRAPHS}/feedbacks`, `${LISTS}/users`]) {
          const reply = await gateway.api.get(path);
          expect([reply.status, reply.json.error.param]).toEqual([400, 'time_of_generation_min']);
        }
      });

      test('a filter of the wrong form, and one that a graph cannot have', async () => {
        expect((await ask(`${GRAPHS}/requests`, { status: 'bad' })).json.error.param).toBe('status');
        expect((await ask(`${GRAPHS}/requests`, { page_size: 5 })).json.error.param).toBe('page_size');
        expect((await ask(`${LISTS}/users`, { page_size: 0 })).json.error.param).toBe('page_size');
        expect((await ask(`${LISTS}/users`, { current_page: -1 })).json.error.param).toBe('current_page');
        expect((await ask(`${GRAPHS}/feedbacks`, { provider: 'openai' })).json.error.param).toBe('provider');
      });

      test('a graph or a group there is not, and names those there are', async () => {
        const graph = await ask(`${GRAPHS}/colours`);
        expect([graph.status, graph.json.error.code]).toEqual([404, 'route_not_found']);
        for (const name of [...LOG_GRAPHS, ...FEEDBACK_GRAPHS])
          expect(graph.json.error.message).toContain(`${GRAPHS}/${name}`);
        const group = await ask(`${LISTS}/colours`);
        expect(group.status).toBe(404);
        for (const name of Object.keys(GROUPS)) expect(group.json.error.message).toContain(`${LISTS}/${name}`);
      });
    });

    test('points are as long as asked for, and say the same as short ones do', async () => {
      const shown = { group_by: 'model', metric: 'requests' };
      for (const seconds of [900, 7_200, 43_200]) {
        const wish = { bucket_seconds: seconds };
        const graph = await answerOf(`${GRAPHS}/requests`, wish, ours.key);
        expect([graph.bucket_seconds, graph.summary.requests]).toEqual([seconds, of(ours).length]);
        for (const { timestamp, requests } of graph.data_points) {
          const from = Date.parse(timestamp);
          expect(from % (seconds * 1_000)).toBe(0);
          const within = of(ours).filter(({ created_at: at }) => at >= from && at < from + seconds * 1_000);
          expect(requests).toBe(within.length);
        }
        const series = await answerOf('/v1/analytics/series', { ...shown, ...wish }, ours.key);
        expect([series.bucket_seconds, series.total.value]).toEqual([seconds, of(ours).length]);
        expect(series.timestamps).toEqual(graph.data_points.map(({ timestamp }: { timestamp: string }) => timestamp));
      }
      const refused = await ask(`${GRAPHS}/requests`, { bucket_seconds: 61 });
      expect(refused.json.error).toMatchObject({ code: 'invalid_request', param: 'bucket_seconds' });
      const week = { time_of_generation_min: '2026-01-01', time_of_generation_max: '2026-01-08', bucket_seconds: 60 };
      for (const [path, query] of [
        [`${GRAPHS}/requests`, week],
        ['/v1/analytics/series', { ...shown, ...week }],
      ] as const) {
        const { param, message } = (await ask(path, query)).json.error;
        expect([param, message]).toEqual(['bucket_seconds', expect.stringContaining('10080 points')]);
      }
    });

    test('times may be ISO 8601 or seconds, and a day has 288 points', async () => {
      const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
      const graph = await answerOf(`${GRAPHS}/latency`, {
        time_of_generation_min: new Date(today - DAY_MS).toISOString(),
        time_of_generation_max: String(today / 1000),
      });
      expect(graph.bucket_seconds).toBe(300);
      expect(graph.data_points).toHaveLength(288);
      const nothing = { requests: 0, avg: null, p50: null, p90: null, p99: null };
      expect(graph.summary).toEqual(nothing);
      expect(graph.data_points.at(-1)).toEqual({
        timestamp: new Date(today - 5 * MINUTE_MS).toISOString(),
        ...nothing,
      });
    });
  });
}
