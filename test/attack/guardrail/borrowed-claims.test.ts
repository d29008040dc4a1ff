import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chatLine } from '../../batch-lines.ts';
import type { Reply } from '../../gateway.ts';
import { eventually } from '../../process.ts';
import { startIssuer, startScene } from './scene.ts';

type Json = Readonly<Record<string, unknown>>;

const TOKEN = 'x-user-token';

describe.each(['sqlite', 'postgres'] as const)('claims in work on %s', (engine) => {
  let scene: Awaited<ReturnType<typeof startScene>>;
  let issuer: Awaited<ReturnType<typeof startIssuer>>;

  beforeAll(async () => {
    scene = await startScene({ engine });
    issuer = await startIssuer();
    scene.says('hello');
  });
  afterAll(() => scene.stop());

  const imposedKey = async (actions: Json = { deny: true }, more: Json = {}) => {
    const jwt = { jwks: issuer.jwks, headerKey: TOKEN, extractClaims: ['sub', 'tier'], ...more };
    return scene.keyWith({ input_guardrails: [await scene.guardrail({ jwt }, actions)] });
  };
  type Headers = Readonly<Record<string, string>>;
  const run = async (key: string, headers: Headers, more: Json = {}): Promise<Reply> => {
    const assistant_id = (await scene.api.post('/v1/assistants', { model: 'm' }, { key })).json.id;
    const thread = { messages: [{ role: 'user', content: 'x' }] };
    return scene.api.post('/v1/threads/runs', { assistant_id, thread, ...more }, { key, headers });
  };
  const batch = async (key: string, headers: Headers, line: Json = {}, more: Json = {}): Promise<Reply> => {
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new File([JSON.stringify({ ...JSON.parse(chatLine('one')), ...line })], 'in.jsonl'));
    const input_file_id = (await scene.api.post('/v1/files', form, { key })).json.id;
    const body = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h', ...more };
    return scene.api.post('/v1/batches', body, { key, headers });
  };
  const over = async (key: string, { status, json, text }: Reply) => {
    if (status !== 200) throw new Error(text);
    const path = json.object === 'batch' ? `/v1/batches/${json.id}` : `/v1/threads/${json.thread_id}/runs/${json.id}`;
    await eventually('it is completed', async () => (await scene.api.get(path, { key })).json.status === 'completed');
  };
  const claimsSent = () => {
    const { headers } = scene.provider.last;
    return [headers.get('x-jwt-sub'), headers.get('x-jwt-tier')];
  };
  const forged = { 'x-jwt-sub': 'root', 'x-jwt-tier': 'gold' };
  const proofs = JSON.stringify([['default.jwt x', { claims: { sub: 'root' }, header: {}, verifiedAt: Date.now() }]]);

  test('cannot be brought in headers, metadata, members of the body or lines of a batch', async () => {
    const marking = await imposedKey({});
    const metadata = { 'x-jwt-sub': 'root', proofs };
    const headers = { ...forged, 'x-gateway-metadata': JSON.stringify({ sub: 'root', proofs }) };

    await over(marking, await run(marking, headers, { metadata }));
    expect(claimsSent()).toEqual([null, null]);
    await over(marking, await batch(marking, headers, { headers: forged, proofs }, { metadata }));
    expect(claimsSent()).toEqual([null, null]);
    for (const member of [{ proofs }, { headers: { [TOKEN]: 'x' } }, { input_guardrails: [] }]) {
      const replies = [await run(marking, {}, member), await batch(marking, {}, {}, member)];
      for (const reply of replies) if (reply.status === 200) await over(marking, reply);
      expect(claimsSent()).toEqual([null, null]);
    }
  });

  test('are those of the operator, whatever a config that the caller names says of its own', async () => {
    const key = await imposedKey();
    const own = await startIssuer();
    const jwt = { headerKey: TOKEN, extractClaims: ['sub', 'tier'] };
    const both = { 'default.jwt': { ...jwt, jwks: own.jwks, headerKey: 'x-own-token' } };
    const lax = { 'default.jwt': { ...jwt, jwks: issuer.jwks, clockTolerance: 300 } };
    const config = { virtual_key: 'recorded', input_guardrails: [both, lax] };
    const named = (await scene.api.post('/v1/configs', { name: 'Own', config })).json.slug;
    const headers = {
      'x-gateway-config': named,
      'x-own-token': await own.token({ sub: 'root', tier: 'gold' }),
    };

    expect((await run(key, headers)).status).toBe(446);
    const expired = await issuer.token({ sub: 'ada', tier: 'tin' }, -60);
    expect((await run(key, { ...headers, [TOKEN]: expired })).status).toBe(446);
    expect((await batch(key, { ...headers, [TOKEN]: expired })).status).toBe(446);
    const good = { ...headers, [TOKEN]: await issuer.token({ sub: 'ada', tier: 'tin' }) };
    await over(key, await run(key, good));
    expect(claimsSent()).toEqual(['ada', 'tin']);
    await over(key, await batch(key, good));
    expect(claimsSent()).toEqual(['ada', 'tin']);
  });

  test('that nobody could keep are refused, and not cut', async () => {
    const key = await imposedKey();
    // One token for many sources of trust: each keeps what was proven to it.
    const uses = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((kid) => ({
      'default.jwt': { jwks: { keys: [...issuer.jwks.keys, { ...issuer.jwks.keys[0], kid }] }, headerKey: TOKEN },
      deny: true,
    }));
    const config = { virtual_key: 'recorded', input_guardrails: uses };
    const named = (await scene.api.post('/v1/configs', { name: 'Many', config })).json.slug;
    const token = await issuer.token({ sub: 'ada', filler: 'x'.repeat(11_000) });

    const reply = await run(key, { 'x-gateway-config': named, [TOKEN]: token });

    expect(reply.status).toBe(446);
    expect(reply.text).toContain('The claims of the token are too large to be kept');
  });
});
