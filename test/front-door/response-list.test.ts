import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ScriptedProvider, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { type Browser, givenBrowser } from '../people.ts';
import { eventually } from '../process.ts';
import { query } from '../state-tables.ts';

const MOST_MS = 60_000;
const SECRET = 'what nobody may read in a list';

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`on ${engine}`, () => {
    let gateway: TestGateway;
    let provider: ScriptedProvider;
    let service: string;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      provider = startScriptedProvider(({ messages, stream }) => ({
        isWhole: stream !== true,
        ...(JSON.stringify(messages).includes('wait') && { stallAfter: 1, isWhole: false }),
        parts: [{ text: SECRET }],
      }));
      await gateway.given.virtualKey({ slug: 'listed', provider: 'groq', key: 'k', custom_host: provider.url });
      service = (await gateway.given.apiKey({ defaults: { virtual_key: 'listed' } })).key;
    });
    afterAll(async () => {
      provider.stop();
      await gateway.stop();
    });
    const ask = (key: string, body: object = {}, headers: Record<string, string> = {}) =>
      gateway.api.post(
        '/v1/responses',
        { model: 'm', input: 'Hello', instructions: SECRET, ...body },
        { key, headers },
      );
    const asking = async (browser: Browser, body: object = {}) =>
      (
        await browser.call(
          'POST',
          '/v1/responses',
          { model: 'm', input: 'Hello', ...body },
          { 'x-gateway-virtual-key': 'listed' },
        )
      ).json.id as string;
    const ids = (reply: { json: { data: { id: string }[] } }) => reply.json.data.map(({ id }) => id);

    test('responses of both kinds are listed in the order of their time, in pages, without what was said', async () => {
      const made: string[] = [];
      for (let number = 0; number < 3; number++) {
        made.unshift((await ask(service)).json.id);
        made.unshift((await ask(service, { background: true })).json.id);
      }
      expect(made.map((id) => id.startsWith('resp_gw'))).toEqual([true, false, true, false, true, false]);
      const over = async () =>
        (await gateway.api.get('/v1/responses', { key: service })).json.data.every(
          ({ status }: { status: string }) => status === 'completed',
        );
      await eventually('all are made', over, MOST_MS);
      const whole = await gateway.api.get('/v1/responses', { key: service });
      expect(ids(whole)).toEqual(made);
      expect(whole.text).not.toContain(SECRET);
      expect(whole.json.data[0]).toMatchObject({
        ...{ object: 'response', status: 'completed', model: 'm', background: true, previous_response_id: null },
        ...{ usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 }, error: null, user_id: null },
        trace_id: expect.any(String),
      });
      expect(whole.json.data[1]).toMatchObject({ background: false, trace_id: expect.any(String) });

      const paged: string[] = [];
      for (let after = ''; ; ) {
        const page = await gateway.api.get(`/v1/responses?limit=2&after=${after}`, { key: service });
        paged.push(...ids(page));
        if (!page.json.has_more) break;
        after = page.json.last_id;
      }
      expect(paged).toEqual(made);
      const ahead = await gateway.api.get(`/v1/responses?order=asc&limit=2&after=${made[4]}`, { key: service });
      expect(ids(ahead)).toEqual([made[3]!, made[2]!]);
      const before = await gateway.api.get(`/v1/responses?limit=2&before=${made[3]}`, { key: service });
      expect(ids(before)).toEqual([made[1]!, made[2]!]);
      expect(ids(await gateway.api.get(`/v1/responses?id=${made[2]}`, { key: service }))).toEqual([made[2]!]);
    });

    test('the trace is one under which the log has its calls, and no client is told of it', async () => {
      const trace = `trace-${crypto.randomUUID()}`;
      const { id } = (await ask(service, { background: true }, { 'x-gateway-trace-id': trace })).json;
      const listed = async () => (await gateway.api.get(`/v1/responses?id=${id}`, { key: service })).json.data[0];
      await eventually('it is made', async () => (await listed()).status === 'completed', MOST_MS);
      expect((await listed()).trace_id).toBe(trace);
      const read = await gateway.api.get(`/v1/responses/${id}`, { key: service });
      expect(read.text).not.toContain('trace');
      await eventually(
        'its call is in the log',
        async () =>
          (await gateway.api.get(`/v1/logs?trace_id=${trace}`)).json.data.some(
            ({ model }: { model: string | null }) => model === 'm',
          ),
        MOST_MS,
      );
    });

    test('people see their own, those who see the log see all; other workspaces see nothing', async () => {
      const member = { workspaces: [{ id: 'default', role: 'member' }] };
      const mia = await givenBrowser(gateway, member);
      const ben = await givenBrowser(gateway, member);
      const boss = await givenBrowser(gateway, { workspaces: [{ id: 'default', role: 'manager' }] });
      const [ofMia, ofBen, ofNobody] = [
        await asking(mia.browser),
        await asking(ben.browser),
        (await ask(service)).json.id as string,
      ];
      const seen = async (browser: Browser, search = '') => ids(await browser.call('GET', `/v1/responses${search}`));
      expect(await seen(mia.browser)).toEqual([ofMia]);
      expect(await seen(ben.browser)).toEqual([ofBen]);
      expect((await seen(boss.browser)).slice(0, 3)).toEqual([ofNobody, ofBen, ofMia]);
      const bare = ids(await gateway.api.get('/v1/responses', { key: service }));
      expect(bare).toContain(ofNobody);
      expect(bare).not.toContain(ofMia);
      // A foreign one looks as one that never was, also as a cursor.
      expect(await seen(mia.browser, `?id=${ofBen}`)).toEqual([]);
      const cursor = await mia.browser.call('GET', `/v1/responses?after=${ofBen}`);
      const never = await mia.browser.call('GET', `/v1/responses?after=resp_${'0'.repeat(24)}`);
      expect([cursor.status, cursor.json.error.code]).toEqual([never.status, never.json.error.code]);

      const { json: elsewhere } = await gateway.api.post('/v1/admin/workspaces', { name: 'elsewhere' });
      const { key } = await gateway.given.apiKey({ workspace_id: elsewhere.id });
      expect(ids(await gateway.api.get('/v1/responses', { key }))).toEqual([]);
      const without = await gateway.given.apiKey({ scopes: ['models.list'] });
      expect((await gateway.api.get('/v1/responses', { key: without.key })).status).toBe(403);
    });

    test('what is being made can be asked for alone, and is gone from there when it is cancelled', async () => {
      const { id } = (await ask(service, { input: 'wait', background: true })).json;
      const running = async () => ids(await gateway.api.get('/v1/responses?running=true', { key: service }));
      await eventually('it is being made', async () => (await running()).includes(id), MOST_MS);
      expect((await gateway.api.post(`/v1/responses/${id}/cancel`, undefined, { key: service })).status).toBe(200);
      await eventually('it is over', async () => !(await running()).includes(id), MOST_MS);
      const { data } = (await gateway.api.get(`/v1/responses?id=${id}`, { key: service })).json;
      expect(data).toMatchObject([{ status: 'cancelled', trace_id: expect.any(String) }]);
    });

    test('what is included may be named several times, as clients of the vendor do; other parameters may not', async () => {
      const { id } = (await ask(service)).json;
      const read = (search: string) => gateway.api.get(`/v1/responses/${id}?${search}`, { key: service });
      const both = await read('include[]=file_search_call.results&include[]=code_interpreter_call.outputs');
      expect(both).toMatchObject({ status: 200, json: { id } });
      expect((await read('stream=false&stream=true')).status).toBe(400);
    });

    test('what has expired is not listed; what is asked wrongly is told', async () => {
      const { id } = (await ask(service)).json;
      await query(gateway, `update responses set expires_at = 1 where id = '${id}'`);
      expect(ids(await gateway.api.get('/v1/responses', { key: service }))).not.toContain(id);
      for (const [search, param] of [
        ['running=yes', 'running'],
        ['limit=0', 'limit'],
        ['after=thread_1', 'after'],
        ['nonsense=1', 'nonsense'],
      ]) {
        const { status, json } = await gateway.api.get(`/v1/responses?${search}`, { key: service });
        expect([search, status]).toEqual([search!, 400]);
        expect(JSON.stringify(json.error)).toContain(param!);
      }
    });
  });
