import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';

const ADMIN = [
  'virtual_keys.create',
  'virtual_keys.list',
  'virtual_keys.read',
  'virtual_keys.update',
  'virtual_keys.delete',
];

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`integrations on ${engine}`, () => {
    let gateway: TestGateway;
    let count = 0;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    /** An integration of the organisation, a workspace, and keys of the workspace that may call and administrate there. */
    const given = async () => {
      const slug = `shared-${++count}`;
      const workspace = await gateway.given.workspace({ name: `Guest ${count}` });
      const { json: integration } = await gateway.api.post('/v1/integrations', {
        name: slug,
        slug,
        ai_provider_id: 'openai',
        key: `sk-credential-of-${slug}`,
        configurations: { custom_host: gateway.provider.url },
      });
      const { key } = await gateway.given.apiKey({ workspace_id: workspace.id });
      const { key: local } = await gateway.given.apiKey({ workspace_id: workspace.id, scopes: ADMIN });
      const open = (change: Record<string, unknown> = {}) =>
        gateway.api.put(`/v1/integrations/${slug}/workspaces`, {
          workspaces: [{ id: workspace.id, enabled: true, ...change }],
        });
      const call = (name: string, extra: Record<string, unknown> = {}) =>
        gateway.api.post(
          '/v1/chat/completions',
          { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }], ...extra },
          { key, headers: { 'x-gateway-virtual-key': name } },
        );
      /** What the provider gets to see. */
      const paidWith = async (name: string) =>
        (await gateway.api.post('/v1/echo', {}, { key, headers: { 'x-gateway-virtual-key': name } })).json.headers
          ?.authorization;
      return { slug, workspace, integration, key, local, open, call, paidWith };
    };

    test('one that is opened to a workspace is called there by its name, with its credential', async () => {
      const { slug, open, call, paidWith } = await given();
      expect((await call(slug)).json.error.code).toBe('unknown_virtual_key');

      expect((await open()).status).toBe(200);
      expect((await call(slug)).status).toBe(200);
      expect(await paidWith(slug)).toBe(`Bearer sk-credential-of-${slug}`);

      // A new credential is used at once, under every name.
      await gateway.api.put(`/v1/integrations/${slug}`, { key: 'sk-rotated' });
      expect((await call(slug)).status).toBe(200);
      expect(await paidWith(slug)).toBe('Bearer sk-rotated');

      expect((await open({ enabled: false })).status).toBe(200);
      expect((await call(slug)).json.error.code).toBe('unknown_virtual_key');
    });

    test('an export says by name which keys it leaves out, because they use the credential of another', async () => {
      const { slug, workspace, open } = await given();
      await open();
      const { status, json } = await gateway.api.get('/v1/admin/export');
      expect(status).toBe(200);
      expect(json.left_out).toContainEqual(
        `virtual key ${workspace.slug}/${slug}, which uses the credential of default/${slug}; link it there again`,
      );
    });

    test('what the workspace may take of it holds for every provider made of it there', async () => {
      const { slug, workspace, local, open, call } = await given();
      await open({ rate_limits: [{ type: 'requests', unit: 'rpd', value: 2 }] });
      const made = await gateway.api.post('/v1/providers', { name: 'Second', integration_id: slug }, { key: local });
      expect(made.status).toBe(200);

      expect((await call(made.json.slug)).status).toBe(200);
      expect((await call(slug)).status).toBe(200);
      expect((await call(made.json.slug)).status).toBe(429);

      // The workspace's own administrators cannot lift it, by either name of the same thing.
      for (const path of [`/v1/virtual-keys/${slug}`, `/v1/providers/${slug}`]) {
        const lifted = await gateway.api.put(path, { rate_limits: null }, { key: local });
        expect(lifted.status).toBe(403);
        expect((await gateway.api.delete(path, { key: local })).status).toBe(403);
      }
      const opened = await gateway.api.put(
        `/v1/integrations/${slug}/workspaces`,
        { workspaces: [{ id: workspace.id, enabled: true, rate_limits: [] }] },
        { key: local },
      );
      expect(opened.status).toBe(403);
    });

    test('the limits of the integration itself hold for all workspaces together', async () => {
      const { slug, open, call } = await given();
      await gateway.api.put(`/v1/virtual-keys/${slug}`, { rate_limits: [{ type: 'requests', unit: 'rpd', value: 1 }] });
      await open();
      const own = await gateway.api.post(
        '/v1/chat/completions',
        { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] },
        { headers: { 'x-gateway-virtual-key': slug } },
      );
      expect(own.status).toBe(200);
      expect((await call(slug)).status).toBe(429);
    });

    test('closing it ends the providers of the workspace, and opening it brings them back', async () => {
      const { slug, open, call, workspace } = await given();
      await open();
      const body = { name: 'Mine', integration_id: slug, workspace_id: workspace.id };
      const { json: provider } = await gateway.api.post('/v1/providers', body);
      const status = async () =>
        (await gateway.api.get(`/v1/providers/${provider.id}?workspace_id=${workspace.id}`)).json.status;

      await open({ enabled: false });
      expect((await call(provider.slug)).json.error.code).toBe('expired_virtual_key');
      expect(await status()).toBe('expired');
      await open();
      expect((await call(provider.slug)).status).toBe(200);
      expect(await status()).toBe('active');
    });

    test('what the workspace may take of it is not deleted under the providers there, which would go on without limits', async () => {
      const { slug, workspace, local, open, call } = await given();
      await open({ rate_limits: [{ type: 'requests', unit: 'rpd', value: 1 }] });
      const { json } = await gateway.api.post('/v1/providers', { name: 'Mine', integration_id: slug }, { key: local });
      expect((await call(json.slug)).status).toBe(200);

      const access = `${slug}?workspace_id=${workspace.id}`;
      for (const path of [`/v1/virtual-keys/${access}`, `/v1/providers/${access}`])
        expect((await gateway.api.delete(path)).json.error.code).toBe('virtual_key_linked');
      expect((await call(json.slug)).status).toBe(429);
      expect((await gateway.api.delete(`/v1/providers/${json.slug}`, { key: local })).status).toBe(200);
      expect((await gateway.api.delete(`/v1/virtual-keys/${access}`)).status).toBe(200);
    });

    test('closed while the workspace makes providers of it, it stays closed', async () => {
      for (let round = 0; round < 8; round++) {
        const { slug, local, open, call } = await given();
        await open();
        const make = (name: string) =>
          gateway.api.post('/v1/providers', { name, slug: name, integration_id: slug }, { key: local });
        const [closed] = await Promise.all([open({ enabled: false }), make('one'), make('two'), make('three')]);
        // Refused where providers came first: then it is closed by asking again.
        if (closed.status !== 200) expect((await open({ enabled: false })).status).toBe(200);
        for (const name of ['one', 'two', 'three']) expect((await call(name)).status).not.toBe(200);
      }
    }, 60_000);

    test('a workspace sees nothing of an integration that is not opened to it', async () => {
      const { slug, integration, local } = await given();
      for (const name of [slug, integration.id]) {
        for (const path of ['', '/workspaces', '/models'])
          expect((await gateway.api.get(`/v1/integrations/${name}${path}`, { key: local })).status).toBe(404);
        expect((await gateway.api.delete(`/v1/integrations/${name}`, { key: local })).status).toBe(404);
        const taken = await gateway.api.post('/v1/providers', { name: 'x', integration_id: name }, { key: local });
        expect(taken.json.error.code).toBe('integration_not_found');
      }
      expect((await gateway.api.get('/v1/integrations', { key: local })).json.data).toEqual([]);
    });

    test('a linked key shows neither credential nor host, and takes none', async () => {
      const { slug, integration, workspace, local, open } = await given();
      await open();
      const shown = (await gateway.api.get(`/v1/virtual-keys/${slug}`, { key: local })).json;
      expect(shown).toMatchObject({
        source_id: integration.id,
        provider: 'openai',
        masked_key: '',
        custom_host: null,
        configurations: {},
      });
      for (const change of [{ key: 'sk-other' }, { custom_host: gateway.provider.url }, { provider: 'groq' }]) {
        const refused = await gateway.api.put(`/v1/virtual-keys/${slug}?workspace_id=${workspace.id}`, change);
        expect(refused.json.error).toMatchObject({ code: 'invalid_request', param: Object.keys(change)[0]! });
      }
    });

    test('links go with their workspace, and with the workspace of their source', async () => {
      const { slug, workspace, open } = await given();
      await open();
      expect((await gateway.api.delete(`/v1/virtual-keys/${slug}`)).json.error.code).toBe('virtual_key_linked');
      expect((await gateway.api.delete(`/v1/admin/workspaces/${workspace.id}`)).status).toBe(200);
      expect((await gateway.api.delete(`/v1/integrations/${slug}`)).status).toBe(200);

      const guest = await given();
      const home = await gateway.given.workspace({ name: `Home ${count}` });
      const { json: source } = await gateway.api.post('/v1/integrations', {
        name: `source ${count}`,
        ai_provider_id: 'openai',
        key: 'sk-of-home',
        workspace_id: home.id,
        configurations: { custom_host: gateway.provider.url },
      });
      await gateway.api.put(`/v1/integrations/${source.slug}/workspaces`, {
        workspaces: [{ id: guest.workspace.id, enabled: true }],
      });
      expect((await guest.call(source.slug)).status).toBe(200);
      expect((await gateway.api.delete(`/v1/admin/workspaces/${home.id}`)).status).toBe(200);
      expect((await guest.call(source.slug)).json.error.code).toBe('unknown_virtual_key');
      const left = await gateway.api.get(`/v1/virtual-keys?workspace_id=${guest.workspace.id}`);
      expect(left.json.data).toEqual([]);
    });

    test('of several virtual keys with one slug the one of the organisation is meant, else the workspace has to be said', async () => {
      const { slug, integration, workspace } = await given();
      await gateway.given.virtualKey({ slug, name: 'same', workspace_id: workspace.id });
      expect((await gateway.api.get(`/v1/integrations/${slug}`)).json.id).toBe(integration.id);

      const other = await gateway.given.workspace({ name: `Other ${count}` });
      for (const { id } of [workspace, other])
        await gateway.given.virtualKey({ slug: `twice-${count}`, name: 'twice', workspace_id: id });
      expect((await gateway.api.get(`/v1/integrations/twice-${count}`)).json.error.code).toBe('ambiguous_slug');
    });
  });
}
