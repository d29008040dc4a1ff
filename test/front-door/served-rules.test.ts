import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { startIssuer } from '../attack/guardrail/scene.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { ledgerOf } from '../ledger.ts';
import { givenBrowser } from '../people.ts';
import { eventually } from '../process.ts';

/** What holds for the calls by which the gateway serves tools: those of their caller, and of the operator. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into it
type Loose = any;
type Given = Readonly<Record<string, unknown>>;

const asked: { path: string; body: Record<string, Loose>; headers: Headers }[] = [];
let revised = 'a red cat';
let gate: Promise<void> | null = null;
/** A provider that makes images. */
const serving = serve(async (incoming) => {
  const { pathname: path } = new URL(incoming.url);
  asked.push({ path, body: (await incoming.json()) as Record<string, Loose>, headers: incoming.headers });
  await gate;
  return Response.json({
    ...{ created: 1, size: '1024x1024', output_format: 'png' },
    data: [{ b64_json: 'aW1hZ2U=', revised_prompt: revised }],
    usage: { input_tokens: 7, output_tokens: 11, total_tokens: 18 },
  });
});

const draws = (prompt = 'a red cat'): ScriptedAnswer => ({
  parts: [{ call: 'image_generation', arguments: JSON.stringify({ prompt }) }],
});
const says: ScriptedAnswer = { parts: [{ text: 'Here.' }] };
const BODY = { model: 'any', input: 'Draw.', tools: [{ type: 'image_generation' }] };
const IMAGES = '/v1/images/generations';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({
    environment: {
      GATEWAY_IMAGE_GENERATION_VIRTUAL_KEY: 'draws',
      GATEWAY_IMAGE_GENERATION_MODEL: 'gpt-image-1',
    },
  });
  await gateway.given.virtualKey({ slug: 'draws', provider: 'openai', key: 'k', custom_host: `${serving.origin}/v1` });
});
afterAll(async () => {
  await gateway.stop();
  serving.stop();
});
beforeEach(() => {
  asked.length = 0;
  revised = 'a red cat';
  gate = null;
});

/** The slug of a virtual key whose model of another provider gives these answers, one after the other. */
async function scripted(answers: readonly ScriptedAnswer[], more: Given = {}): Promise<string> {
  const provider = startScriptedProvider((request, number) => ({
    ...(answers[number - 1] ?? says),
    isWhole: request.stream !== true,
  }));
  const slug = `asks-${crypto.randomUUID().slice(0, 8)}`;
  await gateway.given.virtualKey({ slug, provider: 'groq', key: 'k', custom_host: provider.url, ...more });
  return slug;
}

const post = (key: string, headers: Record<string, string> = {}, body: Given = BODY) =>
  gateway.api.post('/v1/responses', body, { key, headers });

/** Of the log, under a trace of its own. */
const entriesOf = async (trace: string, count: number): Promise<Loose[]> => {
  let data: Loose[] = [];
  await eventually(`${count} entries`, async () => {
    data = (await gateway.api.get(`/v1/logs?trace_id=${trace}`)).json.data;
    return data.length >= count;
  });
  return data;
};

describe('limits', () => {
  const once = { rate_limits: [{ type: 'requests', unit: 'rph', value: 2 }] };
  const budget = { usage_limits: { type: 'tokens', credit_limit: 50_000 } };
  const limits = [
    ['rate limit', once, 'rate_limited', 429],
    ['budget', budget, 'budget_exhausted', 412],
  ] as const;
  const custom_host = `${serving.origin}/v1`;

  /** A key with such a limit, its owner's, and models that are asked by it. */
  const owners: Record<string, (limit: Given, answers: readonly ScriptedAnswer[]) => Promise<string>> = {
    key: async (limit, answers) => {
      const defaults = { virtual_key: await scripted(answers) };
      return (await gateway.given.apiKey({ ...limit, defaults })).key;
    },
    user: async (limit, answers) => {
      const { id: workspace_id } = await gateway.given.workspace({ member_keys: limit });
      await gateway.given.virtualKey({ workspace_id, slug: 'draws', provider: 'openai', key: 'k', custom_host });
      const virtual_key = await scripted(answers, { workspace_id });
      const { browser } = await givenBrowser(gateway, { workspaces: [{ id: workspace_id, role: 'member' }] });
      const here = { 'x-gateway-workspace': workspace_id };
      const made = await browser.call('POST', '/v1/own-keys', { name: 'own', virtual_key }, here);
      expect([made.status, made.text]).toEqual([200, made.text]);
      return made.json.key;
    },
    workspace: async (limit, answers) => {
      const { id: workspace_id } = await gateway.given.workspace(limit);
      await gateway.given.virtualKey({ workspace_id, slug: 'draws', provider: 'openai', key: 'k', custom_host });
      const defaults = { virtual_key: await scripted(answers, { workspace_id }) };
      return (await gateway.given.apiKey({ workspace_id, defaults })).key;
    },
  };

  for (const owner of Object.keys(owners))
    for (const [name, limit, code, status] of limits)
      test(`a ${name} of the ${owner} that is used up lets no further image be made`, async () => {
        const twice = { parts: [...draws().parts!, ...draws().parts!] };
        const key = await owners[owner]!(limit, [{ ...twice, usage: { prompt_tokens: 60_000, completion_tokens: 5 } }]);
        const trace = crypto.randomUUID();
        const { promise, resolve } = Promise.withResolvers<void>();
        gate = promise;
        const replying = post(key, { 'x-gateway-trace-id': trace });
        await eventually('what the first round took is counted', async () => {
          const { data } = (await gateway.api.get(`/v1/logs?trace_id=${trace}`)).json;
          return data.some(({ input_tokens }: Loose) => input_tokens === 60_000);
        });
        resolve();
        const reply = await replying;

        // The model cannot be asked again either.
        expect([reply.status, reply.json.error?.code]).toEqual([status, code]);
        expect(asked).toHaveLength(1);
        const images = (await entriesOf(trace, 5)).filter(({ path }) => path === IMAGES);
        expect(images.map((entry) => [entry.status, entry.error_code])).toEqual(
          expect.arrayContaining([
            [200, null],
            [status, code],
          ]),
        );
      });

  test('what it costs is counted once: in the ledger and in the log by itself, in no round and not in the response', async () => {
    const { key, id } = await gateway.given.apiKey({ defaults: { virtual_key: await scripted([draws()]) } });
    const trace = crypto.randomUUID();
    const reply = await post(key, { 'x-gateway-trace-id': trace });

    expect(reply.json.usage).toMatchObject({ input_tokens: 20, output_tokens: 10 });
    const tokensOf = (rows: readonly Loose[]) =>
      rows.map(({ input_tokens, output_tokens }) => `${input_tokens} ${output_tokens}`).sort();
    const rows = (await ledgerOf(gateway, id, 3)).filter(({ input_tokens }) => input_tokens > 0);
    expect(tokensOf(rows)).toEqual(['10 5', '10 5', '7 11']);
    const entries = await entriesOf(trace, 4);
    expect(entries).toHaveLength(4);
    const paid = entries.filter(({ model }) => model !== null);
    expect(tokensOf(paid)).toEqual(['10 5', '10 5', '7 11']);
    expect(paid.find(({ path }) => path === IMAGES)).toMatchObject({ model: 'gpt-image-1', cost: expect.any(Number) });
  });
});

describe('guardrails', () => {
  const denying = { 'default.contains': { words: ['walrus'], operator: 'none' }, deny: true };
  const sides = ['input', 'output'] as const;
  type Side = (typeof sides)[number];
  interface Placed {
    readonly key: string;
    readonly headers: Record<string, string>;
  }
  const stored = async () => {
    const organisation_id = (await gateway.api.get('/v1/admin/organisation')).json.id;
    const checks = [{ id: 'default.contains', parameters: denying['default.contains'] }];
    const body = { organisation_id, name: `no walrus ${crypto.randomUUID()}`, checks, actions: { deny: true } };
    return (await gateway.api.post('/v1/guardrails', body)).json.slug as string;
  };
  const config = async (written: Given) => {
    const made = await gateway.api.post('/v1/configs', { name: `served ${crypto.randomUUID()}`, config: written });
    expect([made.status, made.text]).toEqual([200, made.text]);
    return made.json.slug as string;
  };

  /** Where such a guardrail stands. */
  const places: Record<string, (side: Side, virtual_key: string) => Promise<Placed>> = {
    'of the key': async (side, virtual_key) => {
      const defaults = { virtual_key, [`${side}_guardrails`]: [await stored()] };
      return { key: (await gateway.given.apiKey({ defaults })).key, headers: {} };
    },
    'of the config that the operator gave the key': async (side, virtual_key) => {
      const slug = await config({ virtual_key, [`${side}_guardrails`]: [denying] });
      return { key: (await gateway.given.apiKey({ defaults: { config: slug } })).key, headers: {} };
    },
    'of a target in that config': async (side, virtual_key) => {
      const targets = [{ virtual_key, [`${side}_guardrails`]: [denying] }];
      const slug = await config({ strategy: { mode: 'fallback' }, targets });
      return { key: (await gateway.given.apiKey({ defaults: { config: slug } })).key, headers: {} };
    },
    'of a config that the caller names': async (side, virtual_key) => {
      const slug = await config({ virtual_key, [`${side}_guardrails`]: [denying] });
      return { key: (await gateway.given.apiKey()).key, headers: { 'x-gateway-config': slug } };
    },
    'that the caller writes': async (side, virtual_key) => {
      const written = JSON.stringify({ virtual_key, [`${side}_guardrails`]: [denying] });
      return { key: (await gateway.given.apiKey()).key, headers: { 'x-gateway-config': written } };
    },
  };
  for (const [where, place] of Object.entries(places)) {
    test(`one ${where} sees what an image is to show`, async () => {
      const { key, headers } = await place('input', await scripted([draws('a walrus')]));
      const reply = await post(key, headers);
      // What the model has called is said again in the next round, and denied there, too.
      expect(reply.status).toBe(446);
      expect(asked).toEqual([]);
    });
    test(`one ${where} sees what is said of an image`, async () => {
      const { key, headers } = await place('output', await scripted([draws()]));
      revised = 'a walrus in a red coat';
      const reply = await post(key, headers);
      expect(reply.status).toBe(200);
      expect(reply.json.output[0]).toMatchObject({ type: 'image_generation_call', status: 'failed', result: null });
      expect(reply.text).not.toContain('aW1hZ2U=');
      expect(asked).toHaveLength(1);
    });
  }

  test("one of the workspace sees it, and one of another workspace doesn't", async () => {
    const { id: workspace_id } = await gateway.given.workspace();
    const custom_host = `${serving.origin}/v1`;
    await gateway.given.virtualKey({ workspace_id, slug: 'draws', provider: 'openai', key: 'k', custom_host });
    const input_guardrails = [await stored()];
    const put = await gateway.api.put(`/v1/admin/workspaces/${workspace_id}`, { defaults: { input_guardrails } });
    expect(put.status).toBe(200);
    const virtual_key = await scripted([draws('a walrus')], { workspace_id });
    const { key } = await gateway.given.apiKey({ workspace_id, defaults: { virtual_key } });
    expect([(await post(key)).status, asked.length]).toEqual([446, 0]);

    const other = await gateway.given.apiKey({ defaults: { virtual_key: await scripted([draws('a walrus')]) } });
    expect([(await post(other.key)).status, asked.length]).toEqual([200, 1]);
  });

  test("one that asks for the caller's token finds it, and the provider that makes images does not", async () => {
    const issuer = await startIssuer();
    const organisation_id = (await gateway.api.get('/v1/admin/organisation')).json.id;
    const parameters = { jwks: issuer.jwks, headerKey: 'x-user-token', extractClaims: ['sub'] };
    const checks = [{ id: 'default.jwt', parameters }];
    const made = await gateway.api.post('/v1/guardrails', {
      ...{ organisation_id, name: `token ${crypto.randomUUID()}`, checks, actions: { deny: true } },
    });
    const defaults = { input_guardrails: [made.json.slug], virtual_key: await scripted([draws()]) };
    const { key } = await gateway.given.apiKey({ defaults });
    const token = await issuer.token({ sub: 'ada' });
    const reply = await post(key, { 'x-user-token': token });

    expect(reply.status).toBe(200);
    expect(reply.json.output[0]).toMatchObject({ type: 'image_generation_call', status: 'completed' });
    expect(asked).toHaveLength(1);
    expect(JSON.stringify([...asked[0]!.headers])).not.toContain(token);
    expect(asked[0]!.headers.get('x-jwt-sub')).toBe('ada');
    const without = await post((await gateway.given.apiKey({ defaults })).key);
    expect([without.status, asked.length]).toEqual([446, 1]);
  });
});

describe('the operator and the caller', () => {
  test("a caller's own config chooses neither the model that serves, nor what it is asked for", async () => {
    const virtual_key = await scripted([draws()]);
    const { key } = await gateway.given.apiKey();
    const written = {
      virtual_key,
      override_params: { model: 'dear-model', n: 9 },
      cache: { mode: 'simple' },
      retry: { attempts: 2 },
    };
    const reply = await post(key, { 'x-gateway-config': JSON.stringify(written) });

    expect(reply.status).toBe(200);
    expect(asked.map(({ body }) => body)).toEqual([{ prompt: 'a red cat', n: 1, model: 'gpt-image-1' }]);
  });

  test('the log says of a serving call whose it is: user, key, session and metadata', async () => {
    const { user } = await givenBrowser(gateway);
    const { key, id } = await gateway.given.apiKey({
      ...{ user_id: user.id, defaults: { virtual_key: await scripted([draws()]) } },
    });
    // As coding agents say it.
    for (const [header, session] of [
      ['session_id', crypto.randomUUID()],
      ['x-gateway-session-id', crypto.randomUUID()],
    ] as const) {
      const trace = crypto.randomUUID();
      const metadata = JSON.stringify({ team: 'art' });
      const headers = { [header]: session, 'x-gateway-metadata': metadata, 'x-gateway-trace-id': trace };
      expect((await post(key, headers)).status).toBe(200);
      const entries = await entriesOf(trace, header === 'session_id' ? 4 : 2);
      for (const entry of entries)
        expect(entry).toMatchObject({
          user_id: user.id,
          api_key_id: id,
          session_id: session,
          metadata: { team: 'art' },
        });
      if (header === 'session_id') expect(entries.some(({ path }) => path === IMAGES)).toBe(true);
    }
  });

  test('a session that a coding agent names is that of a response in the background, too', async () => {
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: await scripted([draws()]) } });
    const [trace, session] = [crypto.randomUUID(), crypto.randomUUID()];
    await post(key, { session_id: session, 'x-gateway-trace-id': trace }, { ...BODY, background: true });
    const entries = await entriesOf(trace, 4);
    expect(entries.map(({ session_id }) => session_id)).toEqual(entries.map(() => session));
  });

  test('bodies that the caller keeps out of the log stay out of it', async () => {
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: await scripted([draws('a secret cat')]) } });
    const trace = crypto.randomUUID();
    await post(key, { 'x-gateway-debug': 'false', 'x-gateway-trace-id': trace });
    for (const { id } of await entriesOf(trace, 4)) {
      const entry = await gateway.api.get(`/v1/logs/${id}`);
      expect(entry.text).not.toContain('secret');
    }
  });

  test('in the background, a limit that the operator sets meanwhile holds for the next image', async () => {
    const twice = { parts: [...draws().parts!, ...draws().parts!] };
    const { key, id } = await gateway.given.apiKey({ defaults: { virtual_key: await scripted([twice]) } });
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const response = (await post(key, {}, { ...BODY, background: true })).json;
    await eventually('the first image is being made', () => asked.length === 1);
    const rate_limits = [{ type: 'tokens', unit: 'rph', value: 1 }];
    expect((await gateway.api.put(`/v1/api-keys/${id}`, { rate_limits })).status).toBe(200);
    resolve();
    let last: Loose = response;
    await eventually('it has ended', async () => {
      last = (await gateway.api.get(`/v1/responses/${response.id}`, { key })).json;
      return !['queued', 'in_progress'].includes(last.status);
    });
    expect(asked).toHaveLength(1);
    expect(last).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded' } });
  });
});

describe('a response that waits in the background', () => {
  /** Ways in which its user loses their rights. */
  const endings: Record<string, (user: string) => Promise<unknown>> = {
    'deactivated by the directory': async (user) => {
      const { key } = await gateway.given.apiKey({ scopes: ['scim.manage'] });
      const reply = await gateway.api.call('PATCH', `/scim/v2/Users/${user}`, {
        ...{ key: null, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/scim+json' } },
        body: JSON.stringify({
          schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
          Operations: [{ op: 'replace', path: 'active', value: false }],
        }),
      });
      expect(reply.json.active).toBe(false);
    },
    deleted: async (user) => expect((await gateway.api.delete(`/v1/admin/users/${user}`)).status).toBe(200),
    'taken out of the workspace': async (user) =>
      expect((await gateway.api.delete(`/v1/admin/workspaces/default/users/${user}`)).status).toBe(200),
  };
  for (const [how, ends] of Object.entries(endings))
    for (const by of ['session', 'key'] as const)
      test(`does not go on for a user who was ${how}, who asked by their ${by}`, async () => {
        const twice = { parts: [...draws().parts!, ...draws().parts!] };
        const slug = await scripted([twice]);
        const { user, browser } = await givenBrowser(gateway);
        const own = await gateway.given.apiKey({ user_id: user.id });
        const headers = { 'x-gateway-virtual-key': slug };
        const body = { ...BODY, background: true };
        const { promise, resolve } = Promise.withResolvers<void>();
        gate = promise;
        const begun =
          by === 'key'
            ? await post(own.key, headers, body)
            : await browser.call('POST', '/v1/responses', body, headers);
        expect([begun.status, begun.json.status]).toEqual([200, 'queued']);
        await eventually('the first image is being made', () => asked.length === 1);
        await ends(user.id);
        resolve();
        const { key } = await gateway.given.apiKey();
        let last: Loose;
        await eventually('it has ended', async () => {
          last = await gateway.api.get(`/v1/responses/${begun.json.id}`, { key });
          return last.status === 404 || !['queued', 'in_progress'].includes(last.json.status);
        });
        // What a user who is deleted has asked for may go with them.
        if (last.status === 200)
          expect(last.json).toMatchObject({
            ...{ status: 'failed', error: { message: expect.stringContaining('was removed or has expired') } },
          });
        expect(asked).toHaveLength(1);
      });
});
