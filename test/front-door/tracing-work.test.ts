import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { clientFor, conversation } from '../assistants/client.ts';
import { ATLAS, storeWith } from '../assistants/file-stories.ts';
import { KINDS, type ReadSpan, startCollector } from '../collector.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { message, startRecorder, toolCall } from '../mcp/recorder.ts';
import { eventually } from '../process.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const collector = startCollector();
let gateway: TestGateway;
let openai: OpenAI;

beforeAll(async () => {
  gateway = await startGateway({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin, OTEL_BSP_SCHEDULE_DELAY: '10' },
  });
  ({ openai } = await clientFor(gateway));
});
afterAll(async () => {
  await gateway.stop();
  collector.stop();
});

/** The spans of a trace, once one of them is there and no more come: those of calls travel with the log. */
async function traceWith(traceId: string, name: string): Promise<ReadSpan[]> {
  const found = () => collector.spans.filter((span) => span.traceId === traceId);
  await eventually(`${name} in ${traceId}`, () => found().some((span) => span.name.startsWith(name)));
  for (let count = 0; count < found().length; await Bun.sleep(1_000)) count = found().length;
  return found();
}

const context = (traceId: string) => ({ headers: { traceparent: `00-${traceId}-${PARENT}-01` } });

describe('a run', () => {
  test('is a span below the request that began it, over its model calls, its tools and the search in them', async () => {
    const { store } = await storeWith(openai, { 'atlas.txt': ATLAS });
    const { thread_id, assistant_id } = await conversation(openai, {
      assistant: {
        tools: [{ type: 'file_search' }],
        tool_resources: { file_search: { vector_store_ids: [store.id] } },
      },
      said: 'call file_search {"queries":["capital of Atlantis"]}',
    });
    const traceId = 'a'.repeat(32);
    const run = await openai.beta.threads.runs.create(thread_id, { assistant_id }, context(traceId));
    await eventually('the run', async () => {
      const { status } = await openai.beta.threads.runs.retrieve(run.id, { thread_id });
      return status === 'completed';
    });
    const spans = await traceWith(traceId, 'invoke_agent');
    const one = (name: string) => spans.find((span) => span.name.startsWith(name))!;
    const [begun, agent, tool, retrieval] = [
      'POST /v1/threads/:thread_id/runs',
      'invoke_agent',
      'execute_tool file_search',
      'retrieval',
    ].map(one) as [ReadSpan, ReadSpan, ReadSpan, ReadSpan];
    expect(begun.parentSpanId).toBe(PARENT);
    expect(agent.parentSpanId).toBe(begun.spanId);
    expect(agent.kind).toBe(KINDS.internal);
    expect(agent.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.id': assistant_id,
      'gen_ai.conversation.id': thread_id,
      'gateway.run.status': 'completed',
    });
    expect(Object.keys(agent.attributes).filter((name) => name.includes('usage'))).toEqual([]);
    expect(tool.parentSpanId).toBe(agent.spanId);
    expect(tool.attributes).toMatchObject({ 'gen_ai.tool.name': 'file_search', 'gen_ai.tool.type': 'datastore' });
    expect(retrieval.parentSpanId).toBe(tool.spanId);
    expect(retrieval.attributes).toMatchObject({ 'gen_ai.data_source.id': store.id });
    const calls = spans.filter(({ name }) => name === 'POST /v1/chat/completions');
    expect(calls.map(({ kind, parentSpanId }) => [kind, parentSpanId])).toEqual(
      Array(2).fill([KINDS.internal, agent.spanId]),
    );
    const asked = spans.filter(({ kind }) => kind === KINDS.client);
    expect(asked.map(({ parentSpanId }) => parentSpanId).sort()).toEqual(calls.map(({ spanId }) => spanId).sort());
    for (const { attributes } of asked) expect(attributes['gen_ai.usage.output_tokens']).toBeNumber();
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain('Atlantis');
  });

  test('that is cancelled while it waits for its client ends with its span', async () => {
    const traceId = 'b'.repeat(32);
    const tools = [{ type: 'function' as const, function: { name: 'get_time' } }];
    const { thread_id, assistant_id } = await conversation(openai, { assistant: { tools }, said: 'call get_time' });
    const run = await openai.beta.threads.runs.create(thread_id, { assistant_id }, context(traceId));
    await eventually('the question', async () => {
      const { status } = await openai.beta.threads.runs.retrieve(run.id, { thread_id });
      return status === 'requires_action';
    });
    await openai.beta.threads.runs.cancel(run.id, { thread_id });
    const agent = (await traceWith(traceId, 'invoke_agent')).find(({ name }) => name.startsWith('invoke_agent'))!;
    expect(agent.attributes['gateway.run.status']).toBe('cancelled');
    expect(agent.isError).toBe(false);
  });

  test('a search by request is a span below it', async () => {
    const { store } = await storeWith(openai, { 'atlas.txt': ATLAS });
    const traceId = 'c'.repeat(32);
    await openai.vectorStores.search(store.id, { query: 'Atlantis' }, context(traceId));
    const spans = await traceWith(traceId, 'POST ');
    const [server, retrieval] = ['POST ', 'retrieval '].map(
      (name) => spans.find((span) => span.name.startsWith(name))!,
    );
    expect(retrieval!.parentSpanId).toBe(server!.spanId);
    expect(retrieval!.attributes).toMatchObject({ 'gen_ai.operation.name': 'retrieval', 'gateway.retrieval.found': 1 });
  });
});

describe('MCP', () => {
  const server = startRecorder(({ body }) => {
    const { id, params } = JSON.parse(body);
    const isError = params?.name === 'broken';
    if (params?.name === 'unknown')
      return Response.json({ jsonrpc: '2.0', id, error: { code: -32602, message: 'no' } });
    return Response.json({ jsonrpc: '2.0', id, result: { content: [], ...(isError && { isError }) } });
  });
  beforeAll(async () => {
    await gateway.api.post('/v1/mcp-servers', { name: 'tools', slug: 'tools', url: server.url });
  });
  afterAll(() => server.stop());
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    gateway.api.post('/tools/mcp', body, { headers });

  test('the context of the message is the parent, that of the request a link, and the server gets one of its own', async () => {
    const inMessage = 'd'.repeat(32);
    const given = toolCall('echo') as { params: object };
    const sent = {
      ...given,
      params: {
        _meta: { progressToken: 7, traceparent: `00-${inMessage}-${PARENT}-01`, tracestate: 'a=1' },
        ...given.params,
      },
    };
    const reply = await send(sent, { traceparent: `00-${TRACE}-${PARENT.replace('0', '1')}-01` });
    expect(reply.status).toBe(200);
    const spans = await traceWith(inMessage, 'tools/call echo');
    const [own, upstream] = [
      spans.find(({ kind }) => kind === KINDS.server)!,
      spans.find(({ kind }) => kind === KINDS.client)!,
    ];
    expect(own).toMatchObject({
      name: 'tools/call echo',
      parentSpanId: PARENT,
      links: [{ traceId: TRACE, spanId: PARENT.replace('0', '1') }],
    });
    expect(upstream).toMatchObject({ name: 'tools/call echo', parentSpanId: own.spanId });
    expect(upstream.attributes).toMatchObject({
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'echo',
      'gateway.mcp.server': 'tools',
      'server.address': '127.0.0.1',
    });
    const told = `00-${inMessage}-${upstream.spanId}-01`;
    expect(server.last.headers.traceparent).toBe(told);
    expect(JSON.parse(server.last.body).params._meta).toEqual({
      traceparent: told,
      tracestate: 'a=1',
      progressToken: 7,
    });
    expect({ ...JSON.parse(server.last.body), params: null }).toEqual({ ...sent, params: null });
  });

  test('errors of the protocol and of a tool show', async () => {
    for (const [tool, error] of [
      ['unknown', '-32602'],
      ['broken', 'tool_error'],
    ] as const) {
      const traceId = (tool === 'broken' ? 'e' : 'f').repeat(32);
      await send(toolCall(tool), { traceparent: `00-${traceId}-${PARENT}-01` });
      const spans = await traceWith(traceId, `tools/call ${tool}`);
      for (const span of spans) expect([span.isError, span.attributes['error.type']]).toEqual([true, error]);
      expect(spans).toHaveLength(2);
    }
  });

  test('a message with two contexts, or with none to put one into, goes as it came', async () => {
    for (const body of [
      '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{},"_meta":{}}}',
    ]) {
      await send(body, { 'content-type': 'application/json' });
      expect(server.last.body).toBe(body);
      expect(server.last.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{12}0001-01$/);
    }
    await send(message('tools/list', {}));
    expect(JSON.parse(server.last.body).params._meta.traceparent).toBe(server.last.headers.traceparent!);
  });
});
