import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { close, occurrences } from '../log-figures.ts';
import { givenBrowser } from '../people.ts';
import { eventually, newDataDir, removeDataDir, startProcess } from '../process.ts';
import { query } from '../state-tables.ts';

const PATH = '/v1/feedback';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

interface Stored {
  readonly id: string;
  readonly trace_id: string;
  readonly value: number;
  readonly weight: number;
  readonly metadata: string;
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`feedback on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const newKey = async (over: object = {}) => {
      const workspace = await gateway.given.workspace({ name: 'Raters' });
      const scopes = ['feedbacks.write', 'analytics.view'];
      const { id, key } = await gateway.given.apiKey({ workspace_id: workspace.id, scopes, ...over });
      return { id: id as string, key: key as string, workspace: workspace.id as string };
    };
    const stored = (id: string) => query<Stored>(gateway, `select * from feedbacks where id = '${id}'`);
    const countOf = async () =>
      Number((await query<{ count: number }>(gateway, 'select count(*) as count from feedbacks'))[0]!.count);
    const graphOf = async (name: string, key?: string, more: Record<string, string> = {}) => {
      const time = {
        time_of_generation_min: String(Date.now() - 3_600_000),
        time_of_generation_max: String(Date.now() + 60_000),
      };
      const search = new URLSearchParams({ ...time, ...more });
      return (await gateway.api.get(`/v1/analytics/graphs/${name}?${search}`, key === undefined ? {} : { key })).json;
    };

    test('a rating is stored and can be changed, piece by piece', async () => {
      const { key, id: apiKey, workspace } = await newKey();
      const given = { trace_id: 'a-trace', value: 5, weight: 0.5, metadata: { _user: 'ada', mood: 'ünïcode 😀' } };

      const made = await gateway.api.post(PATH, given, { key });

      expect([made.status, made.json]).toEqual([
        200,
        { status: 'success', message: expect.any(String), feedback_ids: [expect.stringMatching(UUID)] },
      ]);
      const [id] = made.json.feedback_ids;
      const [row] = await stored(id);
      expect(row).toMatchObject({
        trace_id: 'a-trace',
        value: 5,
        weight: 0.5,
        workspace_id: workspace,
        api_key_id: apiKey,
      });
      expect(JSON.parse(row!.metadata)).toEqual(given.metadata);
      expect((await graphOf('feedbacks/scores', key)).summary).toEqual({ feedbacks: 1, scores: { 5: 1 } });

      const changed = await gateway.api.put(`${PATH}/${id}`, { value: -10 }, { key });
      expect([changed.status, changed.json]).toEqual([
        200,
        { status: 'success', message: expect.any(String), feedback_ids: [id] },
      ]);
      expect((await stored(id))[0]).toMatchObject({ value: -10, weight: 0.5, metadata: row!.metadata });
      await gateway.api.put(`${PATH}/${id}`, { weight: 0, metadata: {} }, { key });
      expect((await stored(id))[0]).toMatchObject({ value: -10, weight: 0, metadata: '{}' });
      expect((await graphOf('feedbacks/scores', key)).summary).toEqual({ feedbacks: 1, scores: { '-10': 1 } });
    });

    test('without a weight it counts in full', async () => {
      const { key } = await newKey();
      const { json } = await gateway.api.post(PATH, { trace_id: 't', value: 0 }, { key });
      expect((await stored(json.feedback_ids[0]))[0]).toMatchObject({ value: 0, weight: 1, metadata: '{}' });
    });

    test('graphs of feedback count what was given, and only in reach', async () => {
      const { key, id: apiKey } = await newKey();
      const other = await newKey();
      const given = [-10, 3, 3, 7, 0, 10].map((value, index) => ({
        trace_id: `trace-${index % 2}`,
        value,
        weight: index / 10,
        metadata: { team: index < 2 ? 'blue' : 'red', '5': 'x' },
      }));
      expect((await gateway.api.post(PATH, given, { key })).json.feedback_ids).toHaveLength(6);
      await gateway.api.post(PATH, { trace_id: 'trace-0', value: 1, weight: 0 }, { key: other.key });

      const expected = (list: typeof given) => {
        const weights = list.reduce((sum, { weight }) => sum + weight, 0);
        const scores = list.reduce((sum, { value, weight }) => sum + value * weight, 0);
        return {
          feedbacks: { feedbacks: list.length },
          'feedbacks/scores': { feedbacks: list.length, scores: occurrences(list.map(({ value }) => value)) },
          'feedbacks/weighted': {
            feedbacks: list.length,
            weighted_score: close(weights === 0 ? null : scores / weights),
          },
        };
      };
      for (const [more, list] of [
        [{}, given],
        [{ trace_id: 'trace-1' }, given.filter(({ trace_id }) => trace_id === 'trace-1')],
        [{ 'metadata.team': 'blue' }, given.filter(({ metadata }) => metadata.team === 'blue')],
        [{ 'metadata.5': 'x', 'metadata.team': 'red' }, given.filter(({ metadata }) => metadata.team === 'red')],
        [{ api_key_id: apiKey }, given],
        [{ api_key_id: other.id }, []],
        [{ 'metadata.none': 'x' }, []],
      ] as const) {
        for (const [name, summary] of Object.entries(expected([...list]))) {
          const graph = await graphOf(name, key, more);
          expect(graph.summary).toEqual(summary as never);
          const counts = graph.data_points.map(({ feedbacks }: { feedbacks: number }) => feedbacks);
          expect(counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(list.length);
        }
      }
      expect((await graphOf('feedbacks/weighted', other.key)).summary).toEqual({ feedbacks: 1, weighted_score: null });
      expect((await graphOf('feedbacks')).summary.feedbacks).toBe(await countOf());
    });

    test('a list is taken whole or not at all', async () => {
      const { key } = await newKey();
      const before = await countOf();
      const good = { trace_id: 't', value: 1 };

      const refused = await gateway.api.post(PATH, [good, { ...good, value: 11 }, good], { key });

      expect([refused.status, refused.json.error.param]).toEqual([400, '[1].value']);
      expect(await countOf()).toBe(before);
      const many = await gateway.api.post(PATH, Array(1000).fill(good), { key });
      expect(new Set(many.json.feedback_ids).size).toBe(1000);
      expect(await countOf()).toBe(before + 1000);
    });

    test('no metadata that is stored breaks a graph that looks into it', async () => {
      const { key } = await newKey();
      const good = { trace_id: 'a-trace', value: 1 };
      for (const metadata of [{ a: '\0' }, { '\0': 'a' }, { a: '\ud800' }, { '\udc00': 'a' }]) {
        const reply = await gateway.api.post(PATH, { ...good, metadata }, { key });
        expect([reply.status, reply.json.error.param]).toEqual([400, 'metadata']);
      }
      const odd = ['\\u0000', '\u0001', '"', '\ufffe'];
      for (const a of odd)
        expect((await gateway.api.post(PATH, { ...good, metadata: { a } }, { key })).status).toBe(200);
      for (const a of odd)
        expect((await graphOf('feedbacks', key, { 'metadata.a': a })).summary).toEqual({ feedbacks: 1 });
    });

    describe('refuses', () => {
      const good = { trace_id: 't', value: 1 };
      const rows: [what: string, body: unknown, param: string][] = [
        ['nothing', {}, 'trace_id'],
        ['an empty list', [], 'body'],
        ['too long a list', Array(1001).fill(good), 'body'],
        ['text', '"good"', 'body'],
        ['no trace', { value: 1 }, 'trace_id'],
        ['an empty trace', { ...good, trace_id: '' }, 'trace_id'],
        ['a trace that is no header', { ...good, trace_id: 'a b' }, 'trace_id'],
        ['no value', { trace_id: 't' }, 'value'],
        ['half a value', { ...good, value: 0.5 }, 'value'],
        ['a value as text', { ...good, value: '5' }, 'value'],
        ['a value that is too high', { ...good, value: 11 }, 'value'],
        ['a value that is too low', { ...good, value: -11 }, 'value'],
        ['a negative weight', { ...good, weight: -0.1 }, 'weight'],
        ['a weight above one', { ...good, weight: 1.1 }, 'weight'],
        ['metadata that is a list', { ...good, metadata: [] }, 'metadata'],
        ['metadata with a number', { ...good, metadata: { a: 1 } }, 'metadata.a'],
        ['metadata that is too long', { ...good, metadata: { a: 'x'.repeat(129) } }, 'metadata.a'],
        ['what it does not know', { ...good, colour: 'red' }, 'colour'],
      ];
      for (const [what, body, param] of rows) {
        test(what, async () => {
          const { key } = await newKey();
          const before = await countOf();
          const reply = await gateway.api.post(PATH, body, { key, headers: { 'content-type': 'application/json' } });
          expect([reply.status, reply.json.error.param]).toEqual([400, param]);
          expect(await countOf()).toBe(before);
        });
      }

      test('to move a rating to another trace', async () => {
        const { key } = await newKey();
        const { json } = await gateway.api.post(PATH, good, { key });
        const reply = await gateway.api.put(`${PATH}/${json.feedback_ids[0]}`, { trace_id: 'other' }, { key });
        expect([reply.status, reply.json.error.param]).toEqual([400, 'trace_id']);
      });

      test('a key of the organisation, which has no workspace to rate in', async () => {
        const { key } = await newKey();
        const { json } = await gateway.api.post(PATH, good, { key });
        for (const reply of [
          await gateway.api.post(PATH, good),
          await gateway.api.put(`${PATH}/${json.feedback_ids[0]}`, { value: 2 }),
        ]) {
          expect([reply.status, reply.json.error.code]).toEqual([403, 'feedback_needs_workspace_key']);
          expect(reply.json.error.message).toContain('organisation.manage');
        }
      });
    });

    test('an owner who is signed in rates in the workspace that they act in', async () => {
      const { browser } = await givenBrowser(gateway, { role: 'owner' });
      const { slug, id } = await gateway.given.workspace();
      const headers = { 'x-gateway-workspace': slug };
      const given = await browser.call('POST', PATH, { trace_id: 'seen', value: 10 }, headers);
      expect(given.status).toBe(200);
      const [rating] = given.json.feedback_ids;
      const changed = await browser.call('PUT', `${PATH}/${rating}`, { value: -10 }, headers);
      expect(changed.status).toBe(200);
      expect((await stored(rating))[0]).toMatchObject({ value: -10, workspace_id: id });
      const elsewhere = await browser.call('PUT', `${PATH}/${rating}`, { value: 1 });
      expect(elsewhere.json.error.code).toBe('feedback_not_found');
    });

    test('what belongs to another workspace looks like nothing', async () => {
      const [{ key }, other] = [await newKey(), await newKey()];
      const { json } = await gateway.api.post(PATH, { trace_id: 't', value: 1 }, { key });
      const [id] = json.feedback_ids;
      for (const path of [`${PATH}/${id}`, `${PATH}/${crypto.randomUUID()}`, `${PATH}/no`]) {
        const reply = await gateway.api.put(path, { value: 9 }, { key: other.key });
        expect([reply.status, reply.json.error.code]).toEqual([404, 'feedback_not_found']);
      }
      expect((await stored(id))[0]).toMatchObject({ value: 1 });
    });

    test('it goes with its workspace', async () => {
      const { key, workspace } = await newKey();
      const { json } = await gateway.api.post(PATH, { trace_id: 't', value: 1 }, { key });
      expect((await gateway.api.delete(`/v1/admin/workspaces/${workspace}`)).status).toBe(200);
      await eventually('it is gone', async () => (await stored(json.feedback_ids[0])).length === 0);
    });
  });
}

test('a rating that was acknowledged survives a process that is killed', async () => {
  const dataDir = newDataDir();
  try {
    const first = await startProcess({ dataDir });
    const { key } = (await first.api.post('/v1/api-keys', { name: 'rater', scopes: ['feedbacks.write'] })).json;
    const made = await first.api.post(
      PATH,
      [
        { trace_id: 't', value: 1 },
        { trace_id: 't', value: 2 },
      ],
      { key },
    );
    await first.kill();
    const place = { dataDir: first.dataDir, databaseUrl: null };
    const rows = await query<Stored>(place, 'select * from feedbacks');
    expect(rows.map(({ id }) => id).sort()).toEqual(made.json.feedback_ids.toSorted());
  } finally {
    removeDataDir(dataDir);
  }
});
