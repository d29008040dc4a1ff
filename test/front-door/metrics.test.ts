import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { readScrape, type Scrape } from '../telemetry/scrape.ts';

const OPENMETRICS = { accept: 'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3' };
const hello = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] };

const textOf = async ({ api }: TestGateway): Promise<Scrape> => readScrape((await api.get('/metrics')).text);
const seriesOf = (scrape: Scrape, name: string): Record<string, unknown>[] =>
  (scrape.get(name)?.samples ?? []).map(({ labels, value }) => ({ ...labels, value }));

describe('metrics', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ environment: { GATEWAY_METRICS_CALLERS: '2' } });
  });
  afterAll(() => gateway.stop());

  const chat = (key: string, headers: Record<string, string> = {}) =>
    gateway.api.post('/v1/chat/completions', hello, { key, headers: { 'x-gateway-virtual-key': 'sim', ...headers } });

  test('a caller is counted by workspace, key and virtual key, keeps counting when renamed, and the cap says when it bites', async () => {
    const search = await gateway.given.apiKey({ name: 'search "beta"' });
    expect((await gateway.api.get('/health', { key: null })).json.notes).toBeUndefined();
    await gateway.logOf(await chat(search.key));
    await gateway.logOf(await chat(search.key, { 'x-simulate': 'status=500' }));
    const own = async (name: string) =>
      seriesOf(await textOf(gateway), name).filter(({ api_key }) => api_key === search.id);
    const labels = { workspace: 'default', api_key: search.id, api_key_name: 'search "beta"', virtual_key: 'sim' };
    expect(await own('gateway_caller_requests_total')).toEqual([
      { ...labels, failed_by: '', value: 1 },
      { ...labels, failed_by: 'provider', value: 1 },
    ]);
    expect(await own('gateway_caller_tokens_total')).toContainEqual({ ...labels, kind: 'output', value: 12 });
    expect(await own('gateway_caller_cost_usd_total')).toEqual([{ ...labels, value: expect.any(Number) }]);

    await gateway.api.put(`/v1/api-keys/${search.id}`, { name: 'search' });
    await gateway.logOf(await chat(search.key));
    expect(await own('gateway_caller_cost_usd_total')).toEqual([
      { ...labels, api_key_name: 'search', value: expect.any(Number) },
    ]);

    const late = await gateway.given.apiKey({ name: 'late' });
    await gateway.logOf(await chat(late.key));
    const scrape = await textOf(gateway);
    const others = { workspace: 'other', api_key: 'other', api_key_name: 'other', virtual_key: 'other' };
    expect(seriesOf(scrape, 'gateway_caller_requests_total')).toContainEqual(expect.objectContaining(others));
    expect(JSON.stringify([...scrape])).not.toContain(late.id);
    const capped = seriesOf(scrape, 'gateway_metrics_capped_total').find(({ label }) => label === 'caller');
    expect(capped?.value).toBeGreaterThan(0);
    const { json, text } = await gateway.api.get('/health', { key: null });
    expect([json.status, json.notes]).toEqual(['ok', [expect.stringContaining('bound of caller')]]);
    expect(text).not.toContain('search');
  });

  test('a scraper that asks for OpenMetrics gets it, with the trace of a call in its bucket', async () => {
    await gateway.logOf(
      await chat((await gateway.given.apiKey()).key, { 'x-gateway-trace-id': 'the-one-we-look-for' }),
    );
    await eventually('it is counted', async () => {
      const { text, headers } = await gateway.api.get('/metrics', { headers: OPENMETRICS });
      expect(headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
      const { samples } = readScrape(text, 'openmetrics').get('gateway_request_duration_seconds')!;
      return samples.some(({ exemplar }) => exemplar?.labels.trace_id === 'the-one-we-look-for');
    });
    const plain = await gateway.api.get('/metrics');
    expect(plain.headers.get('content-type')).toStartWith('text/plain; version=0.0.4');
    expect(plain.text).not.toContain('the-one-we-look-for');
    expect((await gateway.api.get('/metrics', { key: null })).status).toBe(401);
    const narrow = await gateway.given.apiKey({ scopes: ['completions.write'] });
    expect((await gateway.api.get('/metrics', { key: narrow.key, headers: OPENMETRICS })).status).toBe(403);
  });

  test('every family is one that the gateway describes, with its type, its labels and its help', async () => {
    const scrape = await textOf(gateway);
    const shown = [...scrape].map(([name, { type, help, samples }]) => ({
      name,
      type,
      help,
      labels: labelsOf(samples),
    }));
    for (const { name, type, help, labels } of shown) {
      const described = gateway.families.find((family) => family.name === name);
      expect([name, described?.type, described?.help]).toEqual([name, type as 'counter', help]);
      for (const label of labels) expect([name, described?.labels]).toEqual([name, expect.arrayContaining([label])]);
    }
    expect(shown.map(({ name }) => name)).toEqual(gateway.families.map(({ name }) => name));
  });
});

const labelsOf = (samples: readonly { labels: Readonly<Record<string, string>> }[]) =>
  [...new Set(samples.flatMap(({ labels }) => Object.keys(labels)))].filter((label) => label !== 'le');

test('without callers nothing tells them apart', async () => {
  const gateway = await startGateway({ environment: { GATEWAY_METRICS_CALLERS: '0' } });
  await gateway.logOf(
    await gateway.api.post('/v1/chat/completions', hello, { headers: { 'x-gateway-virtual-key': 'sim' } }),
  );
  const { text } = await gateway.api.get('/metrics');
  expect([text.includes('gateway_caller_'), text.includes('label="caller"')]).toEqual([false, false]);
  await gateway.stop();
});
