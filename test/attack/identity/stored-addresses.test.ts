import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { chatLine } from '../../batch-lines.ts';
import { startGateway, type TestGateway } from '../../gateway.ts';
import { givenPerson } from '../../mcp/connecting.ts';
import { toolCall } from '../../mcp/recorder.ts';
import { eventually } from '../../process.ts';
import { startRecorder } from '../../recorder.ts';
import { managedState, query } from '../../state-tables.ts';

/** What must be seen nowhere: in a query whose name says so, in one whose name does not, and in a path. */
const SECRETS = ['hunter2', 'Qx9fB2zLr7', 'T0AbCdEfGh12'];
const REST = '/hooks/T0AbCdEfGh12/run?api_key=hunter2&s=Qx9fB2zLr7&page=2';
const SHOWN = '/hooks/***/run?api_key=***&s=***&page=2';
const leaks = (text: string): string[] => SECRETS.filter((secret) => text.includes(secret));

describe.each(['sqlite', 'postgres'] as const)('secrets in stored addresses on %s', (engine) => {
  let gateway: TestGateway;
  let receiver: ReturnType<typeof startRecorder>;
  let address: string;
  let shown: string;
  beforeAll(async () => {
    gateway = await startGateway({ engine });
    receiver = startRecorder();
    address = receiver.origin + REST;
    shown = receiver.origin + SHOWN;
  });
  afterAll(async () => {
    await gateway.stop();
    receiver.stop();
  });

  const made = async (path: string, body: Record<string, unknown>) => {
    const reply = await gateway.api.post(path, body);
    expect([path, reply.status, leaks(reply.text)]).toEqual([path, 200, []]);
    return reply.json;
  };
  /** What an administrator and an intruder in the database see after all that was done. */
  const expectSealed = async () => {
    expect(leaks(await managedState(gateway))).toEqual([]);
    const { id } = (await gateway.api.get('/v1/admin/organisation')).json;
    const when = `start_time=2020-01-01&end_time=2100-01-01&organisation_id=${id}`;
    const exported = await gateway.api.get(`/v1/audit-logs/export?${when}`);
    expect([exported.status, exported.text.includes(SHOWN), leaks(exported.text)]).toEqual([200, true, []]);
    expect(leaks(JSON.stringify(await query(gateway, 'select * from audit_records')))).toEqual([]);
  };

  /** `PUT` gets back what `GET` showed, then what `GET` never showed, then another address. */
  const expectKept = async (path: string) => {
    const read = (await gateway.api.get(path)).json;
    expect(read.url).toBe(shown);
    const back = await gateway.api.put(path, { name: 'renamed', url: read.url });
    expect([back.status, back.json.name, back.json.url]).toEqual([200, 'renamed', shown]);
    for (const url of [shown.replace('page=2', 'page=3'), `${receiver.origin}/***`]) {
      const reply = await gateway.api.put(path, { url });
      expect([reply.status, reply.json.error.param, reply.text.includes('is masked')]).toEqual([400, 'url', true]);
    }
  };

  test('a webhook is told at the whole address, and shows it to nobody', async () => {
    const { id } = await made('/v1/webhooks', { name: 'told', url: address });
    await expectKept(`/v1/webhooks/${id}`);
    expect(leaks((await gateway.api.get('/v1/webhooks')).text)).toEqual([]);
    expect(leaks((await gateway.api.post(`/v1/webhooks/${id}/rotate`)).text)).toEqual([]);

    receiver.answers(() => new Response(null, { status: 500 }));
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new File([`${chatLine('one')}\n`], 'in.jsonl'));
    const file = (await gateway.api.post('/v1/files', form)).json.id;
    const body = { input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' };
    await gateway.api.post('/v1/batches', body, { headers: { 'x-gateway-virtual-key': 'sim' } });
    await eventually('it was tried', async () => {
      const { json, text } = await gateway.api.get(`/v1/webhooks/${id}`);
      expect(leaks(text)).toEqual([]);
      return json.last_delivery?.response_status === 500;
    });
    expect(receiver.last.path).toBe(REST);
    await expectSealed();
    await gateway.api.delete(`/v1/webhooks/${id}`);
  });

  test('an MCP server is called at the whole address, and shows it to nobody', async () => {
    const jwt_validation = { jwksUri: address };
    const { slug } = await made('/v1/mcp-servers', { name: 'hidden', url: address });
    await made('/v1/mcp-servers', {
      name: 'checked',
      url: `${receiver.origin}/mcp`,
      configurations: { jwt_validation },
    });
    const checked = (await gateway.api.get('/v1/mcp-servers/checked')).json;
    expect(checked.configurations.jwt_validation.jwksUri).toBe(shown);
    const back = await gateway.api.put('/v1/mcp-servers/checked', { configurations: checked.configurations });
    expect([back.status, back.json.error.param]).toEqual([400, 'configurations.jwt_validation.jwksUri']);
    await expectKept(`/v1/mcp-servers/${slug}`);
    expect(leaks((await gateway.api.get('/v1/mcp-servers')).text)).toEqual([]);

    receiver.answers(() => Response.json({ jsonrpc: '2.0', id: 1, result: {} }));
    expect((await gateway.api.post(`/${slug}/mcp`, toolCall())).status).toBe(200);
    expect(receiver.last.path).toBe(REST);
    const tested = await gateway.api.post(`/v1/mcp-servers/${slug}/test`);
    expect([tested.json.url, leaks(tested.text)]).toEqual([shown, []]);
    await expectSealed();
  });

  test('an MCP server shows users who connect nothing of its address, and sends browsers its path at most', async () => {
    receiver.answers(({ path }) =>
      path.includes('well-known')
        ? Response.json({ resource: 'https://elsewhere.example' })
        : new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } }),
    );
    const { slug } = await made('/v1/mcp-servers', { name: 'connected', url: address, auth_type: 'oauth_auto' });
    const { visitor } = await givenPerson(gateway);
    const path = `${gateway.url}/connect/${slug}`;
    const page = await (await visitor.open(path)).text();
    const csrf = /name="csrf" value="([^"]+)"/.exec(page)![1]!;
    const refused = await (await visitor.open(path, { csrf })).text();
    expect([refused.includes('another resource'), leaks(page + refused)]).toEqual([true, []]);

    receiver.answers(({ path: asked }) =>
      asked.includes('oauth-authorization-server')
        ? Response.json({
            issuer: receiver.origin,
            authorization_endpoint: `${receiver.origin}/authorize`,
            token_endpoint: `${receiver.origin}/token`,
            registration_endpoint: `${receiver.origin}/register`,
            code_challenge_methods_supported: ['S256'],
          })
        : asked === '/register'
          ? Response.json({ client_id: 'gateway' }, { status: 201 })
          : new Response(null, { status: asked.includes('well-known') ? 404 : 401 }),
    );
    // The path may be part of what tokens are for; what stands behind it goes into no browser.
    const sent = await (await visitor.open(path, { csrf })).text();
    expect([sent.includes('/authorize'), leaks(sent)]).toEqual([true, ['T0AbCdEfGh12']]);
  });

  test('a row of before is read, called and shown like any other, and sealed when it is changed', async () => {
    const { id } = await made('/v1/webhooks', { name: 'old', url: 'https://example.com/told' });
    const server = await made('/v1/mcp-servers', { name: 'older', url: `${receiver.origin}/mcp` });
    await query(gateway, `update webhooks set url = '${address}' where id = '${id}'`);
    await query(gateway, `update mcp_servers set url = '${address}' where id = '${server.id}'`);
    expect((await gateway.api.get(`/v1/webhooks/${id}`)).json.url).toBe(shown);
    expect((await gateway.api.get('/v1/mcp-servers/older')).json.url).toBe(shown);
    await gateway.api.put(`/v1/webhooks/${id}`, { name: 'new' });
    await gateway.api.put('/v1/mcp-servers/older', { name: 'new' });
    receiver.answers(() => Response.json({ jsonrpc: '2.0', id: 1, result: {} }));
    await gateway.api.post('/older/mcp', toolCall());
    expect(receiver.last.path).toBe(REST);
    await expectSealed();
  });

  test('a guardrail calls the whole address, and shows it to nobody, wherever the guardrail stands', async () => {
    const parameters = { webhookURL: address };
    const checks = [
      { id: 'default.webhook', parameters },
      { id: 'default.log', parameters: { logURL: address } },
    ];
    const { id, slug } = await made('/v1/guardrails', { name: 'asked', checks, actions: { deny: true } });
    const read = (await gateway.api.get(`/v1/guardrails/${id}`)).json;
    expect(read.checks.map((each: { parameters: object }) => Object.values(each.parameters)[0])).toEqual([
      shown,
      shown,
    ]);
    expect(leaks((await gateway.api.get(`/v1/guardrails/${id}/versions`)).text)).toEqual([]);
    const back = await gateway.api.put(`/v1/guardrails/${id}`, { checks: read.checks });
    expect([back.status, back.json.error.param]).toEqual([400, 'checks[0].parameters.webhookURL']);

    const inline = { virtual_key: 'sim', input_guardrails: [{ 'default.webhook': parameters }] };
    const config = await made('/v1/configs', { name: 'inline', config: inline });
    const stored = await gateway.api.get(`/v1/configs/${config.slug}`);
    expect([leaks(stored.text), stored.text.includes(shown)]).toEqual([[], true]);
    const again = await gateway.api.put(`/v1/configs/${config.slug}`, { config: stored.json.config });
    expect([again.status, again.json.error.message.includes('is masked')]).toEqual([400, true]);

    receiver.answers(() => Response.json({ verdict: true }));
    const body = { model: 'any', messages: [{ role: 'user', content: 'Hello' }] };
    const named = { virtual_key: 'sim', input_guardrails: [slug] };
    const reply = await gateway.api.post('/v1/chat/completions', body, {
      headers: { 'x-gateway-config': JSON.stringify(named) },
    });
    expect([reply.status, leaks(reply.text), receiver.last.path]).toEqual([200, [], REST]);
    expect(leaks(JSON.stringify(await gateway.logOf(reply)))).toEqual([]);
    await expectSealed();
  });

  test('the key set of machines is asked for at the whole address, which is shown to nobody', async () => {
    const path = '/v1/admin/organisation/machine-tokens';
    const keys = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256' };
    receiver.answers(() => Response.json({ keys: [jwk] }));
    const put = await gateway.api.put(path, { jwks_uri: address });
    const back = await gateway.api.put(path, { jwks_uri: put.json.jwks_uri, clock_tolerance: 7 });
    expect([put.json.jwks_uri, back.status, back.json.clock_tolerance]).toEqual([shown, 200, 7]);
    expect((await gateway.api.get(path)).json.jwks_uri).toBe(shown);
    const masked = await gateway.api.put(path, { jwks_uri: `${receiver.origin}/***` });
    expect([masked.status, masked.json.error.param]).toEqual([400, 'jwks_uri']);

    const { id } = (await gateway.api.get('/v1/admin/organisation')).json;
    const token = await new SignJWT({ organisation_id: id, sub: 'machine' })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setExpirationTime('5m')
      .sign(keys.privateKey);
    expect((await gateway.api.get('/v1/models', { key: token })).status).toBe(200);
    expect(receiver.last.path).toBe(REST);
    await expectSealed();
    await gateway.api.delete(path);
  });

  test('a user name or a password in an address is refused, and not written down', async () => {
    const url = `http://ann:hunter2@${new URL(receiver.origin).host}/told`;
    for (const [path, body] of [
      ['/v1/webhooks', { name: 'x', url }],
      ['/v1/mcp-servers', { name: 'x', url }],
      ['/v1/guardrails', { name: 'x', checks: [{ id: 'default.log', parameters: { logURL: url } }] }],
    ] as const) {
      const reply = await gateway.api.post(path, body);
      expect([path, reply.status, leaks(reply.text)]).toEqual([path, 400, []]);
    }
    await expectSealed();
  });
});
