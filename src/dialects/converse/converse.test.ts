import { expect, test } from 'bun:test';
import { GatewayError } from '../../core/errors.ts';
import { anthropic } from '../anthropic/anthropic.ts';
import { FramingError } from '../framing-error.ts';
import type { ModelRequest, Part, TextPart, Tool, Turn } from '../ir.ts';
import { openaiChat } from '../openai-chat/openai-chat.ts';
import { converse } from './converse.ts';
import { vendorOf } from './models.ts';
import { CallIds, DocumentNames } from './names.ts';

const { outbound } = converse;
const CLAUDE = 'us.anthropic.claude-opus-4-8-v1:0';
const said = (text: string): TextPart => ({ type: 'text', text });
const turn = (role: Turn['role'], ...parts: Part[]): Turn => ({ role, parts });
const hi = turn('user', said('Hi'));
const used = [
  hi,
  turn('assistant', { type: 'tool-call', id: 'a', name: 'f', argsText: '{}' }),
  turn('tool', { type: 'tool-result', id: 'a', parts: [said('x')] }),
];
const tools: Tool[] = ['f', 'g'].map((name) => ({ type: 'function', name, cache: {} }));
const request = (turns: readonly Turn[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: CLAUDE,
  turns,
  ...more,
});
const losses = (given: ModelRequest) => {
  const { dropped, changed } = outbound.encodeRequest(given);
  return {
    dropped: dropped.map(({ path, matters }) => `${path}${matters ? '!' : ''}`),
    changed: changed.map(({ path }) => path),
  };
};

test('the name of a model tells its vendor, also in an ARN and behind a region', () => {
  expect(
    [
      'anthropic.claude-3-5-sonnet-20240620-v1:0',
      'us.anthropic.claude-opus-4-8',
      'arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.amazon.nova-pro-v1:0',
      'meta.llama3-3-70b-instruct-v1:0',
      'zai.glm-4.7',
      'openai.gpt-oss-120b-1:0',
      'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123',
      'claude-opus-5',
    ].map(vendorOf),
  ).toEqual(['anthropic', 'anthropic', 'amazon', 'other', 'other', 'openai', 'unknown', 'anthropic']);
});

test('cache points go only to models that take them, among tools only to those that take them there', () => {
  const given = (model: string) => request([turn('user', { ...said('Hi'), cache: {} })], { model, tools });
  expect(losses(given(CLAUDE)).dropped).toEqual([]);
  expect(losses(given('amazon.nova-pro-v1:0')).dropped).toEqual(['tools[0].cache', 'tools[1].cache']);
  expect(losses(given('meta.llama3-3-70b-instruct-v1:0')).dropped).toEqual([
    'turns[0].parts[0].cache',
    'tools[0].cache',
    'tools[1].cache',
  ]);
});

test('every choice of tools is said, as far as it can be', () => {
  const config = (toolChoice: ModelRequest['toolChoice'], turns: readonly Turn[] = [hi]) =>
    outbound.encodeRequest(
      request(turns, { tools: tools.map(({ cache, ...tool }: Tool & { cache?: object }) => tool as Tool), toolChoice }),
    ).body.toolConfig;
  const spec = (name: string) => ({ toolSpec: { name, inputSchema: { json: { type: 'object', properties: {} } } } });
  expect(config({ type: 'auto' })).toEqual({ tools: [spec('f'), spec('g')], toolChoice: { auto: {} } });
  expect(config({ type: 'required' })?.toolChoice).toEqual({ any: {} });
  expect(config({ type: 'tool', name: 'g' })?.toolChoice).toEqual({ tool: { name: 'g' } });
  expect(config({ type: 'allowed', mode: 'required', names: ['g'] })).toEqual({
    tools: [spec('g')],
    toolChoice: { any: {} },
  });
  expect(config({ type: 'none' })).toBeUndefined();
});

test('tools cannot be forbidden once they were used, and are declared again when the client does not', () => {
  expect(losses(request(used, { tools, toolChoice: { type: 'none' } })).dropped).toEqual(['toolChoice!']);
  expect(losses(request([hi], { tools, toolChoice: { type: 'none' } }))).toEqual({
    dropped: [],
    changed: ['toolChoice'],
  });
  expect(losses(request(used)).changed).toEqual(['tools']);
  expect(outbound.encodeRequest(request(used)).body.toolConfig?.tools).toHaveLength(1);
});

test('settings that each vendor has under a name of its own', () => {
  const fields = (model: string, more: Partial<ModelRequest>) =>
    outbound.encodeRequest(request([hi], { model, ...more })).body.additionalModelRequestFields;
  expect(fields(CLAUDE, { topK: 5 })).toEqual({ top_k: 5 });
  expect(fields('amazon.nova-pro-v1:0', { topK: 5 })).toEqual({ inferenceConfig: { topK: 5 } });
  expect(fields('cohere.command-r-v1:0', { topK: 5 })).toEqual({ k: 5 });
  expect(losses(request([hi], { model: 'meta.llama3-3-70b-instruct-v1:0', topK: 5 })).dropped).toEqual(['topK']);
  expect(fields('amazon.nova-2-lite-v1:0', { reasoning: { effort: 'max' } })).toEqual({
    reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' },
  });
  expect(fields('amazon.nova-2-lite-v1:0', { reasoning: { effort: 'none' } })).toEqual({
    reasoningConfig: { type: 'disabled' },
  });
  expect(fields('openai.gpt-oss-120b-1:0', { reasoning: { effort: 'minimal' } })).toEqual({ reasoning_effort: 'low' });
  expect(losses(request([hi], { model: 'deepseek.r1-v1:0', reasoning: { effort: 'low' } })).dropped).toEqual([
    'reasoning.effort',
  ]);
  expect(fields(CLAUDE, { reasoning: { mode: 'budget', budgetTokens: 2_048, display: 'omitted' } })).toEqual({
    thinking: { type: 'enabled', budget_tokens: 2_048, display: 'omitted' },
  });
});

test('what a client adds for Bedrock’s sake reaches it, beside what we add ourselves', () => {
  const chat = openaiChat.inbound.decodeRequest({
    model: CLAUDE,
    messages: [{ role: 'user', content: 'Hi' }],
    top_k: 5,
    stop: ['END'],
    guardrail_config: { guardrailIdentifier: 'g', guardrailVersion: '1' },
    additional_model_request_fields: { anthropic_beta: ['x'] },
    additional_model_response_field_paths: ['/usage'],
  });
  const { body, dropped } = outbound.encodeRequest(chat);
  expect(body).toEqual({
    messages: [{ role: 'user', content: [{ text: 'Hi' }] }],
    inferenceConfig: { stopSequences: ['END'] },
    guardrailConfig: { guardrailIdentifier: 'g', guardrailVersion: '1' },
    additionalModelRequestFields: { anthropic_beta: ['x'], top_k: 5 },
    additionalModelResponseFieldPaths: ['/usage', '/stop_sequence'],
  } as object as typeof body);
  expect(dropped).toEqual([]);
});

test('thoughts of Claude on Bedrock travel through a client of anthropic and come back', () => {
  const content = [
    { reasoningContent: { reasoningText: { text: 'Hm.', signature: 's' } } },
    { reasoningContent: { redactedContent: 'AAEC' } },
    { text: 'x' },
  ];
  const reply = outbound.decodeReply({ output: { message: { role: 'assistant', content } }, stopReason: 'end_turn' });
  const message = anthropic.inbound.encodeReply(reply, { request: { model: 'm' }, id: 'x', now: 0 }).body;
  const again = anthropic.inbound.decodeRequest({
    model: CLAUDE,
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: message.content },
    ],
  });
  expect(outbound.encodeRequest(again).body.messages[1]?.content).toEqual(content);
});

test('arguments that are no JSON object are the client’s fault, named by its own path', () => {
  const bad = openaiChat.inbound.decodeRequest({
    model: CLAUDE,
    messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{' } }] }],
  });
  let fault: unknown;
  try {
    outbound.encodeRequest(bad);
  } catch (error) {
    fault = error;
  }
  expect(fault).toBeInstanceOf(GatewayError);
  expect(fault).toMatchObject({ code: 'invalid_request', param: 'messages[0].tool_calls[0]' });
});

test('names and ids are made as Bedrock wants them, and stay apart', () => {
  const names = new DocumentNames();
  expect(['a/b.pdf', 'a b pdf', undefined, '言葉', ' x '].map((title) => names.nameFor(title))).toEqual([
    'a b pdf',
    'a b pdf (2)',
    'document',
    'document (2)',
    'x',
  ]);
  const ids = new CallIds();
  const long = 'x'.repeat(99);
  expect(['a.b', 'a_b', 'a:b', 'a.b', '言'].map((id) => ids.idFor(id))).toEqual(['a_b', 'a_b_2', 'a_b_3', 'a_b', '_']);
  expect(ids.idFor(long)).toHaveLength(58);
});

test('an answer that is none is a fault of the provider', () => {
  for (const body of [null, [], {}, { output: {} }, { output: { message: { content: 'x' } } }])
    expect(() => outbound.decodeReply(body)).toThrow(FramingError);
});

test('an error after the end is still an error, and events that are not known pass by', () => {
  const decoder = outbound.decodeStream();
  expect(decoder.push({ event: 'invented', data: '{}' })).toEqual([]);
  decoder.push({ event: 'messageStop', data: '{"stopReason":"end_turn"}' });
  expect(decoder.push({ event: 'exception/internalServerException', data: '{"message":"x"}' })).toMatchObject([
    { type: 'error', failure: { kind: 'server', status: 500, message: 'x', code: 'InternalServerException' } },
  ]);
  expect(decoder.end()).toEqual([]);
});

test('an exception without a body, or of an unknown kind, is an error too', () => {
  for (const data of ['', '{}', 'not json'])
    expect(outbound.decodeStream().push({ event: 'exception/unknown', data })).toMatchObject([
      { type: 'error', failure: { kind: 'server', status: 500 } },
    ]);
});
