import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selfSignedCertificate } from '../../certificate.ts';
import { serve, startGateway, type TestGateway } from '../../gateway.ts';
import { startMailServer } from '../../mail-server.ts';
import { forTests, startProcess } from '../../process.ts';

const CHANNELS = '/v1/alert-channels';
const PASSWORD = 'mail-password-1';
const MAIL = {
  ...{ host: 'smtp.example.com', port: 587, security: 'starttls' },
  ...{ from: 'gateway@example.com', to: ['ops@example.com'] },
};

describe('alerts under attack', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.stop());

  const made = async (path: string, body: Record<string, unknown>) => {
    const reply = await gateway.api.post(path, body);
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
    return reply.json;
  };
  const expectRefused = async (method: 'post' | 'put', path: string, body: unknown, param: string) => {
    const reply = await gateway.api[method](path, body);
    expect([JSON.stringify(body), reply.status, reply.json?.error?.param]).toEqual([JSON.stringify(body), 400, param]);
    return reply;
  };

  test('nothing is sent to addresses inside, over http, by mail in the open, or with a password before the host', async () => {
    const slack = await made(CHANNELS, { name: 'x', kind: 'slack', settings: { url: 'https://example.com/hook' } });
    const mail = await made(CHANNELS, { name: 'x', kind: 'email', settings: MAIL });
    for (const url of [
      'http://10.0.0.1/x',
      'https://169.254.169.254/latest',
      'https://[::1]/x',
      'https://2130706433.example.internal/x',
      'https://user:pass@example.com/x',
      'http://example.com/x',
      'ftp://example.com/x',
    ]) {
      for (const kind of ['webhook', 'slack', 'teams'])
        await expectRefused('post', CHANNELS, { name: 'x', kind, settings: { url } }, 'settings.url');
      await expectRefused('put', `${CHANNELS}/${slack.id}`, { settings: { url } }, 'settings.url');
    }
    for (const [change, param] of [
      [{ host: '10.0.0.1' }, 'settings.host'],
      [{ host: 'localhost' }, 'settings.host'],
      [{ host: '[::1]' }, 'settings.host'],
      [{ host: 'metadata.google.internal', security: 'tls' }, 'settings.host'],
      [{ host: 'smtp.example.com:25' }, 'settings.host'],
      [{ host: 'smtp.example.com/x@10.0.0.1' }, 'settings.host'],
      [{ host: 'smtp.example.com', security: 'none' }, 'settings.security'],
      [{ host: '127.0.0.1', security: 'none', username: 'u', password: 'p' }, 'settings.security'],
    ] as const) {
      await expectRefused('post', CHANNELS, { name: 'x', kind: 'email', settings: { ...MAIL, ...change } }, param);
      await expectRefused('put', `${CHANNELS}/${mail.id}`, { settings: change }, param);
    }
  });

  test('no name, address or user name breaks a line of a mail', async () => {
    const good = { name: 'x', kind: 'email', settings: MAIL };
    for (const [change, param] of [
      [{ name: 'x\r\nBcc: evil@example.com' }, 'name'],
      [{ name: 'x\u2028y' }, 'name'],
      [{ settings: { ...MAIL, from: 'a@example.com\r\nBcc: evil@example.com' } }, 'settings.from'],
      [{ settings: { ...MAIL, to: ['a@example.com\nDATA'] } }, 'settings.to[0]'],
      [{ settings: { ...MAIL, to: ['Evil <a@example.com>, b@example.com'] } }, 'settings.to[0]'],
      [{ settings: { ...MAIL, username: 'a\r\nMAIL FROM:<b>', password: 'p' } }, 'settings.username'],
    ] as const)
      await expectRefused('post', CHANNELS, { ...good, ...change }, param);
    const rule = { name: 'x\nBcc: y', condition: { type: 'key_expiring' } };
    await expectRefused('post', '/v1/alerts', rule, 'name');
  });

  test('another workspace reaches neither channels nor alerts, and what it names of ours is missing', async () => {
    const channel = await made(CHANNELS, {
      name: 'ours',
      kind: 'webhook',
      settings: { url: 'https://example.com/hook' },
    });
    const alert = await made('/v1/alerts', {
      name: 'ours',
      condition: { type: 'key_expiring' },
      channels: [channel.id],
    });
    const ours = await gateway.given.apiKey();
    const policy = await made('/v1/policies/usage-limits', {
      ...{ conditions: [{ key: 'model', value: '*' }], group_by: [{ key: 'api_key' }] },
      ...{ type: 'requests', credit_limit: 9 },
    });
    const workspace = await gateway.given.workspace();
    const verbs = ['create', 'read', 'list', 'update', 'delete'];
    const scopes = verbs.flatMap((verb) => [`alerts.${verb}`, `alert_channels.${verb}`]);
    const { key } = await gateway.given.apiKey({ workspace_id: workspace.id, scopes });
    for (const [method, path, code] of [
      ['GET', `${CHANNELS}/${channel.id}`, 'alert_channel_not_found'],
      ['PUT', `${CHANNELS}/${channel.id}`, 'alert_channel_not_found'],
      ['DELETE', `${CHANNELS}/${channel.id}`, 'alert_channel_not_found'],
      ['POST', `${CHANNELS}/${channel.id}/test`, 'alert_channel_not_found'],
      ['POST', `${CHANNELS}/${channel.id}/rotate`, 'alert_channel_not_found'],
      ['GET', `/v1/alerts/${alert.id}`, 'alert_not_found'],
      ['GET', `/v1/alerts/${alert.id}/events`, 'alert_not_found'],
      ['PUT', `/v1/alerts/${alert.id}`, 'alert_not_found'],
      ['POST', `/v1/alerts/${alert.id}/test`, 'alert_not_found'],
      ['DELETE', `/v1/alerts/${alert.id}`, 'alert_not_found'],
    ] as const) {
      const body = method === 'PUT' ? { name: 'theirs' } : undefined;
      const reply = await gateway.api.call(method, path, { key, body });
      expect([path, reply.status, reply.json.error.code]).toEqual([path, 404, code]);
    }
    for (const path of [CHANNELS, '/v1/alerts']) expect((await gateway.api.get(path, { key })).json.total).toBe(0);

    const budget = { type: 'budget', thresholds: [50] };
    const counted = { type: 'spend_rate', above: 1, window: 60 };
    for (const [body, param] of [
      [{ condition: { type: 'key_expiring' }, channels: [channel.id] }, 'channels[0]'],
      [{ condition: { type: 'key_expiring', of: { api_key_id: ours.id } } }, 'condition.of.api_key_id'],
      [{ condition: { type: 'key_expiring', of: { virtual_key: 'sim' } } }, 'condition.of.virtual_key'],
      [{ condition: { ...budget, of: { api_key_id: ours.id } } }, 'condition.of.api_key_id'],
      [{ condition: { ...budget, of: { virtual_key: 'sim' } } }, 'condition.of.virtual_key'],
      [{ condition: { ...budget, of: { workspace_id: 'default' } } }, 'condition.of.workspace_id'],
      [{ condition: { ...budget, of: { policy_id: policy.id } } }, 'condition.of.policy_id'],
      [{ condition: { ...budget, of: {} } }, 'condition.of'],
      [{ condition: { ...budget, thresholds: [80, 50] } }, 'condition.thresholds'],
      [{ condition: { ...counted, filter: { api_key_id: ours.id } } }, 'condition.filter.api_key_id'],
      [{ condition: { ...counted, filter: { virtual_key: 'sim' } } }, 'condition.filter.virtual_key'],
      [{ condition: { ...counted, filter: { provider: 'nobody' } } }, 'condition.filter.provider'],
      [{ condition: { type: 'breaker_open', config: 'ours' } }, 'condition.config'],
      [{ condition: { type: 'provider_down', provider: 'nobody' } }, 'condition.provider'],
      [{ condition: { type: 'disk', free_below: 10 } }, 'condition.type'],
      [{ condition: { type: 'queue', older_than: 10 } }, 'condition.type'],
      [{ condition: { type: 'degraded' } }, 'condition.type'],
      [{ condition: { type: 'none' } }, 'condition.type'],
    ] as const) {
      const reply = await gateway.api.post('/v1/alerts', { name: 'theirs', ...body }, { key });
      expect([JSON.stringify(body), reply.status, reply.json.error.param]).toEqual([JSON.stringify(body), 400, param]);
    }
    const wide = { name: 'wide', organisation_id: (await gateway.api.get('/v1/admin/organisation')).json.id };
    const tried = await gateway.api.post('/v1/alerts', { ...wide, condition: { type: 'key_expiring' } }, { key });
    expect([tried.status, tried.json.error.code]).toEqual([403, 'insufficient_scope']);
  });

  test('a channel that an alert tells is not deleted, and the alert is named', async () => {
    const channel = await made(CHANNELS, {
      name: 'kept',
      kind: 'slack',
      settings: { url: 'https://example.com/hook' },
    });
    const alert = await made('/v1/alerts', {
      name: 'Uses it',
      condition: { type: 'key_expiring' },
      channels: [channel.id],
    });
    const reply = await gateway.api.delete(`${CHANNELS}/${channel.id}`);
    expect([reply.status, reply.json.error.code]).toEqual([400, 'alert_channel_in_use']);
    expect(reply.json.error.message).toContain('"Uses it"');
    await gateway.api.put(`/v1/alerts/${alert.id}`, { channels: [] });
    expect((await gateway.api.delete(`${CHANNELS}/${channel.id}`)).status).toBe(200);
  });

  test('no secret is shown, recorded, logged or told to another server', async () => {
    const receiver = serve(() => new Response('no', { status: 500 }));
    const token = 's3cr3t-T0ken-in-the-address';
    const slack = await made(CHANNELS, {
      name: 'x',
      kind: 'slack',
      settings: { url: `${receiver.origin}/services/${token}` },
    });
    const settings = { ...MAIL, username: 'gateway', password: PASSWORD };
    const mail = await made(CHANNELS, { name: 'x', kind: 'email', settings });
    const said: string[] = [slack, mail].map((channel) => JSON.stringify(channel));
    const back = await gateway.api.put(`${CHANNELS}/${slack.id}`, { name: 'y', settings: slack.settings });
    expect(back.status).toBe(200);
    for (const { id } of [slack, mail]) {
      for (const path of [`${CHANNELS}/${id}`, CHANNELS]) said.push((await gateway.api.get(path)).text);
      said.push((await gateway.api.post(`${CHANNELS}/${id}/test`)).text);
    }
    for (const change of [{ host: 'smtp.example.org' }, { port: 25 }, { security: 'tls' }])
      said.push((await expectRefused('put', `${CHANNELS}/${mail.id}`, { settings: change }, 'settings.password')).text);
    const masked = { settings: { url: 'https://example.com/***' } };
    said.push((await expectRefused('put', `${CHANNELS}/${slack.id}`, masked, 'settings.url')).text);
    const { id: organisation } = (await gateway.api.get('/v1/admin/organisation')).json;
    const window = 'start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z';
    const audit = await gateway.api.get(`/v1/audit-logs?organisation_id=${organisation}&${window}`);
    expect(audit.text).toContain(`${CHANNELS}/${mail.id}/test`);
    said.push(audit.text);
    said.push((await gateway.api.get('/v1/logs?limit=100')).text);
    for (const text of said) for (const secret of [token, PASSWORD]) expect(text).not.toContain(secret);
    expect((await gateway.api.get(`${CHANNELS}/${mail.id}`)).json.settings).toMatchObject({ has_password: true });
    receiver.stop();
  });
});

test('mail goes out under TLS to a server whose certificate is good, and a password to no other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-mail-'));
  const certificate = selfSignedCertificate('localhost');
  writeFileSync(join(folder, 'authority.pem'), certificate.cert);
  const servers = {
    starttls: await startMailServer({ ...certificate }),
    tls: await startMailServer({ ...certificate, secure: true }),
    stranger: await startMailServer({ ...selfSignedCertificate('localhost') }),
    open: await startMailServer(),
  };
  const gateway = await startProcess({
    environment: {
      ...forTests,
      TRUSTED_CUSTOM_HOSTS: 'localhost',
      NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
    },
  });
  const tested = async (security: string, port: number, password: string) => {
    const settings = { ...MAIL, host: 'localhost', port, security, username: 'gateway', password };
    const { id } = (await gateway.api.post(CHANNELS, { name: 'Mail', kind: 'email', settings })).json;
    return (await gateway.api.post(`${CHANNELS}/${id}/test`)).json;
  };
  for (const security of ['starttls', 'tls'] as const) {
    expect(await tested(security, servers[security].port, PASSWORD)).toMatchObject({ delivered: true });
    expect(servers[security].mails).toMatchObject([{ user: 'gateway', isSecure: true }]);
  }
  const wrong = await tested('starttls', servers.starttls.port, 'wrong-password-9');
  expect(wrong).toMatchObject({ delivered: false, response_status: 535 });
  expect(JSON.stringify(wrong)).not.toContain('wrong-password-9');
  // A certificate that no authority vouches for, and a server that does without: nothing is sent to either.
  for (const server of [servers.stranger, servers.open]) {
    expect(await tested('starttls', server.port, PASSWORD)).toMatchObject({ delivered: false });
    expect(server.mails).toEqual([]);
  }
  await gateway.kill();
  await Promise.all(Object.values(servers).map((server) => server.stop()));
  rmSync(folder, { recursive: true, force: true });
}, 120_000);
