import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AlertEvent, CALL, givenAlert, startListener } from '../alerting.ts';
import { expired, serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { query } from '../state-tables.ts';

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`alerts on ${engine}`, () => {
    let gateway: TestGateway;
    let organisation_id: string;
    let workspace_id: string;
    beforeAll(async () => {
      gateway = await startGateway({ engine, environment: { GATEWAY_ALERTS_SECONDS: '1' } });
      organisation_id = (await gateway.api.get('/v1/admin/organisation')).json.id;
      workspace_id = (await gateway.api.get('/v1/admin/workspaces/default')).json.id;
    });
    afterAll(() => gateway.stop());
    const given = (condition: Record<string, unknown>, more?: Record<string, unknown>) =>
      givenAlert(gateway.api, condition, more);

    test.concurrent('each threshold of a budget is told once, and the end when the usage starts again', async () => {
      const usage_limits = { type: 'tokens', credit_limit: 1_000_000 };
      const { id, key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' }, usage_limits });
      const alert = await given({ type: 'budget', thresholds: [0.0001, 50, 90], of: { api_key_id: id } });
      expect((await gateway.api.post('/v1/chat/completions', CALL, { key })).status).toBe(200);
      await alert.told('alert.fired');
      expect(alert.events[0]!.data).toMatchObject({
        alert: { name: 'Watched', condition: 'budget' },
        threshold: 0.0001,
        summary: expect.stringMatching(/^API key "test" has used 0 % of its budget of 1000000 tokens: \d+ tokens\.$/),
      });
      // So that what was used is all of it, and two thresholds are passed at once.
      const used = (await gateway.api.get(`/v1/api-keys/${id}`)).json.usage[0].current_usage as number;
      await gateway.api.put(`/v1/api-keys/${id}`, { usage_limits: { type: 'tokens', credit_limit: used } });
      await alert.told('alert.fired', 2);
      expect(alert.events[1]!.data).toMatchObject({ threshold: 90, value: 100 });
      expect(await alert.read()).toMatchObject({ status: 'firing', firing: [{ threshold: 90, value: 100 }] });
      await gateway.api.put(`/v1/api-keys/${id}`, { reset_usage: true });
      await alert.told('alert.over');
      expect(alert.types()).toEqual(['alert.fired', 'alert.fired', 'alert.over']);
      expect(await alert.read()).toMatchObject({ status: 'calm', firing: [], problem: null });
      const { data } = (await gateway.api.get(`${alert.path}/events`)).json;
      const [newest] = data;
      expect(data.map((event: { id: string }) => event.id)).toEqual(alert.events.map((event) => event.id).reverse());
      expect(newest).toMatchObject({ type: 'alert.over', channels: [expect.any(String)], value: 100 });
      const deliveries = async () => (await gateway.api.get(`${alert.path}/events`)).json.data[0].deliveries;
      // It is written down when the receiver has answered.
      await eventually('its delivery is known', async () => (await deliveries())[0].status !== 'waiting');
      const delivery = { channel_id: newest.channels[0], attempts: 1, response_status: 204, error: null };
      expect(await deliveries()).toMatchObject([{ ...delivery, status: 'delivered' }]);
      await alert.end();
    });

    test.concurrent('the budgets of all owners are watched where none is named, those of a policy by group', async () => {
      const workspace = await gateway.given.workspace({ name: 'Watched' });
      const within = { workspace_id: workspace.id };
      const usage_limits = { type: 'tokens', credit_limit: 1_000_000 };
      await gateway.given.virtualKey({ ...within, slug: 'spent', usage_limits });
      const groups = { conditions: [{ key: 'model', value: '*' }], group_by: [{ key: 'metadata.team' }] };
      const policy = { ...groups, ...within, type: 'requests', credit_limit: 1_000 };
      expect((await gateway.api.post('/v1/policies/usage-limits', policy)).status).toBe(200);
      await gateway.api.put(`/v1/admin/workspaces/${workspace.id}`, { usage_limits });
      const { key } = await gateway.given.apiKey({ ...within, usage_limits, defaults: { virtual_key: 'spent' } });
      const alert = await given({ type: 'budget', thresholds: [0.0001] }, within);
      const headers = { 'x-gateway-metadata': '{"team":"search"}' };
      expect((await gateway.api.post('/v1/chat/completions', CALL, { key, headers })).status).toBe(200);
      await alert.told('alert.fired', 4);
      const owners = alert.events.map(({ data }) => data.summary.slice(0, data.summary.indexOf(' has used')));
      expect(owners.toSorted()).toEqual([
        'API key "test"',
        expect.stringMatching(/^Policy ".*"$/),
        'Virtual key "spent"',
        `Workspace "${workspace.slug}"`,
      ]);
      await alert.end();
    });

    test.concurrent('a key that is about to expire is told, then that it has expired, and the end when it gets a later one', async () => {
      const within = 3_600;
      const soon = new Date(Date.now() + (within * 1_000) / 2).toISOString();
      const { id } = await gateway.given.apiKey({ name: 'short', expires_at: soon });
      const alert = await given({ type: 'key_expiring', within, of: { api_key_id: id } });
      await alert.told('alert.fired');
      let end = '';
      await expired((expires_at) => {
        end = expires_at;
        return gateway.api.put(`/v1/api-keys/${id}`, { expires_at });
      });
      await alert.told('alert.fired', 2);
      expect(alert.events.map(({ data }) => data.summary)).toEqual([
        `API key "short" expires at ${soon}.`,
        `API key "short" has expired at ${end}.`,
      ]);
      await gateway.api.put(`/v1/api-keys/${id}`, { expires_at: '2099-01-01T00:00:00Z' });
      await alert.told('alert.over');
      await alert.end();
    });

    test.concurrent('an open breaker is told once, and the end when it has been closed for a while', async () => {
      const broken = serve(() => new Response('{}', { status: 500 }));
      const virtualKey = await gateway.given.virtualKey({ name: 'broken', custom_host: `${broken.origin}/v1` });
      const config = {
        strategy: { mode: 'fallback', cb_config: { failure_threshold: 1, cooldown_interval: 86_400_000 } },
        targets: [{ virtual_key: virtualKey.slug }, { virtual_key: 'sim' }],
      };
      const { slug, version_id } = (await gateway.api.post('/v1/configs', { name: 'broken', config })).json;
      const alert = await given({ type: 'breaker_open', config: slug, calm: 1 });
      await gateway.api.post('/v1/chat/completions', CALL, { headers: { 'x-gateway-config': slug } });
      await alert.told('alert.fired');
      const text = (target: number) =>
        `The circuit breaker of config.targets[${target}] in config ${slug} is open: its calls go elsewhere.`;
      expect(alert.events[0]!.data.summary).toBe(text(0));
      // Another node sees the other target's open, until it was told.
      const later = Date.now() + 86_400_000;
      await query(
        gateway,
        `insert into alert_sightings values ('elsewhere', 'breaker', '${workspace_id}', '${version_id} config.targets[1]', 0,
         ${later}, 0, null, 0, ${later})`,
      );
      await alert.told('alert.fired', 2);
      await query(gateway, `update alert_sightings set amount = ${Date.now()} where node = 'elsewhere'`);
      await alert.told('alert.over');
      expect(alert.events.map(({ type, data }) => [type, data.summary])).toEqual([
        ['alert.fired', text(0)],
        ['alert.fired', text(1)],
        ['alert.over', text(1)],
      ]);
      await alert.end();
      broken.stop();
    });

    test.concurrent('a provider that does not answer is told, though another one answers its calls', async () => {
      const broken = serve(() => new Response('{}', { status: 503 }));
      const down = await gateway.given.virtualKey({ provider: 'groq', custom_host: `${broken.origin}/v1` });
      const config = { strategy: { mode: 'fallback' }, targets: [{ virtual_key: down.slug }, { virtual_key: 'sim' }] };
      const headers = { 'x-gateway-config': JSON.stringify(config) };
      const alert = await given({ type: 'provider_down', provider: 'groq', min_calls: 3 });
      for (let call = 0; call < 400 && alert.events.length === 0; call++) {
        expect((await gateway.api.post('/v1/chat/completions', CALL, { headers })).status).toBe(200);
        await Bun.sleep(150);
      }
      expect(alert.events[0]!.data).toMatchObject({
        subject: 'groq',
        value: 100,
        summary: expect.stringContaining('Provider groq does not answer: 100 % of '),
      });
      await alert.change({ condition: { type: 'provider_down', provider: 'groq', min_calls: 1_000_000 } });
      await alert.told('alert.over');
      await alert.end();
      broken.stop();
    });

    test.concurrent('what goes on is told again after the chosen time, and over when the alert is switched off', async () => {
      const alert = await given({ type: 'disk', free_below: 100 }, { organisation_id, repeat_after: 60 });
      await alert.told('alert.fired');
      expect(alert.events[0]!.data).toMatchObject({ threshold: 100, summary: expect.stringContaining(' MiB.') });
      const id = alert.path.split('/').at(-1);
      await query(gateway, `update alert_states set told_at = told_at - 60000 where rule_id = '${id}'`);
      await alert.told('alert.repeated');
      await alert.change({ is_enabled: false });
      await alert.told('alert.over');
      expect(alert.types()).toEqual(['alert.fired', 'alert.repeated', 'alert.over']);
      expect(alert.events[2]!.data.reason).toBe('The alert was switched off.');
      expect(await alert.read()).toMatchObject({ status: 'off', firing: [] });
      await alert.end();
    });

    test.concurrent('work that no node does is told, and the end when it is gone', async () => {
      const alert = await given({ type: 'queue', older_than: 5 }, { organisation_id });
      const long = Date.now() - 60_000;
      await query(
        gateway,
        `insert into work (id, kind, tenant, ref, run_at, lease_until, fence, attempts, created_at)
         values ('stuck', 'unknown', 't', 'r', ${long}, 0, 0, 0, ${long})`,
      );
      await alert.told('alert.fired');
      expect(alert.events[0]!.data).toMatchObject({ subject: 'unknown', threshold: 5 });
      await query(gateway, "delete from work where id = 'stuck'");
      await alert.told('alert.over');
      await alert.end();
    });

    test.concurrent('a part that is degraded on some node is told, and the end when that node says so no longer', async () => {
      const alert = await given({ type: 'degraded', parts: ['log'] }, { organisation_id });
      const until = Date.now() + 3_600_000;
      for (const part of ['log', 'redis'])
        await query(
          gateway,
          `insert into alert_sightings values ('elsewhere', 'health', '', '${part}', 0, 0, 0, 'Entries wait.', 0, ${until})`,
        );
      await alert.told('alert.fired');
      await query(gateway, `update alert_sightings set expires_at = 0 where node = 'elsewhere' and kind = 'health'`);
      await alert.told('alert.over');
      expect(alert.events.map(({ type, data }) => [type, data.subject, data.summary])).toEqual([
        ['alert.fired', 'log', 'Entries wait.'],
        ['alert.over', 'log', 'Entries wait.'],
      ]);
      await alert.end();
    });

    test.concurrent('calls that fail, take long, cost much or have no price are told, and too few of them are not', async () => {
      const { id: api_key_id, key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
      const counted = { window: 60, filter: { api_key_id } };
      const errors = await given({ type: 'error_rate', above: 50, min_calls: 3, ...counted });
      const latency = await given({ type: 'latency', percentile: 50, above: 0.001, min_calls: 3, ...counted });
      const unpriced = await given({ type: 'unpriced_calls', ...counted });
      const spending = await given({ type: 'spend_rate', above: 0.0000001, ...counted });
      const fails = () => gateway.api.post('/v1/chat/completions', { ...CALL, messages: 'no list' }, { key });
      await Promise.all([fails(), fails()]);
      await Bun.sleep(2_500);
      expect(errors.events).toEqual([]);
      // Told by now, or with the calls that follow.
      await Promise.all([fails(), fails()]);
      for (const model of ['demo', 'gpt-4o-mini'])
        await gateway.api.post('/v1/chat/completions', { ...CALL, model }, { key });
      const calls = `Calls of the API key ${api_key_id}`;
      for (const [alert, summary] of [
        [errors, /: \d{2,3}(\.\d)? % of \d have failed within 1 minute; 50 % is the threshold\.$/],
        [latency, /: one in 2 took longer than \d+ ms within 1 minute; 0\.001 ms is the threshold\.$/],
        [spending, / cost \$0\.0000\d+ within 1 minute; \$0\.0000001 is the threshold\.$/],
      ] as const) {
        await alert.told('alert.fired');
        expect(alert.events[0]!.data.summary).toMatch(new RegExp(calls + summary.source));
      }
      await unpriced.told('alert.fired');
      expect(unpriced.events[0]!.data).toMatchObject({
        subject: 'demo',
        summary: expect.stringContaining('The price of the model demo is not known: 1 call within 1 minute'),
      });
      await Promise.all(Array.from({ length: 12 }, () => gateway.api.post('/v1/chat/completions', CALL, { key })));
      await errors.told('alert.over');
      const never = { window: 60, above: 1_000_000 };
      await latency.change({ condition: { type: 'latency', percentile: 99, ...never } });
      await unpriced.change({ condition: { type: 'unpriced_calls', ...never } });
      await spending.change({ condition: { type: 'spend_rate', ...never } });
      for (const alert of [errors, latency, unpriced, spending]) {
        await alert.told('alert.over');
        expect(alert.types()).toEqual(['alert.fired', 'alert.over']);
        await alert.end();
      }
    });

    test.concurrent('a receiver that is away is told again under the same id, and what began and ended is in the audit log', async () => {
      const statuses = [503, 204];
      const listener = startListener(() => new Response(null, { status: statuses.shift() ?? 204 }));
      const { id } = await gateway.given.apiKey({ expires_at: new Date(Date.now() + 60_000).toISOString() });
      const condition = { type: 'key_expiring', of: { api_key_id: id } };
      const alert = await givenAlert(gateway.api, condition, { name: 'Retried' }, listener);
      const delivery = async () => (await gateway.api.get(alert.channel)).json.last_delivery;
      await eventually('it is tried', async () => (await delivery())?.status === 'retrying');
      expect(await delivery()).toMatchObject({ attempts: 1, response_status: 503 });
      await eventually('it is told', async () => (await delivery()).status === 'delivered');
      expect(await delivery()).toMatchObject({ attempts: 2, event_id: alert.events[0]!.id });
      expect(alert.events[1]).toEqual(alert.events[0]!);
      await gateway.api.put(`/v1/api-keys/${id}`, { expires_at: '2099-01-01T00:00:00Z' });
      await alert.told('alert.over');
      const times = 'start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z';
      const recorded = async (action: string, { id: event }: AlertEvent) => {
        const page = `resource_type=alerts&action=${action}&page_size=100`;
        return (
          await gateway.api.get(`/v1/audit-logs?organisation_id=${organisation_id}&${times}&${page}`)
        ).text.includes(event);
      };
      await eventually('the beginning is recorded', () => recorded('fire', alert.events[0]!));
      await eventually('the end is recorded', () => recorded('end', alert.events.at(-1)!));
      await alert.end();
    });

    test.concurrent('when what it names is deleted, the alert says so, ends what it held for, and others go on', async () => {
      const { id } = await gateway.given.apiKey({ expires_at: new Date(Date.now() + 60_000).toISOString() });
      const alert = await given({ type: 'key_expiring', of: { api_key_id: id } });
      await alert.told('alert.fired');
      await gateway.api.delete(`/v1/api-keys/${id}`);
      await alert.told('alert.over');
      const problem = `The API key with the id ${id} that condition.of.api_key_id names is gone.`;
      expect(alert.events[1]!.data.reason).toBe(problem);
      expect(await alert.read()).toMatchObject({ status: 'calm', problem });
      // A row that no version of ours wrote.
      const broken = await given({ type: 'key_expiring', of: { virtual_key: 'sim' } });
      const brokenId = broken.path.split('/').at(-1);
      await query(gateway, `update alert_rules set condition = '{"type":"nonsense"}' where id = '${brokenId}'`);
      const other = await gateway.given.apiKey({ expires_at: new Date(Date.now() + 60_000).toISOString() });
      const next = await given({ type: 'key_expiring', of: { api_key_id: other.id } });
      await next.told('alert.fired');
      await gateway.api.delete(next.path);
      await next.told('alert.over');
      expect(next.events[1]!.data.reason).toBe('The alert was deleted.');
      await Promise.all([alert.end(), next.end(), broken.end()]);
    });
  });
