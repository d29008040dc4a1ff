import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { startSmallServer } from '../mcp/small-server.ts';
import { eventually } from '../process.ts';

interface Resource {
  readonly name: string;
  readonly at: string;
  readonly make: Record<string, unknown>;
  /** Two changes that have nothing to do with each other. An MCP server takes one and tells the other to look again. */
  readonly changes?: readonly [(round: number) => Record<string, unknown>, (round: number) => Record<string, unknown>];
  readonly method?: 'POST' | 'PUT';
}

const checks = (most: number) => [
  { id: 'default.wordCount', parameters: { maxWords: most }, name: 'words', is_enabled: true },
];
const limits = { conditions: [{ key: 'model', value: '*' }], group_by: [{ key: 'api_key' }], type: 'requests' };
const named = (round: number) => ({ name: `n${round}` });
const described = (round: number) => ({ description: `d${round}` });
const marked = (round: number) => ({ metadata: { round: String(round) } });

const resources: Resource[] = [
  { name: 'a workspace', at: '/v1/admin/workspaces', make: { name: 'x' }, changes: [named, described] },
  { name: 'an API key', at: '/v1/api-keys', make: { name: 'x' }, changes: [named, described] },
  {
    name: 'a virtual key',
    at: '/v1/virtual-keys',
    make: { name: 'x', provider: 'simulator' },
    changes: [named, (round) => ({ note: `d${round}` })],
  },
  {
    name: 'a config',
    at: '/v1/configs',
    make: { name: 'x', config: { virtual_key: 'sim' } },
    changes: [named, (round) => ({ config: { virtual_key: 'sim', retry: { attempts: 1 + (round % 5) } } })],
  },
  {
    name: 'a guardrail',
    at: '/v1/guardrails',
    make: { name: 'x', checks: checks(5), actions: { deny: true } },
    changes: [named, (round) => ({ checks: checks(round) })],
  },
  {
    name: 'a policy',
    at: '/v1/policies/rate-limits',
    make: { ...limits, unit: 'rpm', value: 9, name: 'x' },
    changes: [named, (round) => ({ value: 10 + round })],
  },
  { name: 'an MCP server', at: '/v1/mcp-servers', make: { name: 'x', url: 'http://127.0.0.1:9/mcp' } },
  {
    name: 'a webhook',
    at: '/v1/webhooks',
    make: { name: 'x', url: 'http://127.0.0.1:9/hook', events: ['batch.completed'] },
    changes: [named, (round) => ({ url: `http://127.0.0.1:9/${round}` })],
  },
  {
    name: 'an alert channel',
    at: '/v1/alert-channels',
    make: { name: 'x', kind: 'slack', settings: { url: 'http://127.0.0.1:9/hook' } },
    changes: [named, (round) => ({ settings: { url: `http://127.0.0.1:9/${round}` } })],
  },
  {
    name: 'an alert',
    at: '/v1/alerts',
    make: { name: 'x', condition: { type: 'key_expiring' } },
    changes: [named, (round) => ({ repeat_after: 100 + round })],
  },
  {
    name: 'a saved view',
    at: '/v1/views',
    make: { name: 'x', page: 'logs', query: {}, is_shared: true },
    changes: [named, (round) => ({ query: { filter: `status:${round}` } })],
  },
  {
    name: 'a user',
    at: '/v1/admin/users',
    make: { email: 'x@example.com', role: 'member' },
    changes: [(round) => ({ first_name: `f${round}` }), (round) => ({ last_name: `l${round}` })],
  },
  { name: 'a thread', at: '/v1/threads', make: {} },
  { name: 'an assistant', at: '/v1/assistants', make: { model: 'gpt' }, changes: [named, marked], method: 'POST' },
  {
    name: 'a vector store',
    at: '/v1/vector_stores',
    make: { name: 'x' },
    changes: [named, marked],
    method: 'POST',
  },
];

const HEADERS = { 'x-gateway-virtual-key': 'sim' };
const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status).toSorted();

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`at the same time on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const made = async ({ at, make }: Resource) => {
      const { status, json } = await gateway.api.post(at, make, { headers: HEADERS });
      expect(status).toBe(200);
      const isBySlug = ['/v1/virtual-keys', '/v1/configs', '/v1/mcp-servers'].includes(at);
      return `${at}/${isBySlug ? json.slug : json.id}`;
    };

    for (const resource of resources) {
      const { name, changes, method = 'PUT' } = resource;
      if (changes)
        test(`two changes of ${name} are both kept`, async () => {
          const path = await made(resource);
          for (let round = 1; round <= 4; round++) {
            const asked = changes.map((change) => change(round));
            const change = (body: unknown) => gateway.api.call(method, path, { body, headers: HEADERS });
            expect(statuses(await Promise.all(asked.map(change)))).toEqual([200, 200]);
            const kept = (await gateway.api.get(path, { headers: HEADERS })).json;
            expect(kept).toMatchObject({ ...asked[0], ...asked[1] });
          }
          expect((await gateway.api.delete(path, { headers: HEADERS })).status).toBe(200);
        });

      test(`of several deletions of ${name} one is it`, async () => {
        const path = await made(resource);
        const remove = () => gateway.api.delete(path, { headers: HEADERS });
        expect(statuses(await Promise.all([1, 2, 3, 4].map(remove)))).toEqual([200, 404, 404, 404]);
      });

      test(`${name} that is read while it is deleted is there or missing`, async () => {
        for (let round = 1; round <= 6; round++) {
          const path = await made(resource);
          const below = resource.at === '/v1/mcp-servers' ? '/user-access' : '';
          const reads = (count: number) =>
            Array.from({ length: count }, () => gateway.api.get(path + below, { headers: HEADERS }));
          const replies = await Promise.all([...reads(6), gateway.api.delete(path, { headers: HEADERS }), ...reads(6)]);
          for (const { status } of replies) expect([200, 404]).toContain(status);
        }
      });
    }

    test('a server that is deleted while it is asked for its tools is missing', async () => {
      const slow = startSmallServer({ era: 'older', tools: ['x'] });
      slow.slowness = 100;
      const { slug } = (await gateway.api.post('/v1/mcp-servers', { name: 'slow', url: slow.url })).json;
      const syncing = gateway.api.post(`/v1/mcp-servers/${slug}/sync`);
      await eventually('the server is asked', () => slow.heard.length > 0);
      expect((await gateway.api.delete(`/v1/mcp-servers/${slug}`)).status).toBe(200);
      const { status, json } = await syncing;
      slow.stop();
      expect([status, json.error.code]).toEqual([404, 'deleted_meanwhile']);
    });

    test('of several deletions of a message one is it', async () => {
      const thread = await made({ name: 'a thread', at: '/v1/threads', make: {} });
      const path = await made({ name: 'it', at: `${thread}/messages`, make: { role: 'user', content: 'hi' } });
      const remove = () => gateway.api.delete(path, { headers: HEADERS });
      expect(statuses(await Promise.all([1, 2, 3, 4].map(remove)))).toEqual([200, 404, 404, 404]);
    });

    test('an invite is accepted, cancelled or sent again by whoever is first', async () => {
      const invites = '/v1/admin/users/invites';
      const password = 'correct horse battery';
      for (let round = 1; round <= 4; round++) {
        const { json } = await gateway.api.post(invites, {
          email: `i${round}@example.com`,
          role: 'member',
          workspaces: [],
        });
        const token = json.invite_link.split('=').at(-1);
        const replies = await Promise.all([
          gateway.api.delete(`${invites}/${json.id}`),
          gateway.api.post('/v1/sessions/invites/accept', { token, password }, { key: null }),
          gateway.api.delete(`${invites}/${json.id}`),
          gateway.api.post(`${invites}/${json.id}/resend`),
        ]);
        const [cancelled, accepted, again, resent] = replies.map(({ status }) => status === 200);
        const left = (await gateway.api.get(`${invites}/${json.id}`)).json.status;
        const fate = (accepted && 'accepted') || ((cancelled || again) && 'cancelled') || (resent && 'pending');
        expect(left).toBe(fate as string);
        expect([accepted, cancelled, again].filter(Boolean).length).toBeLessThanOrEqual(1);
      }
    });

    test('of several rotations of a key one is it, and its secret works', async () => {
      const { id, key } = await gateway.given.apiKey();
      const rotate = () => gateway.api.post(`/v1/api-keys/${id}/rotate`);
      const replies = await Promise.all([1, 2, 3, 4].map(rotate));
      expect(statuses(replies)).toEqual([200, 400, 400, 400]);
      const rotated = replies.find(({ status }) => status === 200)!.json.key;
      for (const secret of [key, rotated])
        expect((await gateway.api.get('/v1/providers', { key: secret })).status).toBe(200);
    });
  });
}
