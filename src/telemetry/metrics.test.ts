import { expect, test } from 'bun:test';
import { createMetrics, type Observation } from './metrics.ts';

const observation: Observation = {
  route: '/v1/*',
  method: 'POST',
  status: 200,
  provider: 'openai',
  model: 'gpt-4o',
  durationMs: 30,
  firstByteMs: 4,
  usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2 },
  cost: 0.25,
};

const create = () => createMetrics({ version: '1.2.3', startedAt: 5_000 });

test('a finished request shows in counters, histograms, tokens and cost', () => {
  const metrics = create();
  metrics.opened();
  metrics.opened();
  metrics.ended();
  metrics.closed(observation);
  const lines = metrics.render().split('\n');
  for (const line of [
    'gateway_requests_total{route="/v1/*",method="POST",status="200",provider="openai"} 1',
    'gateway_request_duration_seconds_bucket{provider="openai",le="0.025"} 0',
    'gateway_request_duration_seconds_bucket{provider="openai",le="0.05"} 1',
    'gateway_request_duration_seconds_bucket{provider="openai",le="+Inf"} 1',
    'gateway_request_duration_seconds_sum{provider="openai"} 0.03',
    'gateway_request_duration_seconds_count{provider="openai"} 1',
    'gateway_first_byte_seconds_bucket{provider="openai",le="0.005"} 1',
    'gateway_tokens_total{provider="openai",model="gpt-4o",kind="input"} 10',
    'gateway_tokens_total{provider="openai",model="gpt-4o",kind="cached_input"} 2',
    'gateway_cost_usd_total{provider="openai"} 0.25',
    'gateway_open_requests 1',
    'gateway_log_records_total{result="dropped"} 0',
    'gateway_log_bodies_dropped_total 0',
    'process_start_time_seconds 5',
    'gateway_build_info{version="1.2.3"} 1',
  ]) {
    expect(lines).toContain(line);
  }
});

test('every line is one a scraper understands, whatever clients send', () => {
  const metrics = create();
  metrics.opened();
  metrics.closed({ ...observation, model: 'a "b" \\ c\nd', method: 'BREW' });
  metrics.gauge('gateway_test', 'A test.', () => 3);
  for (const line of metrics.render().trimEnd().split('\n')) {
    expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="(\\.|[^"\\])*",?)*\})? [\d.e+-]+)$/);
  }
  expect(metrics.render()).toContain('method="OTHER"');
});

test('clients cannot grow the model label beyond its bound', () => {
  const metrics = create();
  for (let index = 0; index < 1_000; index++) metrics.closed({ ...observation, model: `model-${index}` });
  const models = new Set(metrics.render().match(/model="[^"]*"/g));
  expect(models.size).toBe(201);
  expect(models).toContain('model="other"');
});
