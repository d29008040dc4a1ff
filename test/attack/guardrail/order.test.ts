import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { startRecorder } from '../../recorder.ts';
import { type Scene, saidIn, startIssuer, startScene } from './scene.ts';

/** A caller whose inline config brings checks that undo, follow or overhear what the operator imposes. */
let scene: Scene;
const listener = startRecorder();

beforeAll(async () => {
  scene = await startScene();
});
afterAll(async () => {
  await scene.stop();
  listener.stop();
});
beforeEach(() => {
  scene.provider.requests.length = 0;
  listener.requests.length = 0;
  listener.answers(() => Response.json({ verdict: true }));
  scene.says('Fine.');
});

describe('a request', () => {
  test('that the operator has redacted is not put back by a check of the caller', async () => {
    const slug = await scene.guardrail({ regexReplace: { rule: 'walrus', redactText: '[gone]' } });
    const key = await scene.keyWith({ input_guardrails: [slug] });
    const back = { 'default.regexReplace': { rule: '\\[gone\\]', redactText: 'walrus' } };

    for (const side of ['input_guardrails', 'before_request_hooks']) {
      const reply = await scene.chat(key, { [side]: [back] }, 'about the walrus');
      expect(reply.status).toBe(200);
      expect(scene.provider.last.json.messages[0].content).toBe('about the [gone]');
    }
  });

  test('is judged after everything that a check of the caller adds to it', async () => {
    const slug = await scene.guardrail({ contains: { words: ['walrus'], operator: 'none' } }, { deny: true });
    const key = await scene.keyWith({ input_guardrails: [slug] });
    listener.answers(() =>
      Response.json({
        verdict: true,
        transformedData: { request: { json: { model: 'm', messages: [{ role: 'user', content: 'the walrus' }] } } },
      }),
    );

    for (const check of [
      { 'default.addPrefix': { prefix: 'the walrus: ' } },
      { 'default.regexReplace': { rule: 'seal', redactText: 'walrus' } },
      { 'default.webhook': { webhookURL: `${listener.origin}/` } },
    ]) {
      expect((await scene.chat(key, { input_guardrails: [check] }, 'about the seal')).status).toBe(446);
    }
    expect(scene.provider.requests.length).toBe(0);
  });

  test("keeps the operator's list of models, whatever model a check of the caller writes into it", async () => {
    const slug = await scene.guardrail({ modelWhitelist: { models: ['small'] } }, { deny: true });
    const key = await scene.keyWith({ input_guardrails: [slug] });
    const messages = [{ role: 'user', content: 'x' }];
    listener.answers(() =>
      Response.json({ verdict: true, transformedData: { request: { json: { model: 'large', messages } } } }),
    );
    const hook = { 'default.webhook': { webhookURL: `${listener.origin}/` } };

    expect((await scene.chat(key, { input_guardrails: [hook] }, { model: 'small', messages })).status).toBe(446);
    expect(scene.provider.requests.length).toBe(0);
  });

  test('carries the claims that the operator proved, not those of a token that the caller signed', async () => {
    const [operator, caller] = await Promise.all([startIssuer(), startIssuer()]);
    const claims = { extractClaims: ['sub', 'groups'] };
    const slug = await scene.guardrail(
      { jwt: { jwks: operator.jwks, headerKey: 'x-user-token', ...claims } },
      { deny: true },
    );
    const key = await scene.keyWith({ input_guardrails: [slug] });
    const own = { 'default.jwt': { jwks: caller.jwks, headerKey: 'x-own-token', ...claims } };
    const headers = {
      'x-user-token': await operator.token({ sub: 'ada' }),
      'x-own-token': await caller.token({ sub: 'root', groups: 'admin' }),
    };

    const reply = await scene.chat(key, { input_guardrails: [own] }, 'x', headers);

    expect(reply.status).toBe(200);
    const { headers: sent } = scene.provider.last;
    expect([sent.get('x-jwt-sub'), sent.get('x-jwt-groups')]).toEqual(['ada', null]);
  });

  test("cannot take the operator's claims away by naming their headers as its connection's own", async () => {
    const operator = await startIssuer();
    const slug = await scene.guardrail(
      { jwt: { jwks: operator.jwks, headerKey: 'x-user-token', extractClaims: ['sub'] } },
      { deny: true },
    );
    const key = await scene.keyWith({ input_guardrails: [slug] });
    const token = await operator.token({ sub: 'ada' });
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] });
    const lines = [
      'POST /v1/chat/completions HTTP/1.1',
      'host: gateway',
      'connection: x-jwt-sub, close',
      `x-gateway-api-key: ${key}`,
      `x-user-token: ${token}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ];

    expect(await rawly(scene.gateway.url, `${lines.join('\r\n')}\r\n\r\n${body}`)).toContain('200');
    expect(scene.provider.last.headers.get('x-jwt-sub')).toBe('ada');
  });
});

describe('an answer', () => {
  const MAIL = 'write to alice@example.com today';

  test('has lost what the operator takes out, also where a check of the caller hides it first', async () => {
    scene.says(MAIL);
    const hide = { 'default.regexReplace': { rule: '@', redactText: ' AT ' }, stream: 'window' };
    for (const stream of ['buffer', 'window']) {
      const slug = await scene.guardrail({ pii: { categories: ['EMAIL_ADDRESS'], redact: true } }, { stream });
      const key = await scene.keyWith({ output_guardrails: [slug] });
      const messages = [{ role: 'user', content: 'x' }];

      const whole = await scene.chat(key, { output_guardrails: [hide] }, { messages });
      expect(whole.json.choices[0].message.content).toBe('write to {{EMAIL_ADDRESS_1}} today');
      const streamed = await scene.chat(key, { output_guardrails: [hide] }, { messages, stream: true });
      expect(saidIn(streamed.text)).toBe('write to {{EMAIL_ADDRESS_1}} today');
    }
  });

  test('is judged again when a check of the caller has changed it', async () => {
    scene.says('about the seal');
    const slug = await scene.guardrail({ contains: { words: ['walrus'], operator: 'none' } }, { deny: true });
    const key = await scene.keyWith({ output_guardrails: [slug] });
    const change = { 'default.regexReplace': { rule: 'seal', redactText: 'walrus' } };

    expect((await scene.chat(key, { output_guardrails: [change] }, 'x')).status).toBe(446);
  });

  test("is heard by a server of the caller's as it may leave, and not before", async () => {
    scene.says(MAIL);
    for (const stream of ['buffer', 'window']) {
      const redact = await scene.guardrail({ pii: { categories: ['EMAIL_ADDRESS'], redact: true } }, { stream });
      const key = await scene.keyWith({ output_guardrails: [redact] });
      const own = [
        { 'default.log': { logURL: `${listener.origin}/log` } },
        { 'default.webhook': { webhookURL: `${listener.origin}/hook` }, async: true },
      ];
      for (const isStream of [false, true]) {
        listener.requests.length = 0;
        const messages = [{ role: 'user', content: 'x' }];
        await scene.chat(key, { output_guardrails: own }, { messages, stream: isStream });
        await until(() => listener.requests.length === 2);
        for (const { text } of listener.requests) expect(text).not.toContain('alice@example.com');
        for (const { text } of listener.requests) expect(text).toContain('EMAIL_ADDRESS_1');
      }
    }
  });

  test("does not tell a server of the caller's what the operator put before the request", async () => {
    const slug = await scene.guardrail({ addPrefix: { prefix: 'SECRET RULES. ', applyToRole: 'system' } });
    const key = await scene.keyWith({ input_guardrails: [slug] });
    const own = { 'default.webhook': { webhookURL: `${listener.origin}/hook` } };

    expect((await scene.chat(key, { output_guardrails: [own] }, 'x')).status).toBe(200);

    expect(scene.provider.last.text).toContain('SECRET RULES');
    expect(listener.last.text).not.toContain('SECRET RULES');
  });
});

test('a guardrail that is imposed and named by the caller looks once, and last', async () => {
  const slug = await scene.guardrail({ webhook: { webhookURL: `${listener.origin}/` } });
  const key = await scene.keyWith({ input_guardrails: [slug] });
  const change = { 'default.regexReplace': { rule: 'seal', redactText: 'walrus' } };

  expect((await scene.chat(key, { input_guardrails: [slug, change] }, 'the seal')).status).toBe(200);

  expect(listener.requests.length).toBe(1);
  expect(listener.last.text).toContain('the walrus');
});

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`limits (${engine})`, () => {
    let limited: Scene;
    beforeAll(async () => {
      limited = await startScene({ engine });
      limited.says('Fine.');
    });
    afterAll(() => limited.stop());

    test('a call that a guardrail denies is no request; one that finds its limit used up asks no guardrail', async () => {
      const words = await limited.guardrail({ contains: { words: ['walrus'], operator: 'none' } }, { deny: true });
      const hook = await limited.guardrail({ webhook: { webhookURL: `${listener.origin}/` } });
      const key = await limited.keyWith(
        { input_guardrails: [words, hook] },
        { rate_limits: [{ type: 'requests', unit: 'rpd', value: 1 }] },
      );

      expect((await limited.chat(key, null, 'the walrus')).status).toBe(446);
      expect((await limited.chat(key, null, 'the seal')).status).toBe(200);
      listener.requests.length = 0;
      expect((await limited.chat(key, null, 'the seal')).status).toBe(429);
      expect((await limited.chat(key, null, 'the walrus')).status).toBe(429);
      expect(listener.requests.length).toBe(0);
      expect(limited.provider.requests.length).toBe(1);
    });

    test('what a check of the caller adds counts: limits hold what goes out', async () => {
      const key = await limited.keyWith({}, { rate_limits: [{ type: 'tokens', unit: 'rpd', value: 5_000 }] });
      const grow = { 'default.regexReplace': { rule: 'x', redactText: 'word '.repeat(200) } };
      const before = limited.provider.requests.length;
      const body = { max_tokens: 5, messages: [{ role: 'user', content: 'x'.repeat(500) }] };

      expect((await limited.chat(key, { input_guardrails: [grow] }, body)).status).toBe(429);
      expect(limited.provider.requests.length).toBe(before);
      expect((await limited.chat(key, null, body)).status).toBe(200);
    });
  });
}

async function until(isTrue: () => boolean) {
  while (!isTrue()) await Bun.sleep(10);
}

/** Answers the first line of what comes back. */
async function rawly(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = '';
  await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: (socket) => void socket.write(request),
      data: (_socket, piece) => {
        received += piece.toString();
        if (received.includes('\r\n')) resolve(received.split('\r\n')[0]!);
      },
      close: () => resolve(received),
    },
  });
  return promise;
}
