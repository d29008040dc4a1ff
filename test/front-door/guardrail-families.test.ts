import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ENDPOINTS } from '../../src/core/endpoints.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { families } from '../guardrails/families.ts';

/** What is denied, and a word beside it that only the two ends may ever see. */
const DENIED = 'please take this forbidden moonshine-4711 along';
const FINE = 'please take this along';
const SEEN_BY_NOBODY = 'moonshine-4711';
const guard = { id: 'words', deny: true, 'default.contains': { words: ['forbidden'], operator: 'none' } };

let gateway: TestGateway;
let received: string[] = [];
let respond: () => Response = () => Response.json({});
const provider = serve(async (request) => {
  received.push(await request.text());
  return respond();
});

beforeAll(async () => {
  gateway = await startGateway();
  for (const name of ['openai', 'anthropic', 'modal'])
    await gateway.given.virtualKey({ name, slug: name, provider: name, custom_host: `${provider.origin}/v1` });
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
});

const call = async (family: (typeof families)[number], text: string, stream: boolean, config: object) => {
  received = [];
  const { body, headers = {} } = family.request(text, stream);
  const given = JSON.stringify({ virtual_key: family.provider, ...config });
  return gateway.api.call('POST', family.path, { body, headers: { ...headers, 'x-gateway-config': given } });
};

/** Each format has its own envelope. */
function denialFor(path: string) {
  if (path.startsWith('/v1/messages')) return { type: 'permission_error', code: 'guardrail_denied' };
  if (/:\w*(?:Content|Contents)(?:\?|$)/.test(path)) return { code: 446, details: [{ reason: 'guardrail_denied' }] };
  return { type: 'hooks_failed', code: 'guardrail_denied', param: null };
}

for (const family of families) {
  for (const stream of family.streams ? [false, true] : [false]) {
    describe(`${family.name}${stream ? ', streamed' : ''}`, () => {
      test('what is fine passes both ways', async () => {
        respond = () => family.answer?.(FINE, stream) ?? Response.json({ data: [{ embedding: [1] }] });
        const reply = await call(family, FINE, stream, { input_guardrails: [guard] });

        expect([reply.status, received.length]).toEqual([200, 1]);
      });

      if (!family.isMute)
        test('a denied request does not reach the provider', async () => {
          respond = () => Response.json({});
          const reply = await call(family, DENIED, stream, { input_guardrails: [guard] });

          expect(reply.status).toBe(446);
          expect(received).toEqual([]);
          expect(reply.text).not.toContain(SEEN_BY_NOBODY);
          expect(reply.json.error).toMatchObject(denialFor(family.path));
          expect(reply.json.hook_results).toMatchObject({
            before_request_hooks: [
              { id: 'words', verdict: false, deny: true, checks: [{ id: 'default.contains', verdict: false }] },
            ],
            after_request_hooks: [],
          });
        });

      const { answer } = family;
      if (!answer) return;
      test('a denied answer does not reach the client', async () => {
        respond = () => answer(DENIED, stream);
        const reply = await call(family, FINE, stream, { output_guardrails: [guard] });

        expect([reply.status, received.length]).toEqual([446, 1]);
        expect(reply.text).not.toContain(SEEN_BY_NOBODY);
        expect(reply.text).not.toContain('4711');
        expect(reply.json.hook_results.after_request_hooks[0]).toMatchObject({ id: 'words', verdict: false });
      });

      test('an answer that fails without being denied is marked', async () => {
        respond = () => answer(DENIED, stream);
        const reply = await call(family, FINE, stream, { output_guardrails: [{ ...guard, deny: false }] });

        if (stream || /streamed as events/.test(family.name)) expect(reply.status).toBe(200);
        else expect(reply.status).toBe(246);
        if (
          reply.json &&
          !Array.isArray(reply.json) &&
          family.name !== 'pass-through, JSON that says it is something else'
        )
          expect(reply.json.hook_results.after_request_hooks[0]).toMatchObject({ verdict: false, deny: false });
      });

      if (family.name === 'speech') return;
      test('what is blacked out is nowhere in the answer', async () => {
        respond = () => answer(DENIED, stream);
        const redact = { 'default.regexReplace': { rule: 'moonshine-\\d+', redactText: '[GONE]' } };
        const reply = await call(family, FINE, stream, { output_guardrails: [redact] });

        expect(reply.status).toBe(200);
        expect(reply.text).not.toContain('4711');
        expect(reply.text).toContain('[GONE]');
      });
    });
  }
}

test('every endpoint that means the same on all providers is among the families', () => {
  const walked = new Set(families.map(({ path }) => path));

  expect([...ENDPOINTS.keys()].map((path) => `/v1${path}`).filter((path) => !walked.has(path))).toEqual([]);
});
