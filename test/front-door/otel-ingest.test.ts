import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { LogsRequest, MetricsRequest, TraceRequest, TraceResponse } from '../collector.ts';
import { startGateway, type TestGateway } from '../gateway.ts';

const TRACE = Buffer.from('4bf92f3577b34da6a3ce929d0e0e4736', 'hex');
const SPAN = Buffer.from('00f067aa0ba902b7', 'hex');
const NOW = BigInt(Date.now()) * 1_000_000n;
const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

const span = (more: object = {}) => ({
  traceId: TRACE,
  spanId: SPAN,
  name: 'claude_code.interaction',
  kind: 1,
  startTimeUnixNano: String(NOW),
  endTimeUnixNano: String(NOW + 1_500_000n),
  attributes: [text('session.id', 'session-1'), text('prompt', 'say nothing'), text('api_key', 'sk-1')],
  ...more,
});
const traces = (spans: object[], resource: object[] = [text('service.name', 'claude-code')]) => ({
  resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ spans }] }],
});
const bytesOf = (type: typeof TraceRequest, value: object): Uint8Array => type.encode(type.fromObject(value)).finish();
const PROTO = { 'content-type': 'application/x-protobuf' };

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`OTLP of clients on ${engine}`, () => {
    let gateway: TestGateway;
    let workspace: { id: string };
    let key: string;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      workspace = await gateway.given.workspace({ name: 'Agents' });
      ({ key } = await gateway.given.apiKey({ workspace_id: workspace.id }));
    });
    afterAll(() => gateway.stop());
    const send = (
      path: string,
      body: Uint8Array | object,
      headers: Record<string, string> = PROTO,
      given: string | null = key,
    ) =>
      fetch(`${gateway.url}/v1/otel/v1/${path}`, {
        method: 'POST',
        headers: { ...(given && { authorization: `Bearer ${given}` }), ...headers },
        body: (body instanceof Uint8Array ? body : JSON.stringify(body)) as RequestInit['body'],
      });
    const spansOf = async (session: string, query = '') =>
      (await gateway.api.get(`/v1/log-sessions/${session}/spans?workspace_id=${workspace.id}${query}`)).json;

    test('spans, log records and metrics are kept with their session, however they are packed', async () => {
      const zipped = gzipSync(bytesOf(TraceRequest, traces([span()])));
      const reply = await send('traces', zipped, { ...PROTO, 'content-encoding': 'gzip' });
      expect([reply.status, reply.headers.get('content-type'), (await reply.arrayBuffer()).byteLength]).toEqual([
        200,
        'application/x-protobuf',
        0,
      ]);
      const again = { ...span(), traceId: TRACE.toString('hex'), spanId: SPAN.toString('hex') };
      const json = await send('traces', traces([again]), { 'content-type': 'application/json' });
      expect(await json.json()).toEqual({});
      const record = {
        timeUnixNano: String(NOW + 5_000_000n),
        severityNumber: 9,
        body: { stringValue: 'claude_code.tool_result' },
        attributes: [text('session.id', 'session-1')],
      };
      await send('logs', bytesOf(LogsRequest, { resourceLogs: [{ scopeLogs: [{ logRecords: [record, record] }] }] }));
      const point = {
        timeUnixNano: String(NOW + 6_000_000n),
        asInt: 42,
        attributes: [text('session.id', 'session-1'), text('type', 'input')],
      };
      await send(
        'metrics',
        bytesOf(MetricsRequest, {
          resourceMetrics: [
            {
              scopeMetrics: [
                { metrics: [{ name: 'claude_code.token.usage', unit: 'tokens', sum: { dataPoints: [point] } }] },
              ],
            },
          ],
        }),
      );

      const { data, has_more } = await spansOf('session-1');
      expect(has_more).toBe(false);
      expect(data.map(({ signal, name }: { signal: string; name: string }) => [signal, name])).toEqual([
        ['span', 'claude_code.interaction'],
        ['log', 'claude_code.tool_result'],
        ['metric', 'claude_code.token.usage'],
      ]);
      expect(data[0]).toMatchObject({
        trace_id: TRACE.toString('hex'),
        span_id: SPAN.toString('hex'),
        parent_span_id: null,
        kind: 'internal',
        service: 'claude-code',
        duration_ms: 1.5,
        attributes: { prompt: 'say nothing', api_key: '[redacted]' },
      });
      expect(data[2].attributes).toMatchObject({ value: 42, unit: 'tokens', type: 'input' });
      const first = await spansOf('session-1', '&limit=2');
      const rest = await spansOf('session-1', `&limit=2&after=${first.next_cursor}`);
      expect([...first.data, ...rest.data]).toEqual(data);
      // Another workspace has a session of its own, or none.
      const elsewhere = await gateway.api.get('/v1/log-sessions/session-1/spans');
      expect([elsewhere.status, elsewhere.json.error.code]).toEqual([404, 'log_session_not_found']);
    });

    test('what cannot be stored is refused by itself, with the reason', async () => {
      const bad = [
        span({ spanId: Buffer.alloc(8) }),
        span({ traceId: SPAN }),
        span({ name: '' }),
        span({ startTimeUnixNano: '0' }),
      ];
      const good = span({
        spanId: Buffer.from('00000000000000aa', 'hex'),
        attributes: [text('session.id', 'session-2')],
      });
      const reply = await send('traces', bytesOf(TraceRequest, traces([...bad, good])));
      expect(reply.status).toBe(200);
      const { partialSuccess } = TraceResponse.toObject(
        TraceResponse.decode(new Uint8Array(await reply.arrayBuffer())),
        { longs: String },
      );
      expect(partialSuccess.rejectedSpans).toBe('4');
      expect(partialSuccess.errorMessage).toContain('a span id that is not 8 bytes');
      expect((await spansOf('session-2')).data).toHaveLength(1);
      const large = span({
        spanId: Buffer.from('00000000000000bb', 'hex'),
        attributes: [text('session.id', 'session-2'), text('x', 'a'.repeat(40_000))],
      });
      const shortened = await send(
        'traces',
        { ...traces([{ ...large, traceId: TRACE.toString('hex'), spanId: '00000000000000bb' }]) },
        { 'content-type': 'application/json' },
      );
      expect(await shortened.json()).toEqual({
        partialSuccess: { rejectedSpans: '0', errorMessage: '1 shortened: attributes may have 32768 bytes' },
      });
    });

    test('nonsense, bombs and strangers are refused, and never with 500', async () => {
      const code = async (reply: Response) => [
        reply.status,
        ((await reply.json()) as { error?: { code?: string } }).error?.code,
      ];
      expect(await code(await send('traces', new Uint8Array([0x0a, 0xff])))).toEqual([400, 'invalid_request']);
      expect(await code(await send('logs', new Uint8Array([0x07])))).toEqual([400, 'invalid_request']);
      expect(await code(await send('traces', {}, { 'content-type': 'application/json' }))).toEqual([
        400,
        'invalid_request',
      ]);
      expect(await code(await send('traces', new Uint8Array([1]), { 'content-type': 'text/plain' }))).toEqual([
        415,
        'unsupported_media_type',
      ]);
      expect(await code(await send('traces', new Uint8Array([1]), { ...PROTO, 'content-encoding': 'br' }))).toEqual([
        400,
        'invalid_header',
      ]);
      expect(await code(await send('traces', new Uint8Array([1]), { ...PROTO, 'content-encoding': 'gzip' }))).toEqual([
        400,
        'invalid_request',
      ]);
      const bomb = gzipSync(Buffer.alloc(64 << 20));
      expect(await code(await send('metrics', bomb, { ...PROTO, 'content-encoding': 'gzip' }))).toEqual([
        413,
        'body_too_large',
      ]);
      expect(await code(await send('traces', new Uint8Array(), PROTO, null))).toEqual([401, 'missing_api_key']);
      const { key: narrow } = await gateway.given.apiKey({ workspace_id: workspace.id, scopes: ['completions.write'] });
      expect(await code(await send('traces', new Uint8Array(), PROTO, narrow))).toEqual([403, 'insufficient_scope']);
      let value: object = { stringValue: 'x' };
      for (let depth = 0; depth < 30; depth++) value = { arrayValue: { values: [value] } };
      expect(
        await code(
          await send('traces', bytesOf(TraceRequest, traces([span({ attributes: [{ key: 'deep', value }] })]))),
        ),
      ).toEqual([400, 'invalid_request']);
    });

    test('a deleted workspace takes them along', async () => {
      const doomed = await gateway.given.workspace({ name: 'Doomed' });
      const { key: own } = await gateway.given.apiKey({ workspace_id: doomed.id });
      await send('traces', bytesOf(TraceRequest, traces([span()])), PROTO, own);
      await gateway.api.delete(`/v1/admin/workspaces/${doomed.id}`);
      for (let tries = 0; ; tries++) {
        const { json } = await gateway.api.get(`/v1/admin/workspaces/${doomed.id}/deletion`);
        const removed = json.removed.find(({ area }: { area: string }) => area === 'spans of clients');
        if (removed.rows === 1) break;
        if (tries > 200) throw new Error(JSON.stringify(json));
        await Bun.sleep(50);
      }
    });
  });
}

test('where bodies are not logged, what was said is not kept either', async () => {
  const gateway = await startGateway({ environment: { GATEWAY_LOG_BODIES: 'false' } });
  const { key } = await gateway.given.apiKey();
  const reply = await gateway.api.post('/v1/otel/v1/traces', bytesOf(TraceRequest, traces([span()])), {
    key,
    headers: PROTO,
  });
  expect(reply.status).toBe(200);
  const { data } = (await gateway.api.get('/v1/log-sessions/session-1/spans')).json;
  expect(data[0].attributes).toEqual({ 'session.id': 'session-1', api_key: '[redacted]' });
  await gateway.stop();
});
