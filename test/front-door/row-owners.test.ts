import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { blobsOf, rowsIn, tablesOf, totalsOf, useEverything } from '../belongings.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { givenUser } from '../people.ts';
import { eventually } from '../process.ts';
import { query } from '../state-tables.ts';

const PATH = '/v1/admin/workspaces';
interface Counted {
  readonly area: string;
  readonly rows: number;
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`rows have owners, on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine, environment: { GATEWAY_LOG_SEARCH: 'true' } });
    });
    afterAll(() => gateway.stop());

    const tablesWith = async (column: string): Promise<string[]> =>
      [...(await tablesOf(gateway))].flatMap(([name, columns]) => (columns.has(column) ? name : [])).toSorted();
    const owned = () => gateway.owners.withWorkspace.flatMap(({ tables }) => tables);
    const removed = () => gateway.owners.withWorkspace.flatMap(({ tables, kept }) => (kept ? [] : tables));

    test('every table that has a workspace_id or a user_id is answered for by one area', async () => {
      const log = await gateway.api.get('/v1/echo');
      await gateway.logOf(log);
      const ofWorkspaces = await tablesWith('workspace_id');
      expect(ofWorkspaces).toEqual(
        expect.arrayContaining(['threads', 'request_logs', 'request_log_labels', 'batches']),
      );
      expect(ofWorkspaces.filter((name) => !owned().includes(name))).toEqual([]);
      const ofUsers = gateway.owners.withUser.flatMap(({ tables }) => tables);
      expect((await tablesWith('user_id')).filter((name) => !ofUsers.includes(name))).toEqual([]);
      expect(owned().length).toBe(new Set(owned()).size);
      expect(ofUsers.length).toBe(new Set(ofUsers).size);
    });

    test('every other table is named as one that belongs to the installation or to users', async () => {
      const named = new Set([
        ...owned(),
        ...gateway.owners.withUser.flatMap(({ tables }) => tables),
        ...gateway.owners.ofInstallation,
      ]);
      expect([...(await tablesOf(gateway)).keys()].filter((name) => !named.has(name))).toEqual([]);
    });

    test('an ending says exactly one thing about its tables', () => {
      for (const { area, atOnce, remove, kept } of [...gateway.owners.withWorkspace, ...gateway.owners.withUser])
        expect([area, [atOnce, remove, kept].filter((each) => each !== undefined).length]).toEqual([area, 1]);
    });

    const giveEverything = async (workspace: { id: string }) => {
      const { given, api } = gateway;
      const within = { workspace_id: workspace.id };
      const { key } = await given.apiKey({ ...within, defaults: { virtual_key: 'sim' } });
      await given.virtualKey({ ...within, slug: 'sim' });
      await given.virtualKey({ ...within, slug: 'claude', provider: 'anthropic' });
      const checks = [{ id: 'default.wordCount', parameters: { maxWords: 500 } }];
      const limits = { conditions: [{ key: 'model', value: '*' }], group_by: [{ key: 'api_key' }], type: 'requests' };
      const made: [string, Record<string, unknown>][] = [
        ['/v1/configs', { name: 'x', config: { virtual_key: 'sim' } }],
        ['/v1/mcp-servers', { name: 'x', slug: `x-${workspace.id}`, url: 'http://127.0.0.1:9/mcp' }],
        ['/v1/mcp-tool-sets', { name: 'x', tools: [{ server: `x-${workspace.id}`, tool: 'x' }] }],
        ['/v1/webhooks', { name: 'x', url: 'http://127.0.0.1:9/hook', events: ['batch.completed'] }],
        ['/v1/alert-channels', { name: 'x', kind: 'slack', settings: { url: 'http://127.0.0.1:9/hook' } }],
        ['/v1/alerts', { name: 'x', condition: { type: 'key_expiring' } }],
        ['/v1/views', { name: 'x', page: 'explore', query: {}, is_shared: true }],
        ['/v1/policies/rate-limits', { ...limits, unit: 'rpm', value: 900 }],
        ['/v1/policies/usage-limits', { ...limits, credit_limit: 900 }],
      ];
      const guard = { name: 'x', checks, actions: { deny: true }, ...within };
      const { slug: guardrail } = (await api.post('/v1/guardrails', guard)).json;
      for (const [where, body] of made)
        expect((await api.post(where, { ...body, ...within })).json).toHaveProperty('id');
      const user = await givenUser(gateway, { workspaces: [] });
      await api.post(`${PATH}/${workspace.id}/users`, { user_id: user.id, role: 'member' });
      // What only comes about through a browser, a machine or a model that thinks.
      const { id } = workspace;
      for (const statement of [
        `insert into machine_callers values ('m-${id}', '${id}', 'm', '[]', 0)`,
        `insert into kept_thoughts values ('t-${id}', '${id}', '', 0, 99999999999999)`,
        `insert into alert_events values ('e-${id}', 'r', 'o', '${id}', '{}', '[]', 99999999999999)`,
        `insert into alert_sightings values ('n-${id}', 'breaker', '${id}', 's', 0, 0, 0, null, 0, 99999999999999)`,
        `insert into managed_settings values ('${id}', '${id}', '{}', null, 0)`,
        `insert into scim_mappings select 'm-${id}', organisation_id, 'x', 'x', id, 'member', 0 from workspaces where id = '${id}'`,
        `insert into login_grants select 'l-${id}', id, '', 0, 0, 0, 99999999999999 from api_keys where workspace_id = '${id}' limit 1`,
        `insert into mcp_consents values ('${user.id}', 'c', 'r-${id}', '${id}', null, 'u', '', 0)`,
        `insert into mcp_grants values ('g-${id}', '${user.id}', '${id}', null, 'c', 'c', 'r', '', '', 1, 0, 0, 0, 99999999999999)`,
      ])
        await query(gateway, statement);
      const config = JSON.stringify({ virtual_key: 'sim', input_guardrails: [guardrail] });
      const guarded = await api.post(
        '/v1/chat/completions',
        { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'a' }] },
        { key, headers: { 'x-gateway-config': config } },
      );
      expect((await gateway.logOf(guarded)).hook_results.before_request_hooks).toHaveLength(1);
      return { key, ...(await useEverything(gateway, key, `said in ${id}`)) };
    };

    const deletionOf = async (id: string) => {
      // biome-ignore lint/suspicious/noExplicitAny: the test looks into what was answered
      let deletion: Record<string, any> = {};
      await eventually('the deletion is completed', async () => {
        deletion = (await gateway.api.get(`${PATH}/${id}/deletion`)).json;
        return deletion.status === 'completed';
      });
      return deletion;
    };

    test('a deleted workspace leaves no row and no byte behind, and takes nothing of another with it', async () => {
      const other = await gateway.given.workspace({ name: 'Other' });
      const kept = await giveEverything(other);
      await gateway.logOf({ headers: new Headers({ 'x-gateway-request-id': kept.logId }) });
      const before = await totalsOf(gateway, removed().filter(isHere(await tablesOf(gateway))));
      const blobsBefore = await blobsOf(gateway);

      const doomed = await gateway.given.workspace({ name: 'Doomed' });
      const gone = await giveEverything(doomed);
      await gateway.logOf({ headers: new Headers({ 'x-gateway-request-id': gone.logId }) });
      const inDoomed = `workspace_id = '${doomed.id}'`;
      for (const table of await tablesWith('workspace_id'))
        if (!NOT_FILLED.includes(table))
          expect([table, await rowsIn(gateway, table, inDoomed)]).not.toEqual([table, 0]);

      const reply = await gateway.api.delete(`${PATH}/${doomed.slug}`);
      expect(reply.json).toEqual({ id: doomed.id, object: 'workspace', deleted: true });
      expect((await gateway.api.get('/v1/files', { key: gone.key })).status).toBe(401);
      const deletion = await deletionOf(doomed.id);

      const keptTables = gateway.owners.withWorkspace.flatMap(({ tables, kept: why }) => (why ? tables : []));
      for (const table of await tablesWith('workspace_id'))
        if (!keptTables.includes(table)) expect([table, await rowsIn(gateway, table, inDoomed)]).toEqual([table, 0]);
      const after = await totalsOf(gateway, Object.keys(before));
      // The admin's own calls are logged as well.
      for (const table of Object.keys(before).filter((name) => /^(request_log|analytics_)/.test(name))) {
        delete before[table];
        delete after[table];
      }
      expect(after).toEqual(before);
      expect(await blobsOf(gateway)).toEqual(blobsBefore);
      expect((await gateway.api.get(`/v1/logs/${gone.logId}`)).status).toBe(404);
      expect((await gateway.api.get(`/v1/logs/${kept.logId}`)).json.request.body).toContain(`said in ${other.id}`);
      const read = await gateway.api.get(`/v1/threads/${kept.thread.id}/messages`, { key: kept.key });
      expect(read.json.data).toHaveLength(2);

      expect(deletion).toMatchObject({ object: 'workspace.deletion', workspace_id: doomed.id, slug: doomed.slug });
      const counted = Object.fromEntries(deletion.removed.map(({ area, rows }: Counted) => [area, rows]));
      for (const area of ['threads', 'files', 'batches', 'fine-tuning', 'vector stores', 'request log', 'API keys'])
        expect([area, counted[area] > 0]).toEqual([area, true]);
      expect(deletion.kept.map(({ area }: Counted) => area)).toEqual(['ledger', 'audit log']);
    });

    test('progress is shown to those who act on the organisation, and a workspace that exists has none', async () => {
      const { key } = await gateway.given.apiKey({ scopes: ['workspaces.read'] });
      const doomed = await gateway.given.workspace({ name: 'Watched' });
      expect((await gateway.api.get(`${PATH}/${doomed.id}/deletion`)).json.error.code).toBe('deletion_not_found');
      await gateway.api.delete(`${PATH}/${doomed.id}`);
      expect((await gateway.api.get(`${PATH}/${doomed.id}/deletion`, { key })).status).toBe(403);
      await deletionOf(doomed.slug);
      // The slug is free again.
      expect((await gateway.given.workspace({ name: 'Again', slug: doomed.slug })).slug).toBe(doomed.slug);
    });
  });
}

/** Kept elsewhere, or only where an operator asks for it; and the ledger of calls that count against no limit. */
const NOT_FILLED = ['audit_records', 'audit_days', 'request_log_labels', 'usage_ledger', 'analytics_kinds'];

const isHere = (tables: ReadonlyMap<string, unknown>) => (name: string) => tables.has(name);
