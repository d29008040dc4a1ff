import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Client } from 'pg';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

const NEVER_STORED = 'unstored';

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`what was said is found on ${engine}`, () => {
    let gateway: TestGateway;
    let provider: ReturnType<typeof serve>;
    let own: { id: string; key: string };
    let other: { id: string; key: string; workspace: string };
    const ids: Record<string, string> = {};

    const ask = (key: string, content: string, headers: Record<string, string> = {}, more = {}) =>
      gateway.api.post(
        '/v1/chat/completions',
        { model: 'gpt-4o', messages: [{ role: 'user', content }], ...more },
        { key, headers: { 'x-gateway-virtual-key': 'said', ...headers } },
      );
    const search = (filter: string, key?: string, path = '/v1/logs') =>
      gateway.api.get(`${path}?${new URLSearchParams({ filter })}`, key === undefined ? {} : { key });
    const found = async (filter: string, key = own.key) => {
      const { status, json, text } = await search(filter, key);
      if (status !== 200) throw new Error(text);
      const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]));
      return (json.data as { id: string }[]).map(({ id }) => names.get(id) ?? id).sort();
    };
    const idOf = (reply: { headers: Headers }) => reply.headers.get('x-gateway-request-id')!;

    beforeAll(async () => {
      provider = serve(async (request) => {
        const { stream, messages } = (await request.json()) as { stream?: boolean; messages: { content: string }[] };
        const said = `You said: ${messages[0]!.content}. Anything else?`;
        const message = { role: 'assistant', content: said };
        if (!stream) return Response.json({ id: 'x', object: 'chat.completion', choices: [{ index: 0, message }] });
        const events = ['Your mon', 'ey is on its w', 'ay'].map((content) => ({
          choices: [{ index: 0, delta: { content } }],
        }));
        const text = [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`);
        return new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } });
      });
      gateway = await startGateway({ engine, environment: { GATEWAY_LOG_SEARCH: 'default,chosen' } });
      const saying = { name: 'said', slug: 'said', custom_host: `${provider.origin}/v1` };
      await gateway.given.virtualKey(saying);
      own = await gateway.given.apiKey({ scopes: ['completions.write', 'logs.list', 'logs.read'] });
      const workspace = await gateway.given.workspace({ name: 'Other', slug: 'chosen' });
      const scopes = ['completions.write', 'logs.list', 'virtual_keys.create'];
      const key = await gateway.given.apiKey({ workspace_id: workspace.id, scopes });
      other = { id: key.id, key: key.key, workspace: workspace.id };
      await gateway.api.post('/v1/virtual-keys', { ...saying, provider: 'openai', key: 'sk-x' }, { key: key.key });

      ids.refund = idOf(await ask(own.key, 'Please refund my "Café" order,\nnumber 4711_22, at once'));
      ids.stream = idOf(await ask(own.key, 'Where is it?', {}, { stream: true }));
      ids.chinese = idOf(await ask(own.key, '我想退款，谢谢'));
      ids.quiet = idOf(await ask(own.key, `${NEVER_STORED} refund`, { 'x-gateway-debug': 'false' }));
      ids.theirs = idOf(await ask(other.key, 'Please refund theirs, too'));
      await eventually('all are stored', async () => {
        const { json } = await gateway.api.get('/v1/logs?limit=1000');
        const stored = new Set((json.data as { id: string }[]).map(({ id }) => id));
        return Object.values(ids).every((id) => stored.has(id));
      });
    });
    afterAll(async () => {
      await gateway.stop();
      provider.stop();
    });

    test('by words, phrases and beginnings, in requests and answers, of the own workspace alone', async () => {
      const expected: Record<string, string[]> = {
        refund: ['refund'],
        REFUND: ['refund'],
        '"refund my café order"': ['refund'],
        '"my refund"': [],
        'ref*': ['refund'],
        ref: [],
        '4711': ['refund'],
        '"you said" "at once"': ['refund'],
        '"money is on its way"': ['stream'],
        退款: ['chinese'],
        'refund,退款': ['chinese', 'refund'],
        'refund model:gpt* status:200': ['refund'],
        'refund status:>=400': [],
        [NEVER_STORED]: [],
        assistant: [],
        user: [],
      };
      for (const [filter, names] of Object.entries(expected))
        expect([filter, await found(filter)]).toEqual([filter, names]);
      expect(await found('-refund path:/v1/chat*')).toEqual(['chinese', 'quiet', 'stream']);
      expect(await found('refund', other.key)).toEqual(['theirs']);
      expect((await search('refund')).json.data).toHaveLength(2);
      const exported = await search('"theirs too"', undefined, '/v1/logs/export');
      expect(
        exported.text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).id),
      ).toEqual([ids.theirs]);
    });

    test('a text that cannot be searched is refused where it stands', async () => {
      const silent = await gateway.given.workspace({ name: 'Silent', slug: 'silent' });
      const { key } = await gateway.given.apiKey({ workspace_id: silent.id, scopes: ['logs.list'] });
      const refused = [
        await search('status:200 "refund"', key),
        await gateway.api.get(`/v1/logs?${new URLSearchParams({ filter: '"refund"', workspace_id: 'silent' })}`),
        await search('a*b'),
        await search('"…"'),
      ];
      expect(refused.map(({ status, json }) => [status, json.error.code, json.error.param])).toEqual(
        refused.map(() => [400, 'invalid_request', 'filter']),
      );
      const words = refused.map(({ json }) => json.error.message as string);
      expect(words[0]).toContain('at character 12: a text alone asks for what was said');
      expect(words[2]).toContain('at character 1: a * in what was said');
      expect(words[3]).toContain('at character 1: there is no word in it');
    });

    test('the index ends with its workspace, and nothing of its words stays', async () => {
      const indexed = async (): Promise<number> => {
        if (engine === 'sqlite') {
          const log = new Database(join(gateway.dataDir, 'logs.db'), { readonly: true });
          const rows = log
            .query("select count(*) as n from request_log_words where request_log_words match 'theirs'")
            .get();
          log.close();
          return (rows as { n: number }).n;
        }
        const client = new Client({ connectionString: gateway.databaseUrl! });
        await client.connect();
        const { rows } = await client.query("select count(*)::int as n from request_log_words where words @@ 'theirs'");
        await client.end();
        return rows[0].n;
      };
      expect(await indexed()).toBe(1);
      await gateway.api.delete(`/v1/admin/workspaces/${other.workspace}`);
      await eventually('it is gone', async () => (await indexed()) === 0);
      expect(await found('refund')).toEqual(['refund']);
    });
  });
}

test('without the choice a text is refused, and nothing is indexed', async () => {
  const gateway = await startGateway();
  await gateway.logOf(
    await gateway.api.post(
      '/v1/chat/completions',
      { model: 'any', messages: [{ role: 'user', content: 'refund' }] },
      { headers: { 'x-gateway-virtual-key': 'sim' } },
    ),
  );
  const reply = await gateway.api.get('/v1/logs?filter=refund');
  expect([reply.status, reply.json.error.message]).toEqual([400, expect.stringContaining('at character 1:')]);
  const log = new Database(join(gateway.dataDir, 'logs.db'), { readonly: true });
  expect(log.query('select count(*) as n from request_log_places').get()).toEqual({ n: 0 });
  log.close();
  await gateway.stop();
});
