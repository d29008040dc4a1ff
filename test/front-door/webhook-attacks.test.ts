import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { type Db, openPostgres } from '../../src/storage/store.ts';
import { chatLine, ended, uploadLines } from '../batch-lines.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

const running: { stop(): unknown }[] = [];
afterAll(() => Promise.all(running.map((each) => each.stop())));

/** A receiver that answers each message as told, and remembers what came. */
function startReceiver(answer: (request: Request) => Response = () => new Response('noted')) {
  const messages: { headers: Headers; body: string }[] = [];
  const { origin, stop } = serve(async (request) => {
    messages.push({ headers: request.headers, body: await request.text() });
    return answer(request);
  });
  running.push({ stop });
  return { origin, url: `${origin}/told`, messages };
}

/** A batch that has ended, which is news for everybody. */
async function endBatch(gateway: TestGateway) {
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
  const openai = openaiClient(gateway.url, key);
  const file = await uploadLines(openai, [chatLine('a')]);
  const batch = await openai.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  await ended(openai, batch.id);
  return openai;
}

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`webhooks under attack on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const made = async (body: Record<string, unknown>, key?: string) => {
      const reply = await gateway.api.post('/v1/webhooks', { name: 'told', ...body }, { key });
      expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
      return reply.json;
    };
    const read = async (id: string) => (await gateway.api.get(`/v1/webhooks/${id}`)).json;
    const deleted = async (id: string) => {
      const reply = await gateway.api.delete(`/v1/webhooks/${id}`);
      expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
    };
    const begin = () => endBatch(gateway);

    test('a redirect is not followed, and what it says stays unread', async () => {
      const inside = startReceiver();
      const receiver = startReceiver(
        () => new Response('x'.repeat(100), { status: 307, headers: { location: inside.url } }),
      );
      const webhook = await made({ url: receiver.url });
      await begin();
      await eventually('it is noted', async () => (await read(webhook.id)).last_delivery !== null);
      expect((await read(webhook.id)).last_delivery).toMatchObject({
        status: 'retrying',
        response_status: 307,
        error: null,
      });
      expect(inside.messages).toEqual([]);
      await deleted(webhook.id);
    });

    test('a message carries neither a key of ours nor anything secret of the batch', async () => {
      const receiver = startReceiver();
      const webhook = await made({ url: receiver.url });
      await begin();
      await eventually('it is told', () => receiver.messages.length === 1);
      const [{ headers, body }] = receiver.messages as [{ headers: Headers; body: string }];
      const names = [...headers.keys()].filter((name) => /auth|cookie|key|gateway/.test(name));
      expect(names).toEqual([]);
      expect(Object.keys(JSON.parse(body)).sort()).toEqual(['created_at', 'data', 'id', 'object', 'type']);
      expect(JSON.parse(body).data).toEqual({ id: expect.stringMatching(/^batch_/) });
      expect(body + JSON.stringify([...headers])).not.toContain(webhook.secret);
      await deleted(webhook.id);
    });

    test('an old message is worth nothing: its signature holds for its time and its bytes', async () => {
      const receiver = startReceiver();
      const webhook = await made({ url: receiver.url });
      const openai = await begin();
      await eventually('it is told', () => receiver.messages.length === 1);
      const [{ headers, body }] = receiver.messages as [{ headers: Headers; body: string }];
      const late = new Headers(headers);
      late.set('webhook-timestamp', String(Number(headers.get('webhook-timestamp')) + 1));
      const outcome = openai.webhooks.unwrap(body, late, webhook.secret).catch((error: Error) => error.message);
      expect(await outcome).toContain('signature');
      await deleted(webhook.id);
    });

    test('a change beside a rotation does not bring the old secret back', async () => {
      const receiver = startReceiver();
      const { id } = await made({ url: receiver.url });
      let secret = '';
      for (let round = 0; round < 15; round++) {
        const [rotated, ...changed] = await Promise.all([
          gateway.api.post(`/v1/webhooks/${id}/rotate`),
          ...[1, 2, 3].map((number) => gateway.api.put(`/v1/webhooks/${id}`, { name: `round ${round} ${number}` })),
        ]);
        expect([rotated.status, ...changed.map(({ status }) => status)]).toEqual([200, 200, 200, 200]);
        secret = rotated.json.secret;
      }
      const openai = await begin();
      await eventually('it is told', () => receiver.messages.length === 1);
      const [{ headers, body }] = receiver.messages as [{ headers: Headers; body: string }];
      // The newest signs first, so this one signs in the last place only when it has been replaced since.
      const [first] = headers.get('webhook-signature')!.split(' ');
      const only = new Headers(headers);
      only.set('webhook-signature', first!);
      expect(await openai.webhooks.unwrap(body, only, secret)).toMatchObject({ type: 'batch.completed' });
      await deleted(id);
    });

    test('of many that are made at once, twenty are', async () => {
      const workspace = await gateway.given.workspace();
      const body = { name: 'many', url: 'https://example.com/told', workspace_id: workspace.id };
      const replies = await Promise.all(Array.from({ length: 30 }, () => gateway.api.post('/v1/webhooks', body)));
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(20);
      const refused = replies.filter(({ status }) => status !== 200);
      expect(new Set(refused.map(({ json }) => json.error.code))).toEqual(new Set(['too_many_webhooks']));
      const list = () => gateway.api.get('/v1/webhooks?page_size=100');
      expect((await list()).json.total).toBe(20);
      expect((await gateway.api.delete(`/v1/admin/workspaces/${workspace.id}`)).status).toBe(200);
      expect((await list()).json.total).toBe(0);
    });

    test('another workspace reaches a webhook with no verb', async () => {
      const { id } = await made({ url: 'https://example.com/told' });
      const workspace = await gateway.given.workspace();
      const scopes = ['create', 'read', 'list', 'update', 'delete'].map((verb) => `webhooks.${verb}`);
      const { key } = await gateway.given.apiKey({ workspace_id: workspace.id, scopes });
      const path = `/v1/webhooks/${id}`;
      for (const [verb, where, body] of [
        ['GET', path, undefined],
        ['PUT', path, { url: 'https://example.org/mine' }],
        ['POST', `${path}/rotate`, undefined],
        ['DELETE', path, undefined],
      ] as const) {
        const reply = await gateway.api.call(verb, where, { key, body });
        expect([verb, reply.status, reply.json.error.code]).toEqual([verb, 404, 'webhook_not_found']);
      }
      expect(await read(id)).toMatchObject({ url: 'https://example.com/told' });
      const foreign = { name: 'x', url: 'https://example.com', workspace_id: 'default' };
      expect((await gateway.api.post('/v1/webhooks', foreign, { key })).status).toBe(404);
      await gateway.api.delete(path);
    });
  });

test('no spelling of an address inside gets past the rule', async () => {
  const gateway = await startGateway();
  for (const url of [
    'http://10.0.0.1/x',
    'https://localhost/x',
    'https://[::1]/x',
    'https://[::ffff:10.0.0.1]/x',
    'https://0xa.1/x',
    'https://167772161/x',
    'https://metadata.google.internal/x',
    'https://100.64.0.1/x',
    'https://example.com@10.0.0.1/x',
    'https://example.com\\@10.0.0.1/x',
    'https:10.0.0.1/x',
    'http://example.com/x',
  ]) {
    const reply = await gateway.api.post('/v1/webhooks', { name: 'x', url });
    expect([url, reply.status]).toEqual([url, 400]);
  }
  await gateway.stop();
});

test('who deletes a webhook does not hold what its delivery waits for', async () => {
  const gateway = await startGateway({ engine: 'postgres' });
  const store = await openPostgres(gateway.databaseUrl!);
  running.push({ stop: () => Promise.all([gateway.stop(), store.close()]) });
  const receiver = startReceiver(() => new Response('not now', { status: 503 }));
  const { id } = (await gateway.api.post('/v1/webhooks', { name: 'told', url: receiver.url })).json;
  const ofIt = (db: Db) => db.selectFrom('work').select(['id', 'owner']).where('ref', '=', id);
  await endBatch(gateway);
  await eventually('it is to be tried again', async () => {
    const [work] = await ofIt(store.db).execute();
    return receiver.messages.length === 1 && work?.owner === null;
  });

  const waiting = () =>
    sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      .execute(store.db)
      .then(({ rows }) => rows.length);
  const { deletion } = await store.transaction(async (db) => {
    // As its delivery does: the work first, then what is noted of it.
    await ofIt(db).forUpdate().execute();
    const reply = gateway.api.delete(`/v1/webhooks/${id}`);
    await eventually('the deletion waits', async () => (await waiting()) === 1);
    await sql`set local lock_timeout = '500ms'`.execute(db);
    await db.updateTable('webhooks').set({ last_delivery: null }).where('id', '=', id).execute();
    // In an object, since a promise would be waited for before the transaction ends.
    return { deletion: reply };
  });
  expect((await deletion).status).toBe(200);
  expect(await ofIt(store.db).execute()).toEqual([]);
});
