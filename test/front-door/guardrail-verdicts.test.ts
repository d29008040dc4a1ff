import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { exportJWK, SignJWT } from 'jose';
import { type Reply, serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

let gateway: TestGateway;
let received: { path: string; body: string; headers: Headers }[] = [];
let answers: (() => Response | Promise<Response>)[] = [];
const said =
  (content: string, rest: object = {}) =>
  () =>
    Response.json({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content, ...rest }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 },
    });
const provider = serve(async (request) => {
  const { pathname } = new URL(request.url);
  received.push({ path: pathname, body: await request.text(), headers: request.headers });
  return (answers.length > 1 ? answers.shift()! : answers[0]!)();
});

beforeAll(async () => {
  gateway = await startGateway();
  for (const [slug, name] of [
    ['up', 'openai'],
    ['claude', 'anthropic'],
  ] as const)
    await gateway.given.virtualKey({ name: slug, slug, provider: name, custom_host: `${provider.origin}/v1` });
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
});
beforeEach(() => {
  received = [];
  answers = [said('fine')];
});

const words = (rest: object = {}) => ({ 'default.contains': { words: ['forbidden'], operator: 'none' }, ...rest });
const user = (content: unknown) => [{ role: 'user', content }];
interface Options {
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly path?: string;
}
const chat = (config: object, body: unknown = {}, { key, headers = {}, path = '/v1/chat/completions' }: Options = {}) =>
  gateway.api.call('POST', path, {
    ...(key && { key }),
    headers: {
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({ virtual_key: 'up', ...config }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify({ model: 'm', messages: user('Hi'), ...(body as object) }),
  });

test('every text of a request is seen, wherever it stands and however it is written', async () => {
  const hidden: [string, unknown][] = [
    ['an earlier message', { messages: [...user('forbidden'), ...user('and then')] }],
    ['the system prompt', { messages: [{ role: 'system', content: 'forbidden' }, ...user('x')] }],
    [
      'a part of a message',
      {
        messages: user([
          { type: 'text', text: 'x' },
          { type: 'text', text: 'forbidden' },
        ]),
      },
    ],
    [
      'the arguments of a tool call',
      {
        messages: [
          ...user('x'),
          {
            role: 'assistant',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"q":"forbidden"}' } }],
          },
          { role: 'tool', tool_call_id: 'a', content: 'y' },
        ],
      },
    ],
    ['the result of a tool', { messages: [...user('x'), { role: 'tool', tool_call_id: 'a', content: 'forbidden' }] }],
    ['the description of a tool', { tools: [{ type: 'function', function: { name: 'f', description: 'forbidden' } }] }],
    ['a member that nobody knows', { prediction_of_tomorrow: { content: ['forbidden'] } }],
    ['escapes', '{"model":"m","messages":[{"role":"user","content":"\\u0066orbidden"}]}'],
    ['a name that is escaped', '{"model":"m","m\\u0065ssages":[{"role":"user","content":"forbidden"}]}'],
  ];
  for (const [where, body] of hidden) {
    const reply = await chat({ input_guardrails: [words({ deny: true })] }, body);
    expect([where, reply.status]).toEqual([where, 446]);
  }
  expect(received).toEqual([]);
});

test('a body that two programs could read in two ways is refused where guardrails look', async () => {
  const bodies = [
    '{"model":"m","messages":[{"role":"user","content":"forbidden"}],"messages":[]}',
    '{"model":"m","messages":[{"role":"user","content":"forbidden","content":"x"}]}',
    '{"model":"m","messages":[{"role":"user","content":"forbidden"}]',
  ];
  for (const body of bodies) {
    const reply = await chat({ input_guardrails: [words()] }, body);
    expect([body, reply.status, reply.json.error.param]).toEqual([body, 400, 'body']);
  }
  const packed = Bun.gzipSync(JSON.stringify({ model: 'm', messages: user('forbidden') }));
  const encoded = await gateway.api.call('POST', '/v1/chat/completions', {
    body: packed,
    headers: {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'x-gateway-config': JSON.stringify({ virtual_key: 'up', input_guardrails: [words()] }),
    },
  });
  expect([encoded.status, encoded.json.error.param]).toEqual([400, 'content-encoding']);
  expect(received).toEqual([]);
});

test('what a config adds to a request is judged, too, since the caller may have written the config', async () => {
  const config = { input_guardrails: [words({ deny: true })] };

  const reply = await chat({ ...config, override_params: { messages: user('forbidden') } });

  expect([reply.status, received.length]).toEqual([446, 0]);
});

test('text that is given as tokens cannot be judged and does not pass', async () => {
  const reply = await chat(
    { input_guardrails: [words({ deny: true })] },
    JSON.stringify({ model: 'm', prompt: [1, 2, 3] }),
    { path: '/v1/completions' },
  );

  expect(reply.status).toBe(446);
  expect(reply.json.hook_results.before_request_hooks[0].checks[0].error.message).toContain('tokens');
  expect(received).toEqual([]);
});

test('what is blacked out in a request leaves every other byte as it was', async () => {
  const body =
    '{ "model":"m", "seed": 12345678901234567890, "messages":[ {"role":"user","content":"Mail ada@example.com, \\u00e9"},' +
    '{"role":"user","content":"x"} ] }';

  const reply = await chat({ input_guardrails: [{ 'default.pii': { redact: true } }] }, body);

  expect(reply.status).toBe(200);
  expect(received[0]!.body).toBe(body.replace('"Mail ada@example.com, \\u00e9"', '"Mail {{EMAIL_ADDRESS_1}}, é"'));
});

test('two checks that black out the same text both do', async () => {
  const guard = {
    'default.pii': { redact: true },
    'default.secrets': { redact: true },
    'default.regexReplace': { rule: 'Bob', redactText: 'X' },
  };

  await chat(
    { input_guardrails: [guard] },
    { messages: user('Bob: ada@example.com sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH') },
  );

  const sent = received[0]!.body;
  expect(sent).toContain('X: {{EMAIL_ADDRESS_1}}');
  expect(sent).not.toContain('ada@');
  expect(sent).not.toContain('sk-proj-abc');
});

test('a request that fails without being denied is sent, and its answer says so under 246', async () => {
  const guard = words({ id: 'soft', on_fail: { feedback: { value: -3, weight: 0.5, metadata: 'm' } } });

  const reply = await chat({ input_guardrails: [guard] }, { messages: user('forbidden') });

  expect([reply.status, received.length]).toEqual([246, 1]);
  expect(reply.json.choices[0].message.content).toBe('fine');
  const [result] = reply.json.hook_results.before_request_hooks;
  expect(result).toMatchObject({
    type: 'guardrail',
    id: 'soft',
    verdict: false,
    deny: false,
    async: false,
    transformed: false,
    feedback: { value: -3, weight: 0.5, metadata: { failedChecks: 'default.contains', successfulChecks: '' } },
  });
  expect(typeof result.execution_time).toBe('number');
  expect(Date.parse(result.created_at)).toBeGreaterThan(0);
  expect(result.checks[0]).toMatchObject({
    id: 'default.contains',
    verdict: false,
    error: null,
    transformed: false,
    log: null,
  });
  const entry = await gateway.logOf(reply);
  expect(entry.hook_results.before_request_hooks[0]).toMatchObject({ id: 'soft', feedback: { value: -3 } });
});

test('what passes comes byte for byte to strict clients, and with hook_results to others', async () => {
  const guards = { input_guardrails: [words()], output_guardrails: [words()] };

  const strict = await chat(guards);
  const loose = await chat(guards, {}, { headers: { 'x-gateway-strict-open-ai-compliance': 'false' } });

  expect(strict.text).toBe(await said('fine')().text());
  expect(loose.status).toBe(200);
  expect(loose.json.hook_results).toMatchObject({
    before_request_hooks: [{ verdict: true }],
    after_request_hooks: [{ verdict: true }],
  });
  expect((await gateway.logOf(loose)).hook_results).toEqual(loose.json.hook_results);
});

test('a check that is off does not look, and a guardrail without one says that it was skipped', async () => {
  const check = { id: 'default.contains', parameters: { words: ['forbidden'], operator: 'none' }, is_enabled: false };
  const headers = { 'x-gateway-strict-open-ai-compliance': 'false' };

  const reply = await chat(
    { input_guardrails: [{ checks: [check], deny: true }] },
    { messages: user('forbidden') },
    { headers },
  );

  expect(reply.status).toBe(200);
  expect(reply.json.hook_results.before_request_hooks[0]).toMatchObject({ verdict: null, skipped: true, checks: [] });
});

test('guardrails beside the call hold up neither it nor its entry, and what they found is added to the entry', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = serve(async () => {
    await promise;
    return Response.json({ verdict: false });
  });
  const guard = { id: 'aside', async: true, 'default.webhook': { webhookURL: `${slow.origin}/` } };

  const reply = await chat({ input_guardrails: [guard], output_guardrails: [{ ...guard, id: 'after' }] });
  expect(reply.status).toBe(200);
  expect(reply.json.hook_results).toBeUndefined();
  const early = await gateway.logOf(reply);
  expect(early).toMatchObject({ status: 200, hook_results: null });
  // Only now may the guardrails answer: neither the reply nor its entry waited for them.
  resolve();
  let late = early;
  await eventually('their verdicts are in the entry', async () => {
    late = await gateway.logOf(reply);
    return late.hook_results?.after_request_hooks.length === 1 && late.hook_results.before_request_hooks.length === 1;
  });
  expect(late).toMatchObject({
    ...early,
    attempts: [{ guardrails: [{ id: 'aside' }, { id: 'after' }] }],
    hook_results: {
      before_request_hooks: [{ id: 'aside', async: true, verdict: false }],
      after_request_hooks: [{ id: 'after', async: true, verdict: false }],
    },
  });
  slow.stop();
});

test('a check that cannot look does not let pass, unless it is told to', async () => {
  const away = { webhookURL: 'http://127.0.0.1:9/' };

  const closed = await chat({ input_guardrails: [{ deny: true, 'default.webhook': away }] });
  const open = await chat({ input_guardrails: [{ deny: true, 'default.webhook': { ...away, failOnError: false } }] });

  expect([closed.status, open.status, received.length]).toEqual([446, 200, 1]);
  expect(closed.json.hook_results.before_request_hooks[0].checks[0]).toMatchObject({
    verdict: false,
    fail_on_error: true,
    error: { message: expect.stringContaining('did not answer') },
  });
});

test('a webhook may put another body in the place of request and answer', async () => {
  const hook = serve(async (request) => {
    const {
      eventType,
      request: asked,
      response,
    } = (await request.json()) as Record<string, { json: Record<string, unknown> }>;
    return Response.json({
      verdict: true,
      transformedData:
        (eventType as unknown) === 'beforeRequestHook'
          ? { request: { json: { ...asked!.json, messages: user('changed') } } }
          : { response: { json: { ...response!.json, id: 'changed' } } },
    });
  });
  const guard = { 'default.webhook': { webhookURL: `${hook.origin}/` } };

  const reply = await chat({ input_guardrails: [guard], output_guardrails: [guard] });

  expect(JSON.parse(received[0]!.body).messages).toEqual(user('changed'));
  expect([reply.status, reply.json.id]).toEqual([200, 'changed']);
  hook.stop();
});

test('another target is asked after 446 or 246 only where the config lists them', async () => {
  const targets = [
    { virtual_key: 'up', output_guardrails: [words({ deny: true })] },
    { virtual_key: 'up', override_params: { model: 'second' } },
  ];
  const run = async (strategy: object, given: readonly object[] = targets): Promise<Reply> => {
    received = [];
    answers = [said('forbidden'), said('fine')];
    return gateway.api.post(
      '/v1/chat/completions',
      { model: 'm', messages: user('x') },
      {
        headers: {
          'x-gateway-config': JSON.stringify({ strategy: { mode: 'fallback', ...strategy }, targets: given }),
        },
      },
    );
  };

  const unlisted = await run({});
  expect([unlisted.status, received.length]).toEqual([446, 1]);
  const listed = await run({ on_status_codes: [446] });
  expect([listed.status, listed.json.choices[0].message.content, received.length]).toEqual([200, 'fine', 2]);
  expect(listed.headers.get('x-gateway-last-used-option-index')).toBe('config.targets[1]');
  const soft = [{ ...targets[0]!, output_guardrails: [words()] }, targets[1]!];
  expect((await run({}, soft)).status).toBe(246);
  expect((await run({ on_status_codes: [246] }, soft)).status).toBe(200);
  const denied = [
    {
      virtual_key: 'up',
      input_guardrails: [{ ...words({ deny: true }), 'default.contains': { words: ['x'], operator: 'none' } }],
    },
    targets[1]!,
  ];
  const afterInput = await run({ on_status_codes: [446] }, denied);
  expect([afterInput.status, received.length]).toEqual([200, 1]);
});

test('the same target is not asked again after 446 or 246: each answer is paid for', async () => {
  for (const status of [446, 246]) {
    answers = [said('forbidden'), said('fine')];
    const reply = await chat({
      retry: { attempts: 1, on_status_codes: [status] },
      output_guardrails: [words({ deny: true })],
    });
    expect([reply.status, reply.json.error.param, received.length]).toEqual([400, 'config.retry.on_status_codes', 0]);
  }
});

test('an answer that was denied has been paid for, and the log says what it took', async () => {
  answers = [said('forbidden')];

  const reply = await chat({ output_guardrails: [words({ deny: true })] });

  expect(reply.status).toBe(446);
  expect(reply.headers.get('x-gateway-error-origin')).toBe('gateway');
  const entry = await gateway.logOf(reply);
  expect(entry).toMatchObject({ status: 446, error_code: 'guardrail_denied', failed_by: 'gateway', total_tokens: 16 });
});

test('answers from the cache are judged each time, and one that was denied is not kept', async () => {
  const cache = { mode: 'simple' };
  const body = { messages: user('cached') };
  answers = [said('forbidden')];
  expect((await chat({ cache, output_guardrails: [words({ deny: true })] }, body)).status).toBe(446);
  const asked = await chat({ cache }, body);
  expect(asked.headers.get('x-gateway-cache-status')).toBe('MISS');

  const judged = await chat({ cache, output_guardrails: [words({ deny: true })] }, body);

  expect([judged.status, judged.headers.get('x-gateway-cache-status'), received.length]).toEqual([446, 'HIT', 2]);
});

test('an answer that comes packed is not taken for one that passes', async () => {
  const packed = Bun.gzipSync(await said('forbidden')().text());
  answers = [
    () => new Response(packed, { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } }),
  ];

  const reply = await chat({ output_guardrails: [words({ deny: true })] });

  expect(reply.status).toBe(446);
  expect(received[0]!.headers.get('accept-encoding')).toBe('identity');
});

test('probabilities do not tell what was blacked out', async () => {
  const logprobs = { content: [{ token: 'ada@example.com', logprob: 0, bytes: [97], top_logprobs: [] }] };
  answers = [
    () =>
      Response.json({
        choices: [
          { index: 0, message: { role: 'assistant', content: 'ada@example.com' }, logprobs, finish_reason: 'stop' },
        ],
      }),
  ];

  const reply = await chat({ output_guardrails: [{ 'default.pii': { redact: true } }] });

  expect(reply.text).not.toContain('ada@');
  expect(reply.json.choices[0]).toMatchObject({ message: { content: '{{EMAIL_ADDRESS_1}}' }, logprobs: null });
});

test('guardrails of organisation, workspace and key hold whatever config the caller sends', async () => {
  const { api, given } = gateway;
  const organisation = (await api.get('/v1/admin/organisation')).json.id;
  const stored = async (name: string, word: string, where: object) =>
    (
      await api.post('/v1/guardrails', {
        name,
        checks: [{ id: 'default.contains', parameters: { words: [word], operator: 'none' } }],
        actions: { deny: true },
        ...where,
      })
    ).json.slug;
  const workspace = await given.workspace({ name: 'Guarded' });
  await given.virtualKey({ name: 'up', slug: 'up', workspace_id: workspace.id, custom_host: `${provider.origin}/v1` });
  const ofAll = await stored('all', 'for-all', { organisation_id: organisation });
  const ofWorkspace = await stored('workspace', 'for-workspace', { workspace_id: workspace.id });
  const ofKey = await stored('key', 'for-key', { workspace_id: workspace.id });
  await api.put('/v1/admin/organisation/defaults', { input_guardrails: [ofAll] });
  await api.put(`/v1/admin/workspaces/${workspace.id}`, { defaults: { output_guardrails: [ofWorkspace] } });
  const { key } = await given.apiKey({ workspace_id: workspace.id, defaults: { input_guardrails: [ofKey] } });

  const by = async (text: string, answer = 'fine') => {
    answers = [said(answer)];
    const reply = await chat({ input_guardrails: [], output_guardrails: [] }, { messages: user(text) }, { key });
    return reply.status === 446 ? reply.json.error.message.match(/guardrail (\S+):/)[1] : reply.status;
  };
  try {
    expect(await by('harmless')).toBe(200);
    expect(await by('for-all')).toBe(ofAll);
    expect(await by('for-key')).toBe(ofKey);
    expect(await by('harmless', 'for-workspace')).toBe(ofWorkspace);
    // What a guardrail is changed to holds for the next call.
    await api.put(`/v1/guardrails/${ofKey}`, {
      checks: [{ id: 'default.contains', parameters: { words: ['harmless'], operator: 'none' } }],
    });
    expect(await by('harmless')).toBe(ofKey);
  } finally {
    await api.put('/v1/admin/organisation/defaults', { input_guardrails: [] });
  }
});

test('a guardrail that is named and not there stops the call', async () => {
  const unknown = await chat({ input_guardrails: ['nobody-knows-it'] });
  const faulty = await chat({ input_guardrails: [{ 'default.regexMatch': { rule: '(' } }] });
  const misplaced = await chat({ output_guardrails: [{ 'default.modelWhitelist': { models: ['m'] } }] });

  expect([unknown.status, unknown.json.error.code]).toEqual([400, 'unknown_guardrail']);
  expect([faulty.status, faulty.json.error.param]).toEqual([
    400,
    'config.input_guardrails[0].checks[0].parameters.rule',
  ]);
  expect([misplaced.status, misplaced.json.error.code]).toEqual([400, 'guardrail_misplaced']);
  expect(received).toEqual([]);
});

test('a token that a guardrail asks for decides, and its claims become headers', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256' }] };
  const token = await new SignJWT({ user_id: 'ada' })
    .setProtectedHeader({ alg: 'RS256', kid: 'k' })
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey);
  const guard = { deny: true, 'default.jwt': { jwks, headerKey: 'X-User-Token', extractClaims: ['user_id'] } };

  const without = await chat({ input_guardrails: [guard] });
  const wrong = await chat({ input_guardrails: [guard] }, {}, { headers: { 'x-user-token': `${token}x` } });
  const right = await chat(
    { input_guardrails: [guard] },
    {},
    { headers: { 'x-user-token': token, 'x-jwt-user-id': 'eve' } },
  );

  expect([without.status, wrong.status, right.status, received.length]).toEqual([446, 446, 200, 1]);
  expect(received[0]!.headers.get('x-jwt-user-id')).toBe('ada');
});

test('a model judges in the name of the caller and is not judged itself', async () => {
  answers = [said('{"verdict":"fail","reason":"it is about the moon"}')];
  const judge = { criteria: 'Nothing about the moon.', virtualKey: 'up', model: 'judge' };

  const reply = await chat(
    { input_guardrails: [{ deny: true, 'default.modelJudge': judge }] },
    { messages: user('The moon?') },
  );

  expect([reply.status, received.length]).toEqual([446, 1]);
  expect(JSON.parse(received[0]!.body).model).toBe('judge');
  expect(reply.text).not.toContain('it is about the moon');
  expect((await gateway.logOf(reply)).hook_results.before_request_hooks[0].checks[0].log).toEqual({
    reason: 'it is about the moon',
  });
});

test('a response that the gateway keeps is kept as it passed, or not at all', async () => {
  const message = (text: string) => () =>
    Response.json({
      ...{ id: 'msg', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', stop_sequence: null },
      content: [{ type: 'text', text }],
      usage: { input_tokens: 1, output_tokens: 1 },
    });
  const ask = (config: object) =>
    chat(
      { virtual_key: 'claude', ...config },
      JSON.stringify({ model: 'm', input: 'x', store: true, max_output_tokens: 9 }),
      {
        path: '/v1/responses',
      },
    );
  answers = [message('Mail ada@example.com')];

  const redacted = await ask({ output_guardrails: [{ 'default.pii': { redact: true } }] });

  expect(redacted.status).toBe(200);
  const kept = await gateway.api.get(`/v1/responses/${redacted.json.id}`);
  expect(kept.status).toBe(200);
  expect(kept.text).toContain('{{EMAIL_ADDRESS_1}}');
  expect(kept.text).not.toContain('ada@');
  answers = [message('forbidden')];
  const denied = await ask({ output_guardrails: [words({ deny: true })] });
  expect(denied.status).toBe(446);
});
