import { expect, test } from 'bun:test';
import { readScrape } from '../../../test/telemetry/scrape.ts';
import { createMetrics, type Metrics, type Observation } from './metrics.ts';
import { type Format, formatOf, render } from './render.ts';

const observation: Observation = {
  route: '/v1/*',
  method: 'POST',
  status: 200,
  failedBy: null,
  errorCode: null,
  provider: 'openai',
  model: 'gpt-4o',
  workspace: 'default',
  apiKey: 'key-1',
  apiKeyName: 'search',
  virtualKey: 'sim',
  isCached: false,
  startedAt: 1_000_000,
  traceId: 'trace-1',
  durationMs: 30,
  firstByteMs: 4,
  usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2 },
  cost: 0.25,
};

const create = () => createMetrics({ version: '1.2.3', startedAt: 5_000, mostCallers: 10 });
const textOf = (metrics: Metrics, format: Format = 'text') => render(metrics.snapshot(), format);

test('a finished request shows in counters, histograms, tokens and cost', () => {
  const metrics = create();
  metrics.opened();
  metrics.opened();
  metrics.ended();
  metrics.closed(observation);
  metrics.closed({ ...observation, status: 429, failedBy: 'gateway', errorCode: 'rate_limited', isCached: true });
  const lines = textOf(metrics).split('\n');
  for (const line of [
    'gateway_requests_total{route="/v1/*",method="POST",status="200",provider="openai"} 1',
    'gateway_failures_total{failed_by="gateway",code="rate_limited",provider="openai"} 1',
    'gateway_request_duration_seconds_bucket{provider="openai",le="0.025"} 0',
    'gateway_request_duration_seconds_bucket{provider="openai",le="0.05"} 2',
    'gateway_request_duration_seconds_bucket{provider="openai",le="+Inf"} 2',
    'gateway_request_duration_seconds_sum{provider="openai"} 0.06',
    'gateway_request_duration_seconds_count{provider="openai"} 2',
    'gateway_first_byte_seconds_bucket{provider="openai",le="0.005"} 2',
    'gateway_tokens_total{provider="openai",model="gpt-4o",kind="input"} 20',
    'gateway_tokens_total{provider="openai",model="gpt-4o",kind="cached_input"} 4',
    'gateway_cost_usd_total{provider="openai"} 0.5',
    'gateway_cached_answers_total{provider="openai"} 1',
    'gateway_open_requests 1',
    'gateway_log_records_total{result="dropped"} 0',
    'gateway_log_bodies_dropped_total 0',
    'gateway_metrics_capped_total{label="model"} 0',
    'process_start_time_seconds 5',
    'gateway_build_info{version="1.2.3"} 1',
  ]) {
    expect(lines).toContain(line);
  }
});

const HOSTILE = 'a "b" \\ c\nd\\n';

for (const format of ['text', 'openmetrics'] as const) {
  test(`${format} is what a scraper understands, whatever clients send`, () => {
    const metrics = create();
    metrics.closed({ ...observation, model: HOSTILE, method: 'BREW', traceId: 'a"b\\c' });
    metrics.closed({ ...observation, durationMs: 1e9, firstByteMs: 0 });
    metrics.gauge('gateway_test', 'A "test"\nof \\ all.', () => Number.NaN);
    metrics.gauge('gateway_large', 'Large.', () => Number.POSITIVE_INFINITY);
    const scrape = readScrape(textOf(metrics, format), format);
    const total = format === 'text' ? '_total' : '';
    const labelled = (name: string) => scrape.get(name)?.samples.map(({ labels }) => labels);
    expect(labelled(`gateway_tokens${total}`)).toContainEqual({ provider: 'openai', model: HOSTILE, kind: 'input' });
    expect(labelled(`gateway_requests${total}`)).toContainEqual(expect.objectContaining({ method: 'OTHER' }));
    expect(scrape.get('gateway_large')?.samples[0]?.value).toBe(Number.POSITIVE_INFINITY);
  });
}

test('in OpenMetrics a bucket shows the last call in it by its trace, unless its id is too long', () => {
  const metrics = create();
  metrics.closed(observation);
  metrics.closed({ ...observation, traceId: 'trace-2', durationMs: 40 });
  metrics.closed({ ...observation, traceId: 'x'.repeat(121), durationMs: 45 });
  const { samples } = readScrape(textOf(metrics, 'openmetrics'), 'openmetrics').get(
    'gateway_request_duration_seconds',
  )!;
  const shown = samples.filter(({ exemplar }) => exemplar);
  expect(shown.map(({ labels: { le }, exemplar }) => [le, exemplar])).toEqual([
    ['0.05', { labels: { trace_id: 'trace-2' }, value: 0.04, at: 1000.04 }],
  ]);
  expect(samples.map(({ labels }) => labels.le)).toContain('1.0');
});

test('clients cannot grow a label beyond its bound, and it is counted when they try', () => {
  const metrics = create();
  expect(metrics.cappedLabels).toEqual([]);
  for (let index = 0; index < 600; index++)
    metrics.closed({ ...observation, model: `model-${index}`, failedBy: 'provider', errorCode: `code-${index}` });
  const text = textOf(metrics);
  for (const [label, bound] of [['model', 200] as const, ['code', 500] as const]) {
    const values = new Set(text.match(new RegExp(`${label}="[^"]*"`, 'g')));
    expect([values.size, values.has(`${label}="other"`)]).toEqual([bound + 1, true]);
    expect(text).toContain(`gateway_metrics_capped_total{label="${label}"} ${600 - bound}`);
  }
  expect(metrics.cappedLabels).toEqual(['model', 'code']);
});

test('a caller that was silent for two days goes, and another has its room', () => {
  let now = 0;
  const metrics = createMetrics({ version: '0', startedAt: 0, mostCallers: 2, now: () => now });
  const keys = () => {
    const { samples } = readScrape(textOf(metrics)).get('gateway_caller_requests_total')!;
    return samples.map(({ labels, value }) => [labels.api_key, value]);
  };
  const call = (apiKey: string | null) => metrics.closed({ ...observation, apiKey });
  call('silent');
  call('steady');
  call('late');
  metrics.closed({ ...observation, workspace: null });
  expect(keys()).toEqual([
    ['silent', 1],
    ['steady', 1],
    ['other', 1],
  ]);
  for (const day of [1, 2]) {
    now = day * 86_400_000;
    keys();
    call('steady');
  }
  call('late');
  expect(keys()).toEqual([
    ['steady', 3],
    ['late', 1],
    ['other', 1],
  ]);
});

test('a counter that does not end in _total, a gauge that does, and a name that is taken are refused', () => {
  const metrics = create();
  expect(() => metrics.gauge('gateway_some_total', 'Some.', () => 0)).toThrow('is a gauge');
  expect(() => metrics.counter('gateway_some' as `${string}_total`, 'Some.')).toThrow('is a counter');
  expect(() => metrics.counter('gateway_requests_total', 'Again.')).toThrow('exists already');
});

test('OpenMetrics is for scrapers that name it and do not like plain text better', () => {
  const prometheus =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1';
  const formats: Record<string, Format> = {
    [prometheus]: 'openmetrics',
    'application/openmetrics-text': 'openmetrics',
    'Application/OpenMetrics-Text; Version=1.0.0; q=0.5, text/plain; q=0.5': 'openmetrics',
    'application/openmetrics-text; q=0.2, text/plain': 'text',
    'application/openmetrics-text; q=0': 'text',
    'application/openmetrics-text; version=2.0.0': 'text',
    'application/openmetrics-text; q=x': 'text',
    '*/*': 'text',
    'application/json': 'text',
    ',;,=': 'text',
  };
  for (const [accept, format] of Object.entries(formats)) expect([accept, formatOf(accept)]).toEqual([accept, format]);
  expect(formatOf(null)).toBe('text');
});
