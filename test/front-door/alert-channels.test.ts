import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { startMailServer } from '../mail-server.ts';
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
  return { url: `${origin}/services/T0AB/s3cr3t-Token`, messages, stop };
}

const PATH = '/v1/alert-channels';

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`alert channels on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const made = async (body: Record<string, unknown>) => {
      const reply = await gateway.api.post(PATH, { name: 'Ops', ...body });
      expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
      return reply.json;
    };
    const tested = async (id: string) => {
      const reply = await gateway.api.post(`${PATH}/${id}/test`);
      expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
      return reply.json;
    };

    test('a test reaches a webhook, signed so that the official client takes it for real, by both secrets after a rotation', async () => {
      const receiver = startReceiver();
      const channel = await made({ kind: 'webhook', settings: { url: receiver.url } });
      expect(channel.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const rotated = (await gateway.api.post(`${PATH}/${channel.id}/rotate`)).json;
      expect(await tested(channel.id)).toMatchObject({ delivered: true, response_status: 200, error: null });
      const [{ headers, body }] = receiver.messages as [Message];
      const openai = openaiClient(gateway.url, 'x');
      for (const secret of [channel.secret, rotated.secret]) {
        const event = (await openai.webhooks.unwrap(body, headers, secret)) as unknown as Record<string, unknown>;
        expect(event).toMatchObject({ object: 'event', type: 'alert.test', data: { alert: { name: 'Ops' } } });
        expect(event.id).toBe(headers.get('webhook-id')!);
      }
      receiver.stop();
    });

    test('Slack and Teams get messages in their own shapes', async () => {
      const receiver = startReceiver();
      const slack = await made({ kind: 'slack', name: 'a <b> & *c*', settings: { url: receiver.url } });
      const teams = await made({ kind: 'teams', settings: { url: receiver.url } });
      expect(slack).not.toHaveProperty('secret');
      for (const { id } of [slack, teams]) expect((await tested(id)).delivered).toBe(true);
      const [toSlack, toTeams] = receiver.messages.map(({ body }) => JSON.parse(body));
      expect(toSlack.text).toBe('Test: a &lt;b&gt; &amp; *c*: This is a test of an alert channel. Nothing is wrong.');
      expect(toSlack.blocks.map(({ type }: { type: string }) => type)).toEqual(['header', 'section', 'section']);
      expect(toTeams).toMatchObject({
        type: 'message',
        attachments: [
          {
            contentType: 'application/vnd.microsoft.card.adaptive',
            content: { type: 'AdaptiveCard', version: '1.4', body: [{ text: 'Test: Ops' }, {}, { type: 'FactSet' }] },
          },
        ],
      });
      receiver.stop();
    });

    test('a mail goes to a real server, and says so when that server refuses it', async () => {
      const server = await startMailServer({
        onRcptTo: ({ address }, _session, done) =>
          address === 'gone@example.com'
            ? done(Object.assign(new Error('no such mailbox'), { responseCode: 550 }))
            : done(),
      });
      const settings = {
        ...{ host: '127.0.0.1', port: server.port, security: 'none' },
        ...{ from: 'gateway@example.com', to: ['ops@example.com', 'on-call@example.com'] },
      };
      const channel = await made({ kind: 'email', name: 'Ünusual näme', settings });
      expect(channel.settings).toEqual({ ...settings, username: null, has_password: false });
      const result = await tested(channel.id);
      expect(result).toMatchObject({ delivered: true, response_status: 250, error: null });
      const [mail] = server.mails;
      expect(mail).toMatchObject({ from: settings.from, to: settings.to });
      expect(mail!.raw).toMatch(/^Subject: =\?UTF-8\?.*\?=\r$/m);
      expect(mail!.raw).toMatch(/^Message-ID: <evt_\w+@example\.com>\r$/m);
      expect(mail!.raw).toContain('This is a test of an alert channel. Nothing is wrong.');

      await gateway.api.put(`${PATH}/${channel.id}`, { settings: { to: ['gone@example.com'] } });
      expect(await tested(channel.id)).toMatchObject({ delivered: false, response_status: 550 });
      await server.stop();
      expect(await tested(channel.id)).toMatchObject({ delivered: false, response_status: null });
    });
  });
