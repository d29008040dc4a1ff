import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import * as anthropic from '@anthropic-ai/sdk';
import { ApiError } from '@google/genai';
import * as openai from 'openai';
import { startGateway, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';
import { anthropicClient, googleClient, openaiClient } from '../sdk-clients.ts';

/** Errors come in the envelope of the API that was called, each with the gateway's own code. */
let gateway: TestGateway;
const provider = startRecorder();
/** Keys by what happens to their calls. */
const keys: Record<string, string> = {};

beforeAll(async () => {
  gateway = await startGateway();
  const { given } = gateway;
  await given.virtualKey({ slug: 'claude', provider: 'anthropic', custom_host: `${provider.origin}/v1` });
  await given.virtualKey({ slug: 'gpt', custom_host: `${provider.origin}/v1` });
  const limited = { rate_limits: [{ type: 'requests', unit: 'rpm', value: 1 }] };
  const made: Record<string, Record<string, unknown>> = {
    good: { defaults: { virtual_key: 'claude' } },
    translated: { defaults: { virtual_key: 'gpt' } },
    lost: { defaults: { virtual_key: 'nobody' } },
    limited: { defaults: { virtual_key: 'claude' }, ...limited },
    poor: { scopes: ['models.list'] },
  };
  for (const [name, body] of Object.entries(made)) keys[name] = (await given.apiKey(body)).key;
  keys.wrong = 'gw-wrong';
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
});

const MESSAGES = [{ role: 'user' as const, content: 'Hello' }];
const thrown = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

describe("Anthropic's client", () => {
  const ask = (key: string) =>
    thrown(anthropicClient(gateway.url, keys[key]!).messages.create({ model: 'm', max_tokens: 5, messages: MESSAGES }));

  test.each([
    ['wrong', anthropic.AuthenticationError, 'authentication_error', 'invalid_api_key', 'does not know the key'],
    ['poor', anthropic.PermissionDeniedError, 'permission_error', 'insufficient_scope', 'completions.write'],
    ['lost', anthropic.BadRequestError, 'invalid_request_error', 'unknown_virtual_key', 'There is no virtual key'],
  ] as const)('with a key that is %s raises its own class', async (key, kind, type, code, message) => {
    const error = (await ask(key)) as InstanceType<typeof anthropic.APIError>;
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ type, error: { type: 'error', error: { type, code } } });
    expect(error.message).toContain(message);
    expect((error.error as { request_id: string }).request_id).toBe(error.headers!.get('x-gateway-request-id')!);
  });

  test('counts as limited when a limit is used up', async () => {
    provider.answers(() => Response.json({ type: 'message', content: [] }));
    await ask('limited');
    const error = await ask('limited');
    expect(error).toBeInstanceOf(anthropic.RateLimitError);
    expect(error).toMatchObject({ type: 'rate_limit_error', error: { error: { code: 'rate_limited' } } });
  });

  test("sees what a provider of another format refused, in its own words and with the provider's code", async () => {
    const refused = { error: { message: 'Slow down.', type: 'requests', code: 'rate_limit_exceeded' } };
    provider.answers(() => Response.json(refused, { status: 429 }));
    const error = await ask('translated');
    expect(error).toBeInstanceOf(anthropic.RateLimitError);
    expect(error).toMatchObject({ error: { error: { message: 'Slow down.', code: 'rate_limit_exceeded' } } });
  });

  test.each(['anthropic', 'openai'])('hears of a stream that breaks off (%s)', async (name) => {
    const slug = `cut-${name}`;
    await gateway.given.virtualKey({ slug, provider: name });
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: slug } });
    const messages = [{ role: 'user' as const, content: '[[simulate: cut=after:2]]' }];
    const stream = anthropicClient(gateway.url, key).messages.stream({ model: 'm', max_tokens: 5, messages });
    const error = (await thrown(stream.finalMessage())) as InstanceType<typeof anthropic.APIError>;
    expect(error.message).toContain('broke off');
    expect(error).toMatchObject({ error: { type: 'error', error: { type: 'api_error', code: 'stream_broken' } } });
  });

  test('reads the same envelope wherever it calls, and on paths of its API that are passed on', async () => {
    const client = anthropicClient(gateway.url, 'gw-wrong');
    for (const ask of [
      () => client.models.list(),
      () => client.messages.countTokens({ model: 'm', messages: MESSAGES }),
      () => client.messages.batches.list(),
    ])
      expect(await thrown(ask())).toMatchObject({ type: 'authentication_error', error: { type: 'error' } });
    const plain = await gateway.api.post('/v1/messages/batches', {}, { key: null });
    expect(plain.json).toMatchObject({
      type: 'error',
      error: { type: 'authentication_error', code: 'missing_api_key' },
    });
  });
});

test("OpenAI's client raises its own class", async () => {
  const ask = (key: string) =>
    thrown(openaiClient(gateway.url, keys[key]!).chat.completions.create({ model: 'm', messages: MESSAGES }));
  for (const [key, kind, code] of [
    ['wrong', openai.AuthenticationError, 'invalid_api_key'],
    ['poor', openai.PermissionDeniedError, 'insufficient_scope'],
    ['lost', openai.BadRequestError, 'unknown_virtual_key'],
  ] as const) {
    const error = await ask(key);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ code });
  }
  await ask('limited');
  expect(await ask('limited')).toBeInstanceOf(openai.RateLimitError);
});

test("Google's client reads Google's envelope, with our code in the details", async () => {
  const google = googleClient(gateway.url, 'gw-wrong');
  const error = (await thrown(google.models.generateContent({ model: 'm', contents: 'Hello' }))) as ApiError;
  expect(error).toBeInstanceOf(ApiError);
  expect(error.status).toBe(401);
  expect(JSON.parse(error.message).error).toMatchObject({
    code: 401,
    status: 'UNAUTHENTICATED',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'invalid_api_key', domain: 'gateway' }],
  });
});

test('a key that is missing and one that is wrong read differently', async () => {
  const missing = await gateway.api.get('/v1/models', { key: null });
  const wrong = await gateway.api.get('/v1/models', { key: 'gw-wrong' });
  expect([missing.status, missing.json.error.code]).toEqual([401, 'missing_api_key']);
  expect([wrong.status, wrong.json.error.code]).toEqual([401, 'invalid_api_key']);
  expect(missing.json.error.message).toStartWith('No gateway key was sent.');
  expect(wrong.json.error.message).toContain('does not know the key');
});

test('a path of ours that leads nowhere says how the provider is reached', async () => {
  const reply = await gateway.api.get('/v1/virtual-keys/a/b');
  expect([reply.status, reply.json.error.code]).toEqual([404, 'route_not_found']);
  expect(reply.json.error.message).toContain('/v1/proxy/virtual-keys/a/b reaches the provider');
});

test('what guardrails deny keeps its verdict in every envelope', async () => {
  const check = { 'default.contains': { words: ['Hello'], operator: 'none' }, deny: true };
  const config = JSON.stringify({ virtual_key: 'claude', input_guardrails: [check] });
  const { status, json } = await gateway.api.post(
    '/v1/messages',
    { model: 'm', max_tokens: 5, messages: MESSAGES },
    { headers: { 'x-gateway-config': config } },
  );
  expect([status, json.type, json.error.type, json.error.code]).toEqual([
    446,
    'error',
    'permission_error',
    'guardrail_denied',
  ]);
  expect(json.hook_results.before_request_hooks[0].verdict).toBe(false);
});
