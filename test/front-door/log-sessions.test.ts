import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { clientFor, conversation } from '../assistants/client.ts';
import { uploadLines } from '../batch-lines.ts';
import { ADMIN_KEY, startGateway, startProvider, type TestGateway } from '../gateway.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, forTests, newDataDir, removeDataDir, startProcess } from '../process.ts';

const hello = [{ role: 'user', content: 'Hello' }];
const viaSim = { 'x-gateway-virtual-key': 'sim' };

interface Entry {
  readonly status: number;
  readonly model: string | null;
  readonly cost: number | null;
  readonly input_tokens: number | null;
  readonly total_tokens: number | null;
  readonly created_at: number;
}

/** What the log says of a session, entry by entry. */
async function recount(api: TestGateway['api'], id: string) {
  const entries: Entry[] = [];
  for (let after = ''; ; ) {
    const { json } = await api.get(`/v1/logs?session_id=${encodeURIComponent(id)}&limit=50${after}`);
    entries.push(...json.data);
    if (!json.has_more) break;
    after = `&after=${json.next_cursor}`;
  }
  const sum = (value: (entry: Entry) => number | null) =>
    entries.reduce((total, entry) => total + (value(entry) ?? 0), 0);
  return {
    calls: entries.length,
    errors: sum(({ status }) => Number(status >= 400)),
    input_tokens: sum((entry) => entry.input_tokens),
    total_tokens: sum((entry) => entry.total_tokens),
    cost: sum(({ cost }) => Math.round((cost ?? 0) * 1e9)) / 1e9,
    first_call_at: Math.min(...entries.map((entry) => entry.created_at)),
    last_call_at: Math.max(...entries.map((entry) => entry.created_at)),
  };
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`sessions of the log on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const call = (session: string, body: object = {}, key = ADMIN_KEY, headers: Record<string, string> = {}) =>
      gateway.api.post(
        '/v1/chat/completions',
        { model: 'gpt-4o', messages: hello, ...body },
        { key, headers: { ...viaSim, 'x-gateway-session-id': session, ...headers } },
      );
    const pathOf = (id: string) => `/v1/log-sessions/${encodeURIComponent(id)}`;

    test('add up every call, whatever became of it, and not only those of a page', async () => {
      const replies = [
        await call('s/1?%'),
        await call('s/1?%', { model: 'gpt-4o-mini', stream: true }),
        await call('s/1?%', { model: 'without-a-price' }),
        await call('s/1?%', {}, ADMIN_KEY, { 'x-simulate': 'status=500' }),
      ];
      // In a millisecond of its own, so that it is the newest.
      await Bun.sleep(5);
      replies.push(await call('another'));
      for (const reply of replies) await gateway.logOf(reply);
      const { status, json } = await gateway.api.get(pathOf('s/1?%'));
      expect(status).toBe(200);
      expect(json).toMatchObject({
        object: 'log_session',
        id: 's/1?%',
        unpriced_calls: 1,
        model_count: 3,
        ...(await recount(gateway.api, 's/1?%')),
      });
      expect(json).toMatchObject({ calls: 4, errors: 1 });
      expect(json.models[0]).toMatchObject({ model: 'gpt-4o', calls: 2 });
      expect(json.cost).toBeGreaterThan(0);
      expect(json.duration_ms).toBe(json.ended_at - json.first_call_at);
      const listed = await gateway.api.get('/v1/log-sessions?limit=1');
      expect(listed.json).toMatchObject({ has_more: true, data: [{ id: 'another', calls: 1 }] });
      const next = await gateway.api.get(`/v1/log-sessions?limit=1&after=${listed.json.next_cursor}`);
      expect(next.json.data).toEqual([json]);
    });

    test('belong to a workspace: a foreign one looks missing, and of two the caller says which', async () => {
      const other = await gateway.given.workspace({ name: 'Other', slug: `other-${engine}` });
      const { key } = await gateway.given.apiKey({
        workspace_id: other.id,
        scopes: ['logs.list', 'logs.read', 'completions.write'],
      });
      await gateway.given.virtualKey({ slug: 'sim', workspace_id: other.id });
      await gateway.logOf(await call('mine'));
      expect((await gateway.api.get(pathOf('mine'), { key })).json.error.code).toBe('log_session_not_found');
      expect((await gateway.api.get('/v1/log-sessions', { key })).json.data).toEqual([]);

      await gateway.logOf(await call('mine', {}, key));
      expect((await gateway.api.get(pathOf('mine'), { key })).json).toMatchObject({ calls: 1, workspace_id: other.id });
      const twice = await gateway.api.get(pathOf('mine'));
      expect(twice.status).toBe(400);
      expect(twice.json.error).toMatchObject({ code: 'invalid_request', param: 'workspace_id' });
      expect((await gateway.api.get(`${pathOf('mine')}?workspace_id=${other.id}`)).json.workspace_id).toBe(other.id);

      const { key: blind } = await gateway.given.apiKey({ scopes: ['completions.write'] });
      expect((await gateway.api.get('/v1/log-sessions', { key: blind })).json.error.code).toBe('insufficient_scope');
      expect((await gateway.api.get(pathOf('mine'), { key: blind })).json.error.code).toBe('insufficient_scope');
    });

    test('of a run are its thread, unless the request that began it named another', async () => {
      const { openai } = await clientFor(gateway);
      const { thread_id, assistant_id } = await conversation(openai, {});
      const modelCalls = async (session: string) =>
        (await gateway.api.get(`/v1/logs?session_id=${session}&path=/v1/chat/completions`)).json.data.length;
      await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id });
      await eventually('the thread is a session', async () => (await modelCalls(thread_id)) === 1);
      expect((await gateway.api.get(pathOf(thread_id))).json).toMatchObject({ calls: 1, id: thread_id });
      const headers = { 'x-gateway-session-id': 'of-my-run' };
      await openai.beta.threads.runs.createAndPoll(thread_id, { assistant_id }, { headers });
      await eventually('the other is one', async () => (await modelCalls('of-my-run')) === 1);
      expect(await modelCalls(thread_id)).toBe(1);
    });

    test('of a batch are the one that the request which began it named', async () => {
      const { openai } = await clientFor(gateway);
      const file = await uploadLines(openai, [
        JSON.stringify({
          custom_id: 'one',
          method: 'POST',
          url: '/v1/chat/completions',
          body: { model: 'gpt-5', messages: hello },
        }),
      ]);
      const batch = await openai.batches.create(
        { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' },
        { headers: { 'x-gateway-session-id': 'of-my-batch' } },
      );
      await eventually('its line is in the session', async () => {
        const { json } = await gateway.api.get('/v1/logs?session_id=of-my-batch&path=/v1/chat/completions');
        return json.data.length === 1 && json.data[0].trace_id === batch.id;
      });
    });

    test('go with their workspace', async () => {
      const doomed = await gateway.given.workspace({ name: 'Doomed', slug: `doomed-${engine}` });
      const { key } = await gateway.given.apiKey({ workspace_id: doomed.id, scopes: ['completions.write'] });
      await gateway.given.virtualKey({ slug: 'sim', workspace_id: doomed.id });
      await gateway.logOf(await call('doomed', {}, key));
      expect((await gateway.api.get(pathOf('doomed'))).status).toBe(200);
      await gateway.api.delete(`/v1/admin/workspaces/${doomed.id}`);
      await eventually('the session is gone', async () => (await gateway.api.get(pathOf('doomed'))).status === 404);
    });

    test('are asked for in the right form', async () => {
      for (const [query, param] of [
        ['after=nonsense', 'after'],
        ['limit=0', 'limit'],
        ['start_time=yesterday', 'start_time'],
        ['session=x', 'session'],
      ]) {
        const { status, json } = await gateway.api.get(`/v1/log-sessions?${query}`);
        expect([status, json.error.param]).toEqual([400, param]);
      }
      const { json } = await gateway.api.get('/v1/log-sessions?end_time=2001-01-01T00:00:00Z');
      expect(json).toEqual({ object: 'list', data: [], has_more: false });
    });
  });
}

describe('sums of sessions', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  for (const engine of ['sqlite', 'postgres'] as const) {
    test(`are those of the entries after the process was killed in between (${engine})`, async () => {
      const provider = startProvider();
      cleanups.push(() => provider.stop());
      const dataDir = newDataDir();
      cleanups.push(() => removeDataDir(dataDir));
      const options = {
        dataDir,
        environment: {
          ...forTests,
          GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
          ...(engine === 'postgres' && { DATABASE_URL: await createDatabase() }),
        },
      };
      const sessions = ['one', 'two', 'three'];
      for (let round = 0; round < 2; round++) {
        const gateway = await startProcess(options);
        if (round === 0) await gateway.given.virtualKey(provider.url);
        let isOver = false;
        let answered = 0;
        const workers = sessions.map(async (session) => {
          const headers = { ...viaSim, 'x-gateway-session-id': session };
          while (!isOver) {
            const body = { model: 'gpt-4o', messages: hello };
            const reply = await gateway.api.post('/v1/chat/completions', body, { headers }).catch(() => Bun.sleep(5));
            if (reply) answered++;
          }
        });
        // Some of them are in the store, and others on the way there.
        const logged = async () => (await gateway.api.get('/v1/log-sessions')).json.data as { calls: number }[];
        await eventually('calls are being logged', async () => {
          if (answered <= 150) return false;
          const known = await logged();
          return known.length === sessions.length && known.every(({ calls }) => calls > 20);
        });
        await gateway.kill();
        isOver = true;
        await Promise.all(workers);
      }
      const last = await startProcess(options);
      cleanups.push(() => last.stop());
      // What was spooled is replayed first.
      await eventually('the log answers', async () => (await last.api.get('/v1/log-sessions')).json.data?.length === 3);
      for (const session of sessions) {
        const { json } = await last.api.get(`/v1/log-sessions/${session}`);
        expect(json).toMatchObject(await recount(last.api, session));
        expect(json.calls).toBeGreaterThan(20);
      }
    });
  }
});
