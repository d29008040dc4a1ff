import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ADMIN_SCOPES } from '../../src/core/scopes.ts';
import type { Route } from '../../src/http/route.ts';
import { type AdminCall, ASKING, adminCalls, COUNTING } from '../admin-calls.ts';
import { ADMIN_KEY, type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { managedState, query, refuseRecords } from '../state-tables.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NOBODY = '00000000-0000-0000-0000-000000000000';
const titleOf = ({ method, path }: Route) => `${method} ${path}`;

/** Few enough to name the one that changed something. */
const CALLS_TOGETHER = 8;

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`the audit log on ${engine}`, () => {
    let gateway: TestGateway;
    let organisationId: string;
    beforeAll(async () => {
      gateway = await startGateway({
        engine,
        environment: {
          GATEWAY_COUNTRY_HEADER: 'CF-IPCountry',
          GATEWAY_COUNTRY_TABLE: 'true',
          GATEWAY_CLIENT_IP_HEADER: 'X-Forwarded-For',
        },
      });
      organisationId = (await gateway.api.get('/v1/admin/organisation')).json.id;
    });
    const cleanups: (() => void)[] = [];
    afterAll(async () => {
      for (const cleanup of cleanups) cleanup();
      await gateway.stop();
    });

    const ask = (parameters: Record<string, string | number> = {}, key?: string) => {
      const all = {
        start_time: '2020-01-01T00:00:00Z',
        end_time: '2100-01-01T00:00:00Z',
        organisation_id: organisationId,
        ...parameters,
      };
      const search = new URLSearchParams(
        Object.entries(all).map(([name, value]): [string, string] => [name, String(value)]),
      );
      return gateway.api.get(`/v1/audit-logs?${search}`, key === undefined ? {} : { key });
    };
    const recordsOf = async (reply: { headers: Headers }) =>
      (await ask({ request_id: reply.headers.get('x-gateway-request-id')! })).json.records;

    test('every admin route that changes something is audited, and no other is', () => {
      const admin = new Set<string>(ADMIN_SCOPES);
      const isChange = ({ method }: Route) => ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method);
      const isAdmin = ({ scopes }: Route) => scopes !== 'public' && scopes.some((scope) => admin.has(scope));
      const needed = gateway.routes.filter((route) => isChange(route) && isAdmin(route));

      expect(needed.length).toBeGreaterThan(20);
      expect(needed.filter(({ audit }) => !audit).map(titleOf)).toEqual(ASKING);
      expect(gateway.routes.filter((route) => route.audit && !isChange(route)).map(titleOf)).toEqual([]);
    });

    test('a call for every audited route is known to this test', () => {
      const audited = gateway.routes.filter(({ audit }) => audit).map(titleOf);
      expect(audited.filter((title) => !COUNTING.includes(title)).sort()).toEqual(
        Object.keys(adminCalls(gateway)).sort(),
      );
    });

    test('each change has one record that says who did what to which resource', async () => {
      for (const [title, prepare] of Object.entries(adminCalls(gateway))) {
        const { path, body, form, as, status = 200 } = await prepare();
        const method = title.split(' ')[0]!;
        const { audit } = gateway.routes.find((route) => titleOf(route) === title)!;

        const reply = await gateway.api.call(method, path, { body: form ?? body, ...as });

        expect(`${title} ${reply.status}`).toBe(`${title} ${status}`);
        const records = await recordsOf(reply);
        expect(records).toHaveLength(1);
        expect(records[0]).toMatchObject({
          method: method === 'PATCH' ? 'PUT' : method,
          uri: path,
          request_id: reply.headers.get('x-gateway-request-id'),
          user_type: expect.stringMatching(/^(user|api_key)$/),
          user_id: expect.stringMatching(UUID),
          organisation_id: organisationId,
          response_status_code: status,
          resource_type: audit!.resource,
          action: audit!.action ?? { POST: 'create', PUT: 'update', PATCH: 'update', DELETE: 'delete' }[method],
        });
        if (body?.name) expect(JSON.parse(records[0].request_body).name).toBe(body.name as string);
      }
    });

    test('a record has every field, and only strings but for the status', async () => {
      const reply = await gateway.api.post(
        '/v1/api-keys?x=1',
        { name: 'with everything' },
        { headers: { 'x-forwarded-for': '192.0.2.9, 198.51.100.7', 'cf-ipcountry': 'DE', 'user-agent': 'test' } },
      );
      const [record] = await recordsOf(reply);

      expect(Object.keys(record).sort()).toEqual([
        'action',
        'client_ip',
        'country',
        'method',
        'organisation_id',
        'query_params',
        'request_body',
        'request_headers',
        'request_id',
        'resource_type',
        'response_status_code',
        'timestamp',
        'uri',
        'user_id',
        'user_type',
        'workspace_id',
      ]);
      for (const [name, value] of Object.entries(record))
        expect(typeof value).toBe(name === 'response_status_code' ? 'number' : 'string');
      expect(record.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(record.user_id).toMatch(UUID);
      expect(record).toMatchObject({ country: 'DE', client_ip: '198.51.100.7', uri: '/v1/api-keys' });
      expect(JSON.parse(record.query_params)).toEqual({ x: '1' });
      expect(JSON.parse(record.request_headers)['user-agent']).toBe('test');
      expect(JSON.stringify(record)).not.toContain(ADMIN_KEY);
    });

    test('the country is what the proxy says, else what the table of addresses says, else unknown', async () => {
      for (const [headers, country] of [
        [{ 'x-forwarded-for': '8.8.8.8', 'cf-ipcountry': 'DE' }, 'DE'],
        [{ 'x-forwarded-for': '8.8.8.8' }, 'US'],
        [{ 'x-forwarded-for': '2001:db8::1' }, ''],
        [{}, ''],
      ] as const) {
        const reply = await gateway.api.post('/v1/api-keys', { name: 'from somewhere' }, { headers });
        expect((await recordsOf(reply))[0].country).toBe(country);
      }
    });

    test('refused calls are recorded with what they were refused with', async () => {
      const { key } = await gateway.given.apiKey({ name: 'no scopes' });
      const body = { name: 'refused' };
      const refused: [Reply, number, Record<string, unknown>][] = [
        [await gateway.api.post('/v1/api-keys', body, { key: null }), 401, { user_id: NOBODY, request_body: '{}' }],
        [await gateway.api.post('/v1/api-keys', body, { key: 'gw-nobody' }), 401, { user_id: NOBODY }],
        [await gateway.api.post('/v1/api-keys', body, { key }), 403, { request_body: '{"name":"refused"}' }],
        [await gateway.api.post('/v1/api-keys', { nam: 'x' }), 400, { request_body: '{"nam":"x"}' }],
        [await gateway.api.post('/v1/api-keys', '{', { headers: { 'content-type': 'application/json' } }), 400, {}],
        [await gateway.api.delete('/v1/api-keys/nothing'), 404, { method: 'DELETE', action: 'delete' }],
        [await gateway.api.patch('/v1/api-keys/nothing', body), 405, { method: 'PUT', action: 'update' }],
        [await gateway.api.delete('/v1/api-keys'), 405, { method: 'DELETE' }],
        [await gateway.api.post('/v1/api-keys/a/b/c', body), 404, { uri: '/v1/api-keys/a/b/c' }],
      ];
      for (const [reply, status, fields] of refused) {
        expect(reply.status).toBe(status);
        const records = await recordsOf(reply);
        expect(records).toHaveLength(1);
        expect(records[0]).toMatchObject({ response_status_code: status, resource_type: 'api_keys', ...fields });
      }
    });

    test('reading, and calling models, leaves no record', async () => {
      const before = (await ask({ page_size: 0 })).json.total;
      await gateway.api.get('/v1/api-keys');
      await gateway.api.get('/v1/api-keys/nothing');
      await gateway.api.post(
        '/v1/chat/completions',
        { model: 'any', messages: [{ role: 'user', content: 'Hello' }] },
        { headers: { 'x-gateway-virtual-key': 'sim' } },
      );

      expect((await ask({ page_size: 0 })).json.total).toBe(before);
    });

    test('no secret of a body, a query or a header is in it', async () => {
      const reply = await gateway.api.post(
        '/v1/virtual-keys?token=hunter2',
        {
          name: 'secretive',
          provider: 'bedrock',
          configurations: {
            aws_access_key_id: 'hunter2',
            awsSecretAccessKey: 'hunter2',
            custom_headers: { a: 'hunter2' },
          },
          key: 'hunter2',
        },
        { headers: { cookie: 'a=hunter2', authorization: 'Bearer hunter2hunter2' } },
      );
      const [record] = await recordsOf(reply);

      expect(JSON.stringify(record)).not.toContain('hunter2hunter2');
      expect(`${record.request_body}${record.query_params}`).not.toContain('hunter2');
      expect(record.request_headers).not.toContain('a=hunter2');
    });

    test('only filters that exist are taken, and wrong values are named', async () => {
      const wrong: [Record<string, string>, string][] = [
        [{ start_time: 'yesterday' }, 'start_time'],
        [{ end_time: '2026-02-30' }, 'end_time'],
        [{ end_time: '2019-01-01' }, 'end_time'],
        [{ method: 'PATCH' }, 'method'],
        [{ method: 'GET' }, 'method'],
        [{ user_type: 'robot' }, 'user_type'],
        [{ response_status_code: 'ok' }, 'response_status_code'],
        [{ response_status_code: '2.5' }, 'response_status_code'],
        [{ current_page: '-1' }, 'current_page'],
        [{ page_size: '101' }, 'page_size'],
        [{ page_size: '-1' }, 'page_size'],
        [{ page_size: '' }, 'page_size'],
        [{ colour: 'red' }, 'colour'],
      ];
      for (const [parameters, param] of wrong) {
        const reply = await ask(parameters);
        expect(`${param} ${reply.status}`).toBe(`${param} 400`);
        expect(reply.json.error).toMatchObject({ code: 'invalid_request', param });
      }
      for (const missing of ['start_time', 'end_time', 'organisation_id']) {
        const names = ['start_time', 'end_time', 'organisation_id'].filter((name) => name !== missing);
        const values: Record<string, string> = {
          start_time: '2020-01-01',
          end_time: '2100-01-01',
          organisation_id: 'x',
        };
        const search = names.map((name) => `${name}=${values[name]}`).join('&');
        const reply = await gateway.api.get(`/v1/audit-logs?${search}`);
        expect(reply.status).toBe(400);
        expect(reply.json.error.param).toBe(missing);
      }
    });

    test('filters and pages work through the front door', async () => {
      const marked = 'x'.repeat(8);
      for (let number = 0; number < 3; number++) await gateway.api.delete(`/v1/configs/${marked}`);
      const uri = `/v1/configs/${marked}`;

      const two = (await ask({ uri, page_size: 2 })).json;
      expect(two).toMatchObject({ total: 3, object: 'analytics-graph' });
      expect(two.records).toHaveLength(2);
      expect((await ask({ uri, page_size: 2, current_page: 1 })).json.records).toHaveLength(1);
      expect((await ask({ uri, page_size: 0 })).json).toEqual({ records: [], total: 3, object: 'analytics-graph' });
      expect((await ask({ uri, response_status_code: 404, method: 'DELETE' })).json.total).toBe(3);
      expect((await ask({ uri, response_status_code: 200 })).json.total).toBe(0);
      expect((await ask({ uri, end_time: '2020-01-02T00:00:00+05:30' })).json.total).toBe(0);
    });

    test('it is for those who may, of their own organisation', async () => {
      const { key } = await gateway.given.apiKey({ scopes: ['audit_logs.list', 'organisation.manage'] });
      const workspace = await gateway.given.workspace({ name: 'auditors' });
      const limited = await gateway.given.apiKey({
        scopes: ['audit_logs.list', 'api_keys.create'],
        workspace_id: workspace.id,
      });
      const without = await gateway.given.apiKey({ scopes: ['logs.list'] });

      expect((await ask({}, key)).status).toBe(200);
      expect((await ask({}, without.key)).json.error.code).toBe('insufficient_scope');
      const foreign = await ask({ organisation_id: '11111111-1111-4111-8111-111111111111' }, key);
      expect(foreign.status).toBe(403);
      expect(foreign.json.error).toMatchObject({ code: 'foreign_organisation', param: 'organisation_id' });
      await gateway.api.post('/v1/api-keys', { name: 'own', scopes: [] }, { key: limited.key });
      const own = (await ask({}, limited.key)).json;
      expect(own.total).toBe(1);
      expect(own.records[0].workspace_id).toBe(workspace.id);
      expect((await ask({ workspace_id: 'other' }, limited.key)).status).toBe(404);
      expect((await ask({ workspace_id: workspace.slug }, limited.key)).json.total).toBe(1);
      expect((await ask({ workspace_id: workspace.slug }, key)).json.total).toBe(1);
      expect((await ask({ workspace_id: 'nowhere' }, key)).json.error.code).toBe('workspace_not_found');
    });

    test('what happened in a workspace is found by its id when the workspace is gone', async () => {
      const workspace = await gateway.given.workspace({ name: 'short-lived' });
      const { key } = await gateway.given.apiKey({ scopes: ['api_keys.create'], workspace_id: workspace.id });
      await gateway.api.post('/v1/api-keys', { name: 'own', scopes: [] }, { key });
      expect((await ask({ workspace_id: workspace.slug })).json.total).toBe(1);
      expect((await gateway.api.delete(`/v1/admin/workspaces/${workspace.slug}`)).status).toBeLessThan(300);

      expect((await ask({ workspace_id: workspace.id })).json.total).toBe(1);
      expect((await ask({ workspace_id: workspace.slug })).status).toBe(404);
    });

    test('moments come in every form of ISO 8601', async () => {
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
      for (const start_time of [
        '2020',
        '2020-01',
        '20200101',
        '2020-W01',
        '2020W011T12Z',
        '2020-001',
        '20200101T0000Z',
      ])
        expect(
          (await ask({ start_time, end_time: tomorrow.replaceAll('-', ''), page_size: 0 })).json.total,
        ).toBeGreaterThan(0);
      expect((await ask({ start_time: '2020', end_time: '2020-W53' })).json.total).toBe(0);
      const refused = await ask({ start_time: '2020-W54' });
      expect([refused.status, refused.json.error.param]).toEqual([400, 'start_time']);
    });

    test('an export has every record as a line of JSON', async () => {
      const search = `start_time=2020-01-01&end_time=2100-01-01&organisation_id=${organisationId}`;
      const { total } = (await ask({ page_size: 0 })).json;

      const reply = await gateway.api.get(`/v1/audit-logs/export?${search}`);

      expect(reply.headers.get('content-type')).toBe('application/x-ndjson');
      const lines = reply.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(lines).toHaveLength(total);
      const times = lines.map(({ timestamp }) => timestamp);
      expect(times).toEqual([...times].sort());
    });

    test('a budget that reaches its alert is recorded once', async () => {
      const { key, id } = await gateway.given.apiKey({
        name: 'spender',
        usage_limits: { type: 'tokens', credit_limit: 200, alert_threshold: 100 },
      });
      const call = () =>
        gateway.api.post(
          '/v1/chat/completions',
          { model: 'any', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] },
          { key, headers: { 'x-gateway-virtual-key': 'sim' } },
        );

      await eventually('the alarm is recorded', async () => {
        await call();
        const { records } = (await ask({ resource_type: 'budgets', user_id: id })).json;
        return records.some(({ action }: { action: string }) => action === 'alert');
      });
      const { records } = (await ask({ resource_type: 'budgets', user_id: id, action: 'alert' })).json;
      expect(records).toHaveLength(1);
      expect(JSON.parse(records[0].request_body)).toMatchObject({ owner: { name: 'spender' }, alert_threshold: 100 });
    });

    test('what is recorded is sealed soon', async () => {
      await eventually('nothing waits', async () => {
        const [row] = await query<{ waiting: number | string }>(
          gateway,
          'select count(*) as waiting from audit_records where batch is null',
        );
        return Number(row!.waiting) === 0;
      });
    });

    const POLICIES = '/v1/policies/usage-limits';
    /** A policy that has counted a call, and what it has counted since. */
    const countingPolicy = async () => {
      const { json: policy } = await gateway.api.post(POLICIES, {
        ...{ name: 'Pocket money', type: 'tokens', credit_limit: 1_000_000 },
        conditions: [{ key: 'metadata._user', value: 'ada' }],
        group_by: [{ key: 'metadata._user' }],
      });
      const headers = { 'x-gateway-virtual-key': 'sim', 'x-gateway-metadata': '{"_user":"ada"}' };
      const body = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
      expect((await gateway.api.post('/v1/chat/completions', body, { headers })).status).toBe(200);
      const path = `${POLICIES}/${policy.id}/entities`;
      const entity = async () => (await gateway.api.get(path)).json.data[0];
      await eventually('the call is counted', async () => (await entity())?.current_usage > 0);
      return { path, entity, policyPath: `${POLICIES}/${policy.id}` };
    };

    test('a reset of what a policy has counted has its record', async () => {
      const { path, entity } = await countingPolicy();
      const reply = await gateway.api.put(`${path}/${(await entity()).id}/reset`);
      expect([reply.status, reply.json.current_usage]).toEqual([200, 0]);
      expect(await recordsOf(reply)).toMatchObject([{ resource_type: 'policies', action: 'reset' }]);
    });

    test('the log is gone through while the gateway runs, and a record that was altered is named', async () => {
      const verify = async (key?: string) => {
        const reply = await gateway.api.get('/v1/audit-logs/verification', { key });
        const lines = reply.text.trim().split('\n');
        return { status: reply.status, last: JSON.parse(lines.at(-1)!) };
      };
      for (const name of ['one', 'two', 'three']) await gateway.api.post('/v1/api-keys', { name });
      const sealed = async () => (await verify()).last.unsealed === 0;
      await eventually('all records are sealed', sealed);
      const [one, other] = await Promise.all([verify(), verify()]);
      expect(one.last).toMatchObject({ object: 'audit_log.verification', status: 'whole', broken: null });
      expect(one.last.records).toBeGreaterThan(3);
      expect(other.last.status).toBe('whole');

      const [record] = await query<{ id: string; uri: string }>(
        gateway,
        'select id, uri from audit_records where batch is not null order by id limit 1 offset 1',
      );
      const write = (uri: string) =>
        query(gateway, `update audit_records set uri = '${uri}' where id = '${record!.id}'`);
      await write('/v1/forged');
      expect((await verify()).last).toMatchObject({ status: 'broken', broken: { record: record!.id } });
      await write(record!.uri);
      expect((await verify()).last.status).toBe('whole');

      const { json: key } = await gateway.api.post('/v1/api-keys', { name: 'reader', scopes: ['audit_logs.list'] });
      expect((await verify(key.key)).status).toBe(403);
    });

    // The last test: it breaks the gateway's database on purpose.
    test('a change whose record cannot be stored does not happen', async () => {
      const counting = await countingPolicy();
      const counted = await counting.entity();
      const calls: (AdminCall & { title: string })[] = [];
      for (const [title, prepare] of Object.entries(adminCalls(gateway))) calls.push({ title, ...(await prepare()) });
      await refuseRecords(gateway);
      // Each of these failures is told to the operator, and here it is no news.
      const tellOperator = process.stderr.write;
      cleanups.push(() => {
        process.stderr.write = tellOperator;
      });
      process.stderr.write = () => true;
      const before = await managedState(gateway);
      const changing = calls.filter(({ changesNothing }) => !changesNothing);
      // All that is stored is compared after several calls: no two of them undo each other to the last byte.
      for (let at = 0; at < changing.length; at += CALLS_TOGETHER) {
        const together = changing.slice(at, at + CALLS_TOGETHER);
        for (const { title, path, body, form, as } of together) {
          const reply = await gateway.api.call(title.split(' ')[0]!, path, { body: form ?? body, ...as });
          expect(`${title} ${reply.status}`).toBe(`${title} 500`);
        }
        const titles = together.map(({ title }) => title).join('\n');
        expect(`${titles}\n${await managedState(gateway)}`).toBe(`${titles}\n${before}`);
      }
      const reset = await gateway.api.put(`${counting.path}/${counted.id}/reset`);
      const update = await gateway.api.put(counting.policyPath, { reset_usage_for_value: counted.value_key });
      expect([reset.status, update.status]).toEqual([500, 500]);
      expect(await counting.entity()).toEqual(counted);
    });
  });
}
