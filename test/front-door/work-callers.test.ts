import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { time } from '../assistants/client.ts';
import { chatLine } from '../batch-lines.ts';
import { type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { givenBrowser, givenUser } from '../people.ts';
import { eventually } from '../process.ts';

type Send = (method: string, path: string, body?: unknown) => Promise<Reply>;

const RULES = '/v1/admin/organisation/machine-tokens';

describe.each(['sqlite', 'postgres'] as const)('work on %s', (engine) => {
  let gateway: TestGateway;
  let sign: () => Promise<string>;
  let rules: object;

  beforeAll(async () => {
    gateway = await startGateway({ engine });
    const { id } = (await gateway.api.get('/v1/admin/organisation')).json;
    const keys = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256' };
    rules = { jwks: { keys: [jwk] }, issuer: 'https://idp.example.com' };
    await gateway.api.put(RULES, rules);
    sign = () =>
      new SignJWT({ iss: 'https://idp.example.com', sub: 'builder', organisation_id: id })
        .setExpirationTime('10m')
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .sign(keys.privateKey);
  });
  afterAll(() => gateway.stop());

  const headers = { 'x-gateway-virtual-key': 'sim' };
  const asMachine = async (): Promise<Send> => {
    const key = await sign();
    return (method, path, body) => gateway.api.call(method, path, { key, headers, body });
  };
  const asUser = async (over: Record<string, unknown> = {}) => {
    const { user, browser } = await givenBrowser(gateway, over);
    const send: Send = (method, path, body) => browser.call(method, path, body, headers);
    return { user, send };
  };

  const begin = async (send: Send, content: string) => {
    const assistant = (await send('POST', '/v1/assistants', { model: 'gpt-5', tools: [time] })).json.id;
    const thread = { messages: [{ role: 'user', content }] };
    const { json } = await send('POST', '/v1/threads/runs', { assistant_id: assistant, thread });
    return `/v1/threads/${json.thread_id}/runs/${json.id}`;
  };
  const reaches = async (path: string, status: string) => {
    let run: Reply['json'];
    await eventually(`the run is ${status}`, async () => {
      run = (await gateway.api.get(path, { headers })).json;
      return run.status === status;
    });
    return run;
  };
  /** Another caller answers the functions of the run. */
  const answer = async (path: string) => {
    const run = await reaches(path, 'requires_action');
    const [call] = run.required_action.submit_tool_outputs.tool_calls;
    const tool_outputs = [{ tool_call_id: call.id, output: 'noon' }];
    expect((await gateway.api.post(`${path}/submit_tool_outputs`, { tool_outputs }, { headers })).status).toBe(200);
  };
  const batch = async (send: Send) => {
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new File([`${chatLine('one')}\n`], 'in.jsonl'));
    const file = (await gateway.api.post('/v1/files', form)).json.id;
    const body = { input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' };
    return (await send('POST', '/v1/batches', body)).json.id as string;
  };
  const ended = async (id: string) => {
    let json: Reply['json'];
    await eventually('the batch has ended', async () => {
      json = (await gateway.api.get(`/v1/batches/${id}`, { headers })).json;
      return json.status === 'completed';
    });
    return json.request_counts;
  };

  test('that a user began in a browser is done in their name', async () => {
    const { user, send } = await asUser();
    const path = await begin(send, 'call get_time');
    await answer(path);
    const run = await reaches(path, 'completed');
    expect(await ended(await batch(send))).toEqual({ total: 1, completed: 1, failed: 0 });
    await eventually('both calls are in the log', async () => {
      const { json } = await gateway.api.get(`/v1/logs?trace_id=${run.id}`);
      return json.data.length === 2 && json.data.every((entry: { user_id: string }) => entry.user_id === user.id);
    });
  });

  test('that a machine began by its token is done in its name', async () => {
    const send = await asMachine();
    await answer(await begin(send, 'call get_time'));
    expect(await ended(await batch(send))).toEqual({ total: 1, completed: 1, failed: 0 });
  });

  test('ends when the user is removed, or no longer belongs to the workspace', async () => {
    const removed = await asUser();
    const first = await begin(removed.send, 'call get_time');
    await reaches(first, 'requires_action');
    expect((await gateway.api.delete(`/v1/admin/users/${removed.user.id}`)).status).toBe(200);
    await answer(first);
    const message = 'The API key, user or machine that began this run was removed or has expired.';
    expect((await reaches(first, 'failed')).last_error).toEqual({ code: 'server_error', message });

    const gone = await asUser();
    const second = await begin(gone.send, 'call get_time');
    await reaches(second, 'requires_action');
    expect((await gateway.api.delete(`/v1/admin/workspaces/default/users/${gone.user.id}`)).status).toBe(200);
    await answer(second);
    expect((await reaches(second, 'failed')).last_error.message).toBe(message);
  });

  test('that a key of a user began ends when the user no longer belongs to the workspace', async () => {
    const user = await givenUser(gateway);
    const { key } = await gateway.given.apiKey({ user_id: user.id });
    const send: Send = (method, path, body) => gateway.api.call(method, path, { key, headers, body });
    const path = await begin(send, 'call get_time');
    await reaches(path, 'requires_action');
    expect(await ended(await batch(send))).toEqual({ total: 1, completed: 1, failed: 0 });

    await gateway.api.delete(`/v1/admin/workspaces/default/users/${user.id}`);
    await answer(path);
    expect((await reaches(path, 'failed')).last_error.message).toContain('was removed or has expired');
  });

  test('ends when the tokens of machines are not believed any more', async () => {
    const path = await begin(await asMachine(), 'call get_time');
    await reaches(path, 'requires_action');
    expect((await gateway.api.delete(RULES)).status).toBe(200);
    await answer(path);
    expect((await reaches(path, 'failed')).last_error.message).toContain('machine that began this run was removed');
    await gateway.api.put(RULES, rules);
  });
});
