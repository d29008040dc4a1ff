import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { beginBatch, chatLine, ended } from '../batch-lines.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually, forTests, newDataDir, removeDataDir, startProcess, startSimulator } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

interface Message {
  readonly headers: Headers;
  readonly body: string;
}

/** A receiver of messages that answers with the next of these statuses, 200 after the last. */
function startReceiver(...statuses: number[]) {
  const messages: Message[] = [];
  const { origin, stop } = serve(async (request) => {
    messages.push({ headers: request.headers, body: await request.text() });
    return new Response('noted', { status: statuses.shift() ?? 200 });
  });
  return { url: `${origin}/told`, messages, stop };
}

const idOf = ({ headers }: Message) => headers.get('webhook-id');

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`webhooks on ${engine}`, () => {
    let gateway: TestGateway;
    let openai: OpenAI;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
      openai = openaiClient(gateway.url, key);
    });
    afterAll(() => gateway.stop());

    const made = async (body: Record<string, unknown>) => {
      const reply = await gateway.api.post('/v1/webhooks', { name: 'told', ...body });
      expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
      return reply.json;
    };
    const read = async (id: string) => (await gateway.api.get(`/v1/webhooks/${id}`)).json;

    test('the end of a batch is told once, in a message that the official client takes for real', async () => {
      const receiver = startReceiver();
      const webhook = await made({ url: receiver.url });
      expect(webhook.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const { id } = await beginBatch(openai, [chatLine('a')]);
      const failing = await beginBatch(openai, ['no request']);
      await eventually('both are told', () => receiver.messages.length === 2);
      const events = await Promise.all(
        receiver.messages.map(({ body, headers }) => openai.webhooks.unwrap(body, headers, webhook.secret)),
      );
      expect(events.map(({ type, data }) => [type, (data as { id: string }).id]).sort()).toEqual(
        [
          ['batch.completed', id],
          ['batch.failed', failing.id],
        ].sort(),
      );
      for (const event of events) {
        expect([event.object, event.id.slice(0, 4)]).toEqual(['event', 'evt_']);
        expect(receiver.messages.map(idOf)).toContain(event.id);
      }
      const [{ body, headers }] = receiver.messages as [Message];
      const forged = openai.webhooks.unwrap(body.replace('batch_', 'batch-'), headers, webhook.secret);
      expect(await forged.catch((error: Error) => error.message)).toContain('signature');
      await eventually('it is noted', async () => (await read(webhook.id)).last_delivery?.status === 'delivered');
      expect(await read(webhook.id)).toMatchObject({
        last_delivery: { attempts: 1, response_status: 200, error: null },
      });
      expect(await read(webhook.id)).not.toHaveProperty('secret');
      await gateway.api.delete(`/v1/webhooks/${webhook.id}`);
      receiver.stop();
    });

    test('a receiver that is away is told again, under the same id, and both states show', async () => {
      const receiver = startReceiver(503);
      const webhook = await made({ url: receiver.url, events: ['batch.completed'] });
      await beginBatch(openai, [chatLine('a')]);
      await eventually('it is tried', async () => (await read(webhook.id)).last_delivery?.status === 'retrying');
      expect((await read(webhook.id)).last_delivery).toMatchObject({ attempts: 1, response_status: 503 });
      await eventually('it is told', async () => (await read(webhook.id)).last_delivery.status === 'delivered');
      expect(receiver.messages).toHaveLength(2);
      const [first, second] = receiver.messages as [Message, Message];
      expect(idOf(second)).toBe(idOf(first));
      expect(second.body).toBe(first.body);
      await gateway.api.delete(`/v1/webhooks/${webhook.id}`);
      receiver.stop();
    });

    test('fine-tuning jobs are told of, too, and only what was asked for is', async () => {
      const receiver = startReceiver();
      const webhook = await made({
        url: receiver.url,
        events: ['fine_tuning.job.succeeded', 'fine_tuning.job.cancelled', 'batch.cancelled'],
      });
      const form = new FormData();
      form.set('purpose', 'fine-tune');
      const example = '{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}\n';
      form.set('file', new File([example.repeat(10)], 'a.jsonl'));
      const { id: training_file } = (await gateway.api.post('/v1/files', form)).json;
      const job = await openai.fineTuning.jobs.create({ model: 'gpt-4o-mini', training_file });
      const endless = await openai.fineTuning.jobs.create({ model: 'never-done', training_file });
      await openai.fineTuning.jobs.cancel(endless.id);
      await ended(openai, (await beginBatch(openai, [chatLine('a')])).id);
      await eventually('both are told', () => receiver.messages.length === 2);
      const told = receiver.messages.map(({ body }) => JSON.parse(body));
      expect(told.map(({ type, data }) => [type, data.id]).sort()).toEqual([
        ['fine_tuning.job.cancelled', endless.id],
        ['fine_tuning.job.succeeded', job.id],
      ]);
      await gateway.api.delete(`/v1/webhooks/${webhook.id}`);
      receiver.stop();
    });
  });

describe('the resource', () => {
  let gateway: TestGateway;
  let openai: OpenAI;
  beforeAll(async () => {
    gateway = await startGateway();
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
    openai = openaiClient(gateway.url, key);
  });
  afterAll(() => gateway.stop());

  test('faults are named, and addresses that nothing may be sent to are refused', async () => {
    const good = { name: 'told', url: 'https://example.com/told' };
    for (const [change, param] of [
      [{ name: '' }, 'name'],
      [{ url: undefined }, 'url'],
      [{ url: 'ftp://example.com' }, 'url'],
      [{ events: [] }, 'events'],
      [{ events: ['batch.born'] }, 'events[0]'],
      [{ events: ['batch.failed', 'batch.failed'] }, 'events'],
      [{ secret: 'mine' }, 'secret'],
    ] as const) {
      const reply = await gateway.api.post('/v1/webhooks', { ...good, ...change });
      expect([JSON.stringify(change), reply.status, reply.json.error.param]).toEqual([
        JSON.stringify(change),
        400,
        param,
      ]);
    }
    for (const url of ['http://10.0.0.1/x', 'http://169.254.169.254/latest', 'https://user:pass@example.com/']) {
      const reply = await gateway.api.post('/v1/webhooks', { ...good, url });
      expect([url, reply.status, reply.json.error.param]).toEqual([url, 400, 'url']);
    }
    const unknown = await gateway.api.get('/v1/webhooks/none');
    expect([unknown.status, unknown.json.error.code]).toEqual([404, 'webhook_not_found']);
  });

  test('a new secret signs beside the old one, and no secret is shown twice or recorded', async () => {
    const receiver = startReceiver();
    const { id, secret } = (await gateway.api.post('/v1/webhooks', { name: 'told', url: receiver.url })).json;
    const rotated = (await gateway.api.post(`/v1/webhooks/${id}/rotate`)).json;
    expect(rotated.secret).not.toBe(secret);
    await beginBatch(openai, [chatLine('a')]);
    await eventually('it is told', () => receiver.messages.length === 1);
    const [{ body, headers }] = receiver.messages as [Message];
    for (const each of [secret, rotated.secret])
      expect(await openai.webhooks.unwrap(body, headers, each)).toMatchObject({ type: 'batch.completed' });
    const list = await gateway.api.get('/v1/webhooks');
    expect(list.json).toMatchObject({ object: 'list', total: 1, data: [{ id, name: 'told' }] });
    const { id: organisation } = (await gateway.api.get('/v1/admin/organisation')).json;
    const window = 'start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z';
    const audit = await gateway.api.get(`/v1/audit-logs?organisation_id=${organisation}&${window}`);
    expect(audit.text).toContain(`/v1/webhooks/${id}/rotate`);
    for (const text of [list.text, audit.text, JSON.stringify(body)])
      for (const each of [secret, rotated.secret]) expect(text).not.toContain(each);
    await gateway.api.delete(`/v1/webhooks/${id}`);
    receiver.stop();
  });

  test('who is switched off is told nothing, and another workspace neither sees nor hears', async () => {
    const receiver = startReceiver();
    const { id } = (await gateway.api.post('/v1/webhooks', { name: 'off', url: receiver.url })).json;
    const changed = await gateway.api.put(`/v1/webhooks/${id}`, { is_enabled: false, name: 'still off' });
    expect(changed.json).toMatchObject({ is_enabled: false, name: 'still off' });
    const workspace = await gateway.given.workspace();
    const theirs = { name: 'theirs', url: receiver.url, workspace_id: workspace.id };
    expect((await gateway.api.post('/v1/webhooks', theirs)).status).toBe(200);
    const { key } = await gateway.given.apiKey({
      workspace_id: workspace.id,
      scopes: ['webhooks.read', 'webhooks.list', 'webhooks.delete'],
    });
    for (const verb of ['GET', 'DELETE'])
      expect((await gateway.api.call(verb, `/v1/webhooks/${id}`, { key })).status).toBe(404);
    expect((await gateway.api.get('/v1/webhooks', { key })).json.data).toMatchObject([{ name: 'theirs' }]);
    await ended(openai, (await beginBatch(openai, [chatLine('a')])).id);
    const { data } = (await gateway.api.get('/v1/webhooks')).json;
    expect(data.map(({ last_delivery }: { last_delivery: unknown }) => last_delivery)).toEqual([null, null]);
    expect(receiver.messages).toEqual([]);
    receiver.stop();
  });
});

test('what ended before a process was killed is told by the next one', async () => {
  const simulator = await startSimulator();
  const receiver = startReceiver();
  const dataDir = newDataDir();
  const options = { dataDir, environment: forTests };
  const first = await startProcess(options);
  await first.given.virtualKey(simulator.url);
  const client = (url: string) =>
    openaiClient(url, forTests.GATEWAY_ADMIN_KEY).withOptions({ defaultHeaders: { 'x-gateway-virtual-key': 'sim' } });
  // No receiver listens there yet.
  const nowhere = startReceiver();
  nowhere.stop();
  const { id } = (await first.api.post('/v1/webhooks', { name: 'told', url: nowhere.url })).json;
  const batch = await ended(client(first.url), (await beginBatch(client(first.url), [chatLine('a')])).id);
  await first.kill();

  const second = await startProcess(options);
  try {
    expect((await second.api.put(`/v1/webhooks/${id}`, { url: receiver.url })).status).toBe(200);
    await eventually('it is told', () => receiver.messages.length > 0);
    expect(JSON.parse(receiver.messages[0]!.body)).toMatchObject({ type: 'batch.completed', data: { id: batch.id } });
  } finally {
    await second.kill();
    await simulator.stop();
    receiver.stop();
    removeDataDir(dataDir);
  }
});
