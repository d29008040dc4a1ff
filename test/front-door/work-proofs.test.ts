import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { time } from '../assistants/client.ts';
import { spoken, startIssuer, startScene, streamed } from '../attack/guardrail/scene.ts';
import { chatLine } from '../batch-lines.ts';
import type { Reply } from '../gateway.ts';
import { eventually } from '../process.ts';
import { query } from '../state-tables.ts';

type Json = Readonly<Record<string, unknown>>;

interface Caller {
  readonly key?: string;
  readonly headers: Readonly<Record<string, string>>;
}

const TOKEN = 'x-user-token';
const UNPROVEN = 'no token was verified for it when this work was accepted; begin the work again with one';

/** A model that asks for the time first, and then says something. */
const callsTool = () =>
  streamed([
    {
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'get_time' } }] } }],
    },
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ]);

describe.each(['sqlite', 'postgres'] as const)('default.jwt and work on %s', (engine) => {
  let scene: Awaited<ReturnType<typeof startScene>>;
  let issuer: Awaited<ReturnType<typeof startIssuer>>;

  beforeAll(async () => {
    scene = await startScene({ engine });
    issuer = await startIssuer();
  });
  afterAll(() => scene.stop());

  const parametersOf = (more: Json = {}): Json => ({
    jwks: issuer.jwks,
    headerKey: TOKEN,
    clockTolerance: 0,
    extractClaims: ['sub', 'tier'],
    ...more,
  });
  const imposed = async (more: Json = {}, actions: Json = { deny: true }) => {
    const slug = await scene.guardrail({ jwt: parametersOf(more) }, actions);
    const change = async (parameters: Json) => {
      const checks = [{ id: 'default.jwt', parameters: parametersOf(parameters) }];
      expect((await scene.api.put(`/v1/guardrails/${slug}`, { checks })).status).toBe(200);
    };
    return { slug, change, key: await scene.keyWith({ input_guardrails: [slug] }) };
  };
  /** A caller with a key, and perhaps a token. */
  const as = (key: string, token?: string, more: Record<string, string> = {}): Caller => ({
    key,
    headers: { ...(token && { [TOKEN]: token }), ...more },
  });

  const beginRun = async (caller: Caller, tools: readonly object[] = []): Promise<Reply> => {
    const assistant = (await scene.api.post('/v1/assistants', { model: 'm', tools }, caller)).json.id;
    const thread = { messages: [{ role: 'user', content: 'x' }] };
    return scene.api.post('/v1/threads/runs', { assistant_id: assistant, thread }, caller);
  };
  const reaches = async ({ json }: Reply, caller: Caller, status: string) => {
    let run: Reply['json'];
    await eventually(`the run is ${status}`, async () => {
      run = (await scene.api.get(`/v1/threads/${json.thread_id}/runs/${json.id}`, caller)).json;
      return run.status === status;
    });
    return run;
  };
  const submit = ({ json }: Reply, caller: Caller, more: Json = {}) =>
    scene.api.post(
      `/v1/threads/${json.thread_id}/runs/${json.id}/submit_tool_outputs`,
      { tool_outputs: [{ tool_call_id: 'call_1', output: 'noon' }], ...more },
      caller,
    );
  const beginBatch = async (caller: Caller, lines: readonly string[] = [chatLine('one')]) => {
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new File([lines.join('\n')], 'in.jsonl'));
    const file = (await scene.api.post('/v1/files', form, caller)).json.id;
    const body = { input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' };
    return scene.api.post('/v1/batches', body, caller);
  };
  const ended = async ({ json: { id } }: Reply, caller: Caller) => {
    let batch: Reply['json'];
    await eventually('the batch has ended', async () => {
      batch = (await scene.api.get(`/v1/batches/${id}`, caller)).json;
      return batch.status === 'completed';
    });
    return batch;
  };
  const errorsOf = async ({ error_file_id }: { error_file_id: string }, caller: Caller) =>
    (await scene.api.get(`/v1/files/${error_file_id}/content`, caller)).text;
  const claimsSent = () => {
    const { headers } = scene.provider.last;
    return [headers.get('x-jwt-sub'), headers.get('x-jwt-tier')];
  };
  const kept = async (table: 'runs' | 'batches', id: string): Promise<string | null> =>
    (await query<{ proofs: string | null }>(scene.gateway, `select proofs from ${table} where id = '${id}'`))[0]!
      .proofs;
  const rows = async (table: string) => (await query(scene.gateway, `select * from ${table}`)).length;

  test('a run and a batch without a good token are refused with the denial of the check, and nothing is stored', async () => {
    scene.says('hello');
    const { key, slug } = await imposed();
    const before = [await rows('runs'), await rows('threads'), await rows('batches'), scene.provider.requests.length];
    const stranger = await (await startIssuer()).token({ sub: 'eve' });

    for (const token of [undefined, stranger, 'garbage']) {
      for (const reply of [await beginRun(as(key, token)), await beginBatch(as(key, token))]) {
        expect(reply.status).toBe(446);
        expect(reply.json.error.message).toContain(`guardrail ${slug}`);
        const [{ checks }] = reply.json.hook_results.before_request_hooks;
        if (!token) expect(checks[0].data.explanation).toBe(`Missing ${TOKEN} header`);
      }
    }

    expect([await rows('runs'), await rows('threads'), await rows('batches'), scene.provider.requests.length]).toEqual(
      before,
    );
  });

  test('calls of a run and of a batch carry the claims of the token that began them, and nobody else sees these', async () => {
    scene.says('hello');
    const { key } = await imposed();
    const caller = as(key, await issuer.token({ sub: 'ada@corp', tier: 'gold', secret_note: 'walrus' }));

    const run = await beginRun(caller);
    expect(run.status).toBe(200);
    const done = await reaches(run, caller, 'completed');
    expect(claimsSent()).toEqual(['ada@corp', 'gold']);
    const batch = await beginBatch(caller);
    const over = await ended(batch, caller);
    expect(over.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
    expect(claimsSent()).toEqual(['ada@corp', 'gold']);

    expect(await kept('runs', run.json.id)).toBeNull();
    expect(await kept('batches', batch.json.id)).toBeNull();
    const log = await eventuallyLogged(run.json.id);
    const shown = JSON.stringify([run.json, done, batch.json, over, log]);
    expect(shown).not.toMatch(/ada@|gold|walrus|proof/);
  });

  const eventuallyLogged = async (trace: string) => {
    let entry: Reply['json'];
    await eventually('the call is in the log', async () => {
      const { json } = await scene.api.get(`/v1/logs?trace_id=${trace}`);
      if (json.data.length === 0) return false;
      entry = (await scene.api.get(`/v1/logs/${json.data[0].id}`)).json;
      return true;
    });
    return entry;
  };

  test('work goes on after its token has expired; what is kept is sealed, and not the token', async () => {
    const { key } = await imposed();
    const targets = [{ virtual_key: 'recorded' }, { virtual_key: 'recorded' }];
    const config = { strategy: { mode: 'fallback' }, targets };
    const twice = (await scene.api.post('/v1/configs', { name: 'Twice', config })).json.slug;
    const expiresAt = Date.now() + 11_000;
    const sent = { run: 0, batch: 0 };
    scene.provider.answers(async ({ json }) => {
      if (sent[json.stream ? 'run' : 'batch']++ > 0) return spoken('late', json.stream === true);
      await Bun.sleep(Math.max(0, expiresAt - Date.now()));
      return new Response('{}', { status: 500 });
    });
    const token = await issuer.token({ sub: 'ada', tier: 'gold' }, 10);
    const caller = as(key, token, { 'x-gateway-config': twice });

    const [run, batch] = await Promise.all([beginRun(caller), beginBatch(caller)]);
    const sealed = [await kept('runs', run.json.id), await kept('batches', batch.json.id)];
    await reaches(run, caller, 'completed');
    expect((await ended(batch, caller)).request_counts.completed).toBe(1);

    expect((await beginRun(caller)).status).toBe(446);
    expect(sent).toEqual({ run: 2, batch: 2 });
    for (const { headers } of scene.provider.requests.slice(-4))
      expect([headers.get('x-jwt-sub'), headers.get('x-jwt-tier'), headers.get(TOKEN)]).toEqual(['ada', 'gold', null]);
    for (const each of sealed) {
      expect(each).toStartWith('v1.');
      expect(each).not.toContain(token.split('.')[1]!);
    }
  });

  test('whoever answers the functions of a run needs a token, and it takes the place of the first', async () => {
    const { key } = await imposed();
    let calls = 0;
    scene.provider.answers(() => (calls++ === 0 ? callsTool() : spoken('noon', true)));
    const ada = as(key, await issuer.token({ sub: 'ada', tier: 'gold' }));
    const run = await beginRun(ada, [time]);
    await reaches(run, ada, 'requires_action');
    const admin = { headers: { 'x-gateway-virtual-key': 'recorded' } };

    for (const stream of [false, true]) {
      const tokenless = await submit(run, as(key), { stream });
      expect([tokenless.status, tokenless.json.error.code]).toEqual([446, 'guardrail_denied']);
    }
    // Another key, on which nothing is imposed, does not lift what is imposed on the run.
    expect((await submit(run, admin)).status).toBe(446);
    const expired = as(key, await issuer.token({ sub: 'ada' }, -10));
    expect((await submit(run, expired)).status).toBe(446);
    expect((await reaches(run, ada, 'requires_action')).required_action).not.toBeNull();

    const bob = as(key, await issuer.token({ sub: 'bob', tier: 'tin' }));
    expect((await submit(run, bob)).status).toBe(200);
    await reaches(run, ada, 'completed');
    expect(claimsSent()).toEqual(['bob', 'tin']);
  });

  test('what the operator asks of claims later is asked of those that were kept', async () => {
    for (const [changed, status, said] of [
      [{ requiredClaims: ['tier'], claimPrefix: 'x-who-' }, 'completed', null],
      [{ claimValues: { tier: { values: ['tin'] } } }, 'failed', 'default.jwt does not pass'],
      [{ issuer: 'https://other.example' }, 'failed', 'default.jwt does not pass'],
      [{ algorithms: ['ES256'] }, 'failed', 'default.jwt does not pass'],
      [{ headerKey: 'x-other-token' }, 'failed', UNPROVEN],
      [{ jwks: undefined, jwksUri: 'https://issuer.example/jwks' }, 'failed', UNPROVEN],
      [{ keepToken: true }, 'failed', 'the token is to be judged again and was not kept'],
      [{ maxWorkAge: '1s' }, 'failed', 'longer ago than maxWorkAge allows'],
    ] as const) {
      const { key, change } = await imposed();
      const caller = as(key, await issuer.token({ sub: 'ada', tier: 'gold' }));
      // Not before the operator has changed what is asked for.
      const { promise: isChanged, resolve } = Promise.withResolvers<void>();
      let calls = 0;
      scene.provider.answers(async ({ json }) => {
        if (calls++ > 0) return spoken('x', json.stream === true);
        await isChanged;
        return new Response('{}', { status: 500 });
      });
      const targets = [{ virtual_key: 'recorded' }, { virtual_key: 'recorded' }];
      const config = { strategy: { mode: 'fallback' }, targets };
      const { slug } = (await scene.api.post('/v1/configs', { name: 'Twice', config })).json;
      const run = await beginRun({ ...caller, headers: { ...caller.headers, 'x-gateway-config': slug } });
      await eventually('the first call is made', async () => calls === 1);
      await change(changed);
      if ('maxWorkAge' in changed) await Bun.sleep(1_100);
      resolve();

      const over = await reaches(run, caller, status);

      expect([changed, calls]).toEqual([changed, status === 'completed' ? 2 : 1]);
      if (said) expect(over.last_error).toEqual({ code: 'invalid_prompt', message: expect.stringContaining(said) });
      else expect(scene.provider.last.headers.get('x-who-tier')).toBe('gold');
    }
  });

  test('a guardrail that is imposed after a batch was accepted denies its requests and says why', async () => {
    scene.says('hello');
    const { key, id } = await scene.given.apiKey({ defaults: { virtual_key: 'recorded' } });
    const slug = await scene.guardrail({ jwt: parametersOf() }, { deny: true });
    let isImposed = false;
    scene.provider.answers(async ({ json }) => {
      if (isImposed) return spoken('x', json.stream === true);
      isImposed = true;
      const imposing = await scene.api.put(`/v1/api-keys/${id}`, {
        defaults: { virtual_key: 'recorded', input_guardrails: [slug] },
      });
      expect(imposing.status).toBe(200);
      return new Response('{}', { status: 500 });
    });
    // A config keeps the batch from the provider's own batch API.
    const config = { virtual_key: 'recorded' };
    const named = (await scene.api.post('/v1/configs', { name: 'Plain', config })).json.slug;
    const caller = as(key, await issuer.token({ sub: 'ada' }), { 'x-gateway-config': named });

    const over = await ended(await beginBatch(caller), caller);

    expect(over.request_counts).toEqual({ total: 1, completed: 0, failed: 1 });
    const [line] = (await errorsOf(over, caller)).split('\n');
    expect(JSON.parse(line!).response).toMatchObject({
      status_code: 446,
      body: { error: { code: 'guardrail_denied', message: expect.stringContaining(UNPROVEN) } },
    });
  });

  test('with keepToken the token is kept, sealed, and judged at each call: the work ends with it', async () => {
    const { key } = await imposed({ keepToken: true });
    const work = async (seconds: number) => {
      let calls = 0;
      const expiresAt = Date.now() + seconds * 1_000 + 500;
      scene.provider.answers(async ({ json }) => {
        if (calls++ > 0) return spoken('x', json.stream === true);
        await Bun.sleep(Math.max(0, expiresAt - Date.now()));
        return new Response('{}', { status: 500 });
      });
      const token = await issuer.token({ sub: 'ada' }, seconds);
      const caller = as(key, token);
      const batch = await beginBatch(caller);
      const sealed = await kept('batches', batch.json.id);
      return { token, caller, sealed, over: await ended(batch, caller), calls };
    };
    // A machine may be so busy that a token ends before the first call of its batch; it then gets a longer one.
    let done = await work(2);
    for (let seconds = 8; done.calls === 0 && seconds < 100; seconds *= 3) done = await work(seconds);
    const { token, caller, sealed, over, calls } = done;

    expect(calls).toBe(1);
    expect(await errorsOf(over, caller)).toContain('Token is expired');
    expect(sealed).not.toContain(token.split('.')[1]!);
  });

  test('guardrails of a config that the caller names judge work, too, target by target', async () => {
    scene.says('hello');
    const key = await scene.keyWith({});
    const guarded = { virtual_key: 'recorded', input_guardrails: [{ 'default.jwt': parametersOf(), deny: true }] };
    const configOf = async (config: Json) =>
      (await scene.api.post('/v1/configs', { name: 'Own', config })).json.slug as string;
    const all = await configOf(guarded);
    const one = await configOf({
      strategy: { mode: 'fallback', on_status_codes: [446] },
      targets: [guarded, { virtual_key: 'recorded' }],
    });
    const token = await issuer.token({ sub: 'ada', tier: 'gold' });

    expect((await beginRun(as(key, undefined, { 'x-gateway-config': all }))).status).toBe(446);
    expect((await beginBatch(as(key, undefined, { 'x-gateway-config': all }))).status).toBe(446);
    const caller = as(key, token, { 'x-gateway-config': all });
    await reaches(await beginRun(caller), caller, 'completed');
    expect(claimsSent()).toEqual(['ada', 'gold']);
    // The second target asks for no token, and this fallback goes on after a denial.
    const tokenless = as(key, undefined, { 'x-gateway-config': one });
    await reaches(await beginRun(tokenless), tokenless, 'completed');
    expect(claimsSent()).toEqual([null, null]);
  });

  test('a guardrail that only marks lets work without a token in, and marks its calls', async () => {
    scene.says('hello');
    const { key } = await imposed({}, {});
    const run = await beginRun(as(key));
    await reaches(run, as(key), 'completed');
    expect(claimsSent()).toEqual([null, null]);
    const { hook_results } = await eventuallyLogged(run.json.id);
    expect(JSON.stringify(hook_results ?? null)).toContain(UNPROVEN);
  });
});
