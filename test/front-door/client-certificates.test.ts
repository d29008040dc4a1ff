import { afterAll, beforeAll, expect, test } from 'bun:test';
import { selfSignedCertificate } from '../certificate.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { startProxy, type TestProxy } from '../proxy.ts';
import { startSecretStores, VAULT_TOKEN } from '../secret-stores.ts';
import { startMutualTlsFront } from '../tls-front.ts';

const HOST = 'models.corp.example';
const a = selfSignedCertificate('client-a');
const b = selfSignedCertificate('client-b');
const stranger = selfSignedCertificate('client-of-strangers');
const stores = startSecretStores();
let gateway: TestGateway;
let proxy: TestProxy;
let front: Awaited<ReturnType<typeof startMutualTlsFront>>;
let distant: typeof front;

beforeAll(async () => {
  // A name that only the proxy knows leads to the second server; this machine is never called through a proxy.
  proxy = await startProxy({ lead: () => distant.port });
  gateway = await startGateway({
    environment: {
      TRUSTED_CUSTOM_HOSTS: `127.0.0.1,localhost,${HOST}`,
      GATEWAY_EGRESS_PROXY: `http://127.0.0.1:${proxy.port}`,
      GATEWAY_SECRET_STORES: JSON.stringify([
        {
          ...{ name: 'vault', type: 'vault', url: `${stores.origin}/vault`, workspaces: { '*': ['*'] } },
          ...{ hosts: ['localhost'], refresh_seconds: 1, auth: { method: 'token', token: VAULT_TOKEN } },
        },
      ]),
    },
  });
  const port = Number(new URL(gateway.provider.origin).port);
  front = await startMutualTlsFront('localhost', [a.cert, b.cert], port);
  distant = await startMutualTlsFront(HOST, [a.cert, b.cert], port);
});
afterAll(async () => {
  await gateway.stop();
  for (const each of [proxy, front, distant, stores]) each.stop();
});

const tlsOf = (pair: { key: string; cert: string } | null, authority: string | null = front.authority) => ({
  ...(pair && { tls_certificate: pair.cert, tls_private_key: pair.key }),
  ...(authority !== null && { tls_authorities: authority }),
});
const make = (configurations: Record<string, unknown>, body: Record<string, unknown> = {}) =>
  gateway.api.post('/v1/virtual-keys', {
    ...{ name: 'private', provider: 'openai', key: 'sk-x', custom_host: `https://localhost:${front.port}/v1` },
    ...{ configurations, ...body },
  });
const made = async (configurations: Record<string, unknown>, body: Record<string, unknown> = {}): Promise<string> => {
  const { status, text, json } = await make(configurations, body);
  if (status !== 200) throw new Error(text);
  return json.slug;
};
const chat = (slug: string, more: Record<string, unknown> = {}) =>
  gateway.api.post(
    '/v1/chat/completions',
    { model: 'sim', messages: [{ role: 'user', content: 'Hello' }], ...more },
    { headers: { 'x-gateway-virtual-key': slug } },
  );

test('calls, streams and lists show the certificate of their virtual key, and no connection is shared with another', async () => {
  const [one, two] = [await made(tlsOf(a)), await made(tlsOf(b))];
  const before = front.seen.length;
  for (let round = 0; round < 5; round++)
    for (const slug of [one, two]) {
      expect((await chat(slug)).status).toBe(200);
      const stream = await chat(slug, { stream: true });
      expect([stream.status, stream.text.trimEnd().endsWith('[DONE]')]).toEqual([200, true]);
      expect((await gateway.api.get('/v1/models', { headers: { 'x-gateway-virtual-key': slug } })).status).toBe(200);
    }
  // One connection for each of the two certificates, used again and again.
  expect(front.seen.slice(before).sort()).toEqual(['client-a', 'client-b']);
});

test('a virtual key without it, or with that of a stranger, is refused by the server, also beside open connections of others', async () => {
  expect((await chat(await made(tlsOf(a)))).status).toBe(200);
  for (const configurations of [tlsOf(null), tlsOf(stranger)]) {
    const reply = await chat(await made(configurations));
    expect([reply.status, reply.json.error.code]).toEqual([502, expect.stringMatching(/^upstream_/)]);
  }
  expect(front.seen).not.toContain('client-of-strangers');
  // And a server for which none of the key's authorities vouches is not believed.
  const reply = await chat(await made(tlsOf(a, a.cert)));
  expect([reply.status, reply.json.error.code]).toEqual([502, 'upstream_unreachable']);
  const unnamed = await chat(await made(tlsOf(a, null)));
  expect([unnamed.status, unnamed.json.error.code]).toEqual([502, 'upstream_unreachable']);
});

test('a conversation in real time shows it, too, and a call by WebRTC is refused', async () => {
  const slug = await made(tlsOf(b));
  const before = front.seen.length;
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=sim`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'x-gateway-virtual-key': slug },
  } as never);
  const first = await new Promise<string>((resolve, reject) => {
    socket.onmessage = ({ data }) => resolve(String(data));
    socket.onclose = ({ code, reason }) => reject(new Error(`closed ${code} ${reason}`));
  });
  expect(JSON.parse(first).type).toBe('session.created');
  expect(front.seen.slice(before)).toEqual(['client-b']);
  socket.onclose = null;
  socket.close();
  const call = await gateway.api.post('/v1/realtime/calls?model=sim', 'v=0\r\n', {
    headers: { 'x-gateway-virtual-key': slug, 'content-type': 'application/sdp' },
  });
  expect([call.status, call.json.error.code]).toEqual([400, 'unsupported_by_provider']);
});

test('through a proxy it is shown inside the tunnel', async () => {
  const slug = await made(tlsOf(a, distant.authority), { custom_host: `https://${HOST}/v1` });
  expect((await chat(slug)).status).toBe(200);
  const without = await chat(await made(tlsOf(null, distant.authority), { custom_host: `https://${HOST}/v1` }));
  expect(without.status).toBe(502);
  expect(distant.seen).toEqual(['client-a']);
  expect(proxy.asked).toContain(`${HOST}:443`);
});

test('what no server would take is refused when it is saved, with the field', async () => {
  const old = selfSignedCertificate('client-old', { validUntil: '20210101000000Z' });
  const certificate = 'configurations.tls_certificate';
  const key = 'configurations.tls_private_key';
  const authorities = 'configurations.tls_authorities';
  for (const [configurations, param, says] of [
    [{ ...tlsOf(a), tls_certificate: 'nonsense' }, certificate, 'give certificates in PEM'],
    [{ ...tlsOf(a), tls_certificate: `${a.cert}and more` }, certificate, 'nothing else'],
    [{ ...tlsOf(a), tls_certificate: a.cert.replace(/[A-Za-z]{20}/, 'AAAAAAAAAAAAAAAAAAAA') }, certificate, 'PEM'],
    [{ ...tlsOf(a), tls_certificate: 7 }, certificate, 'give a text in PEM'],
    [tlsOf(old), certificate, 'expired at 2021-01-01T00:00:00.000Z'],
    [{ ...tlsOf(a), tls_private_key: 'nonsense' }, key, 'give a private key in PEM'],
    [{ ...tlsOf(a), tls_private_key: a.cert }, key, 'give a private key in PEM'],
    [{ ...tlsOf(a), tls_private_key: b.key }, key, 'is not the key of the certificate'],
    [{ tls_certificate: a.cert }, key, 'is missing'],
    [{ tls_private_key: a.key }, certificate, 'is missing'],
    [{ ...tlsOf(a), tls_authorities: 'nonsense' }, authorities, 'give certificates in PEM'],
  ] as const) {
    const { status, json, text } = await make(configurations);
    expect([status, json.error?.param, json.error?.message]).toEqual([400, param, expect.stringContaining(says)]);
    expect(text).not.toContain('PRIVATE KEY');
  }
  const plain = await make(tlsOf(a), { custom_host: gateway.provider.url });
  expect([plain.status, plain.json.error.message]).toEqual([400, expect.stringContaining('over https')]);
  const inside = await make(tlsOf(a), { provider: 'simulator', key: undefined, custom_host: undefined });
  expect(inside.status).toBe(400);
});

test('a certificate that has ended since is named, and nothing is sent', async () => {
  const end = new Date(Date.now() + 15_000);
  const validUntil = `${end.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;
  const slug = await made(tlsOf(selfSignedCertificate('client-brief', { validUntil })));
  await eventually('it has ended', async () => (await chat(slug)).json.error?.code === 'expired_client_certificate');
  expect((await chat(slug)).status).toBe(400);
});

test('the key is shown to nobody, and callers cannot bring one along', async () => {
  const slug = await made(tlsOf(a));
  const shown = await gateway.api.get(`/v1/virtual-keys/${slug}`);
  const reply = await chat(slug);
  const entry = JSON.stringify(await gateway.logOf(reply));
  const audit = (await gateway.api.get('/v1/audit-logs?page_size=200')).text;
  const [, secret] = /KEY-----\n(.{40})/.exec(a.key)!;
  for (const text of [shown.text, entry, audit]) expect(text).not.toContain(secret!);
  expect(shown.json.configurations.tls_certificate).toBe(a.cert);
  const inline = { provider: 'openai', custom_host: `https://localhost:${front.port}/v1`, api_key: 'sk', ...tlsOf(a) };
  const brought = await gateway.api.get('/v1/models', { headers: { 'x-gateway-config': JSON.stringify(inline) } });
  expect(brought.status).toBe(400);
});

test('a secret store may keep it, and a changed pair is shown from then on', async () => {
  stores.secrets.set('vault pki/models', { certificate: a.cert, key: a.key });
  const slug = await made({
    tls_certificate: { secret: 'vault:pki/models#certificate' },
    tls_private_key: { secret: 'vault:pki/models#key' },
    tls_authorities: front.authority,
  });
  const before = front.seen.length;
  expect((await chat(slug)).status).toBe(200);
  stores.secrets.set('vault pki/models', { certificate: b.cert, key: b.key });
  await eventually('the new pair is shown', async () => {
    expect((await chat(slug)).status).toBe(200);
    return front.seen.slice(before).includes('client-b');
  });
});
