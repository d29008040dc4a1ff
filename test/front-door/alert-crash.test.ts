import { expect, test } from 'bun:test';
import { type AlertEvent, givenAlert, startListener } from '../alerting.ts';
import { startGateway } from '../gateway.ts';
import { startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, forTests, newDataDir, removeDataDir, startProcess } from '../process.ts';

const PATIENCE_MS = 180_000;
const LIMIT_MS = 180_000;
const SOON = { GATEWAY_ALERTS_SECONDS: '1' };

type Api = Parameters<typeof givenAlert>[0];

/** A rule that holds for a key of its own, which ends in an hour. */
async function givenRule(api: Api, channels: readonly string[]): Promise<string> {
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const key = (await api.post('/v1/api-keys', { name: 'ends', expires_at })).json;
  const condition = { type: 'key_expiring', within: 86_400, of: { api_key_id: key.id } };
  const reply = await api.post('/v1/alerts', { name: 'Ends', condition, channels });
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
  return reply.json.id;
}

const givenChannel = async (api: Api, url: string): Promise<string> =>
  (await api.post('/v1/alert-channels', { name: 'told', kind: 'webhook', settings: { url } })).json.id;

/** Per alert, the ids of its events. A message that came twice has one. */
function idsOf(events: readonly AlertEvent[]): Map<string, Set<string>> {
  const byAlert = new Map<string, Set<string>>();
  for (const { id, data } of events) {
    const alert = (data.alert as { id: string }).id;
    byAlert.set(alert, (byAlert.get(alert) ?? new Set()).add(id));
  }
  return byAlert;
}

/** The alerts that the audit log says have begun, as often as it says so. */
async function firedByAudit(api: Api): Promise<string[]> {
  const organisation_id = (await api.get('/v1/admin/organisation')).json.id;
  const times = `start_time=2026-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z`;
  const filters = `organisation_id=${organisation_id}&resource_type=alerts&action=fire`;
  const { text } = await api.get(`/v1/audit-logs/export?${times}&${filters}`);
  const records = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { request_body: string | object });
  const bodyOf = ({ request_body: body }: { request_body: string | object }) =>
    (typeof body === 'string' ? JSON.parse(body) : body) as { alert: { id: string } };
  return records.map((record) => bodyOf(record).alert.id).toSorted();
}

/** Each alert was told once, whatever came twice. */
const expectOnce = (events: readonly AlertEvent[], rules: readonly string[]) =>
  expect([...idsOf(events)].map(([rule, ids]) => [rule, ids.size]).toSorted()).toEqual(
    rules.map((rule) => [rule, 1]).toSorted(),
  );

test.concurrent(
  'a process that is killed again and again while it judges and tells loses nothing and tells nothing twice under another id',
  async () => {
    // Slow, so that most kills come while something is being delivered.
    const listener = startListener(async () => {
      await Bun.sleep(300);
      return new Response(null, { status: 204 });
    });
    const dataDir = newDataDir();
    const rules: string[] = [];
    let channel: string | null = null;
    const options = { dataDir, environment: { ...forTests, ...SOON } };
    for (const delayMs of [0, 150, 400, 700, 1_000, 1_300]) {
      const gateway = await startProcess(options);
      channel ??= await givenChannel(gateway.api, listener.url);
      for (let rule = 0; rule < 4; rule++) rules.push(await givenRule(gateway.api, [channel]));
      await Bun.sleep(delayMs);
      await gateway.kill();
    }
    const last = await startProcess(options);
    await eventually('all are told', () => idsOf(listener.events).size === rules.length, PATIENCE_MS);
    // Long enough for another turn, and for what a dead process had begun to deliver.
    await Bun.sleep(3_000);
    expectOnce(listener.events, rules);
    const { data } = (await last.api.get('/v1/alerts')).json;
    expect(new Set(data.map(({ status }: { status: string }) => status))).toEqual(new Set(['firing']));
    expect(await firedByAudit(last.api)).toEqual(rules.toSorted());
    await last.kill();
    removeDataDir(dataDir);
    listener.stop();
  },
  LIMIT_MS,
);

test.concurrent(
  'when one of two nodes is killed, the other one goes on, and each alert is told once',
  async () => {
    const listener = startListener();
    const databaseUrl = await createDatabase();
    const [one, two] = await Promise.all([
      startNode(databaseUrl, { environment: SOON }),
      startNode(databaseUrl, { environment: SOON }),
    ]);
    const channel = await givenChannel(one.api, listener.url);
    const rules: string[] = [];
    for (let rule = 0; rule < 6; rule++) rules.push(await givenRule(rule % 2 ? one.api : two.api, [channel]));
    await eventually('those are told', () => idsOf(listener.events).size === rules.length, PATIENCE_MS);
    for (let rule = 0; rule < 6; rule++) rules.push(await givenRule(two.api, [channel]));
    await one.kill();
    await eventually('the others are told, too', () => idsOf(listener.events).size === rules.length, PATIENCE_MS);
    await Bun.sleep(2_500);
    expectOnce(listener.events, rules);
    await two.kill();
    listener.stop();
  },
  LIMIT_MS,
);

test.concurrent(
  'what two nodes see is told once, and what only one of them sees is told, too',
  async () => {
    const databaseUrl = await createDatabase();
    const one = await startGateway({ engine: 'postgres', databaseUrl, environment: SOON });
    const two = await startGateway({ engine: 'postgres', databaseUrl, environment: SOON });
    const organisation_id = (await one.api.get('/v1/admin/organisation')).json.id;
    const disk = await givenAlert(one.api, { type: 'disk', free_below: 100 }, { organisation_id });
    const down = await one.given.virtualKey({ name: 'down', custom_host: 'http://127.0.0.1:9/v1' });
    const config = {
      strategy: { mode: 'fallback', cb_config: { failure_threshold: 1 } },
      targets: [{ virtual_key: down.slug }, { virtual_key: 'sim' }],
    };
    const { slug } = (await one.api.post('/v1/configs', { name: 'broken', config })).json;
    const breaker = await givenAlert(one.api, { type: 'breaker_open', config: slug });
    // Behind the open breaker every second attempt fails, and a node may say so after the one that does not.
    const provider = await givenAlert(one.api, { type: 'provider_down', min_calls: 4, above: 25 });
    const call = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };
    const headers = { 'x-gateway-virtual-key': down.slug };
    // Neither node sees enough of it by itself.
    await eventually(
      'attempts of both nodes are counted together',
      async () => {
        for (const node of [one, two]) {
          await node.api.post('/v1/chat/completions', call, { headers: { 'x-gateway-config': slug } });
          await node.api.post('/v1/chat/completions', call, { headers });
        }
        return provider.events.length > 0;
      },
      PATIENCE_MS,
    );
    await breaker.told('alert.fired');
    await disk.told('alert.fired');
    await Bun.sleep(2_500);
    for (const alert of [disk, breaker, provider]) expect(alert.types()).toEqual(['alert.fired']);
    await Promise.all([disk.end(), breaker.end(), provider.end()]);
    await Promise.all([one.stop(), two.stop()]);
  },
  LIMIT_MS,
);
