import { expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { eventually } from '../../test/telemetry/log-rows.ts';
import type { LogRow } from './log-columns.ts';
import type { LogEntry } from './log-entry.ts';
import type { LogWorkerPort, OutgoingBatch } from './log-port.ts';
import { createMetrics } from './metrics/metrics.ts';
import { render } from './metrics/render.ts';
import { unpack } from './packed-bodies.ts';
import type { LogBodies } from './record.ts';
import { createRequestLog } from './request-log.ts';

/** The port without its thread: what would have been posted, taken apart again. */
function startLog({ enabled = true, capBytes = 100_000, queuedBytes = 0, queuedRecords = 0 } = {}) {
  const rows: LogRow[] = [];
  const bodies: (LogBodies | null)[] = [];
  const batches: OutgoingBatch[] = [];
  let time = 1_000;
  const worker: LogWorkerPort = {
    queuedRecords,
    queuedBytes,
    send: (batch) => {
      batches.push(batch);
      rows.push(...batch.rows);
      bodies.push(...takeApart(batch));
    },
    addSpan: () => {},
    list: async () => '{}',
    read: async () => null,
    sessions: async () => '{}',
    session: async () => '[]',
    analyse: async () => '{}',
    erase: async () => 0,
    recount: async () => ({ countedFrom: null, oldest: null }),
    pack: async () => null,
    shipped: async () => {},
    flush: async () => {},
    close: async () => {},
  };
  const metrics = createMetrics({ version: '0', startedAt: 0, mostCallers: 0 });
  const log = createRequestLog({ worker, metrics, now: () => time, bodies: { enabled, capBytes } });
  let made = 0;
  const open = (path = '/v1/chat/completions'): LogEntry =>
    log.open({
      id: `id-${++made}`,
      traceId: 'trace',
      method: 'POST',
      path,
      route: '/v1/*',
      clientAddress: '127.0.0.1',
      startedAt: 1_700_000_000_000,
      startedMono: time,
    });
  const pass = (ms: number) => {
    time += ms;
  };
  return { log, open, rows, bodies, batches, metrics, pass };
}

function takeApart({ parts, slab, moved }: OutgoingBatch): (LogBodies | null)[] {
  let at = 0;
  let next = 0;
  return parts.map((sizes) => {
    if (!sizes) return null;
    const pieces = sizes.map((size) => {
      if (size < 0) return new Uint8Array(moved[next++]!);
      at += size;
      return new Uint8Array(slab!, at - size, size);
    });
    return unpack(Buffer.concat(pieces));
  });
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const answer =
  '{"model":"gpt-4o-2024-08-06","usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}}';

test('an entry becomes a record with usage, cost, times and bodies', async () => {
  const { log, open, rows, bodies, pass } = startLog();
  const entry = open('/v1/chat/completions?key=hidden');
  entry.organisationId = 'org';
  entry.workspaceId = 'workspace';
  entry.provider = 'openai';
  entry.model = 'gpt-4o';
  entry.metadata = { team: 'blue' };
  entry.keepBodies = true;
  entry.requestHeaders = { authorization: 'Bearer hidden', 'content-type': 'application/json' };
  entry.responseHeaders = { 'content-type': 'application/json' };
  entry.captureRequest().add(bytesOf('{"messages":[]}'));
  pass(12.5);
  entry.firstByte();
  pass(100);
  entry.firstByte();
  entry.captureResponse().add(bytesOf(answer));
  entry.close({ status: 200 });
  await log.flush();
  expect(rows).toEqual([
    {
      id: 'id-1',
      trace_id: 'trace',
      created_at: 1_700_000_000_000,
      organisation_id: 'org',
      workspace_id: 'workspace',
      api_key_id: null,
      user_id: null,
      virtual_key: null,
      provider: 'openai',
      model: 'gpt-4o',
      method: 'POST',
      path: '/v1/chat/completions?key=[redacted]',
      status: 200,
      failed_by: null,
      error_code: null,
      is_stream: false,
      request_bytes: 15,
      response_bytes: answer.length,
      first_byte_ms: 12.5,
      duration_ms: 112.5,
      input_tokens: 1000,
      output_tokens: 100,
      total_tokens: 1100,
      cached_tokens: null,
      reasoning_tokens: null,
      cost: (1000 * 2.5 + 100 * 10) / 1e6,
      client_address: '127.0.0.1',
      metadata: '{"team":"blue"}',
      hook_results: null,
      session_id: null,
      attempt_count: 0,
      attempts: null,
    },
  ]);
  expect(bodies[0]).toMatchObject({
    request_headers: { authorization: '[redacted]', 'content-type': 'application/json' },
    request_truncated: false,
  });
  expect(Buffer.from(bodies[0]!.response_body!).toString()).toBe(answer);
});

test('only the first close counts', async () => {
  const { log, open, rows, metrics } = startLog();
  const entry = open();
  entry.close({ status: 200 });
  entry.close({ status: 499, failedBy: 'client', errorCode: 'client_closed' });
  await log.flush();
  expect(rows.map(({ status }) => status)).toEqual([200]);
  expect(render(metrics.snapshot(), 'text')).toContain('gateway_open_requests 0');
});

test('a refused call is logged without a caller, a provider or bodies', async () => {
  const { log, open, rows, bodies } = startLog();
  const entry = open();
  entry.captureRequest().add(bytesOf('{"key":"hidden"}'));
  entry.close({ status: 401, failedBy: 'gateway', errorCode: 'invalid_api_key' });
  await log.flush();
  expect(rows[0]).toMatchObject({
    status: 401,
    failed_by: 'gateway',
    error_code: 'invalid_api_key',
    workspace_id: null,
  });
  expect(bodies[0]).toBeNull();
});

test('an encoded answer is decoded before its usage is read, and flush waits for that', async () => {
  const { log, open, rows } = startLog();
  const entry = open();
  entry.provider = 'openai';
  entry.responseHeaders = { 'content-encoding': 'gzip', 'content-type': 'application/json' };
  entry.captureResponse().add(gzipSync(answer));
  entry.close({ status: 200 });
  await log.flush();
  expect(rows[0]).toMatchObject({ input_tokens: 1000, model: 'gpt-4o-2024-08-06' });
});

test('an entry does not wait for guardrails that look on the side; what they find makes it be sent again', async () => {
  const { log, open, rows, batches } = startLog();
  const looking = Promise.withResolvers<void>();
  const entry = open();
  entry.awaits(looking.promise);
  entry.close({ status: 200 });
  await eventually(() => expect(batches.length).toBe(1));
  expect(rows).toMatchObject([{ status: 200, hook_results: null }]);
  entry.hookResults = { before_request_hooks: [{ verdict: false }] };
  looking.resolve();
  await log.flush();
  expect(rows[1]).toEqual({ ...rows[0]!, hook_results: JSON.stringify(entry.hookResults) });
});

test('guardrails that have found something before the entry was sent make one entry of it', async () => {
  const { log, open, rows } = startLog();
  const entry = open();
  entry.awaits(
    Promise.resolve().then(() => {
      entry.hookResults = { before_request_hooks: [] };
    }),
  );
  entry.close({ status: 200 });
  await log.flush();
  expect(rows).toMatchObject([{ hook_results: '{"before_request_hooks":[]}' }]);
});

test('without bodies the usage of a long answer is still known', async () => {
  const { log, open, rows, bodies } = startLog({ enabled: false });
  const entry = open();
  entry.keepBodies = true;
  entry.isStream = true;
  entry.responseHeaders = { 'content-type': 'text/event-stream' };
  for (let index = 0; index < 3_000; index++)
    entry.captureResponse().add(bytesOf('data: {"choices":[{"delta":{}}]}\n\n'));
  entry.captureResponse().add(bytesOf(`data: ${answer}\n\ndata: [DONE]\n\n`));
  entry.close({ status: 200 });
  await log.flush();
  expect(rows[0]).toMatchObject({ output_tokens: 100, is_stream: true });
  expect(bodies[0]).toBeNull();
});

test('large buffers are moved only when they are whole, alone and free', async () => {
  const { log, open, batches, bodies } = startLog({ capBytes: 10_000_000 });
  const whole = new Uint8Array(100_000).fill(1);
  const view = new Uint8Array(200_000).fill(2).subarray(0, 100_000);
  const used = new Uint8Array(100_000).fill(3);
  const entry = open();
  entry.keepBodies = true;
  const request = entry.captureRequest();
  request.transferable = true;
  request.add(bytesOf('small'));
  request.add(whole);
  request.add(view);
  request.add(whole);
  entry.captureResponse().add(used);
  entry.close({ status: 200 });
  await log.flush();
  expect(batches[0]!.moved).toEqual([whole.buffer]);
  const expected = Buffer.concat([Buffer.from('small'), whole, view, whole]);
  expect(Buffer.from(bodies[0]!.request_body!).equals(expected)).toBe(true);
  expect(Buffer.from(bodies[0]!.response_body!).equals(used)).toBe(true);
});

test('256 records are sent at once, fewer after a moment', async () => {
  const { open, batches } = startLog();
  for (let index = 0; index < 300; index++) open().close({ status: 200 });
  expect(batches.map(({ rows }) => rows.length)).toEqual([256]);
  await eventually(() => expect(batches.map(({ rows }) => rows.length)).toEqual([256, 44]));
});

test('a writer that falls behind costs bodies first, then records, and both are counted', async () => {
  const slow = startLog({ queuedBytes: 64 * 1024 * 1024 });
  const entry = slow.open();
  entry.keepBodies = true;
  entry.captureRequest().add(bytesOf('x'));
  entry.close({ status: 200 });
  await slow.log.flush();
  expect(slow.bodies).toEqual([null]);
  expect(render(slow.metrics.snapshot(), 'text')).toContain('gateway_log_bodies_dropped_total 1');

  const stuck = startLog({ queuedRecords: 100_000 });
  stuck.open().close({ status: 200 });
  await stuck.log.flush();
  expect(stuck.rows).toEqual([]);
  expect(render(stuck.metrics.snapshot(), 'text')).toContain('gateway_log_records_total{result="dropped"} 1');
});
