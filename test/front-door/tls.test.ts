import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { selfSignedCertificate } from '../certificate.ts';
import { ADMIN_KEY } from '../gateway.ts';
import {
  eventually,
  forTests,
  type GatewayProcess,
  newDataDir,
  removeDataDir,
  runGateway,
  startProcess,
} from '../process.ts';

let home: string;
let gateway: GatewayProcess;
const files = () => ({ GATEWAY_TLS_CERT_FILE: join(home, 'tls.crt'), GATEWAY_TLS_KEY_FILE: join(home, 'tls.key') });
const write = ({ cert, key }: { cert: string; key: string }) => {
  writeFileSync(files().GATEWAY_TLS_CERT_FILE, cert);
  writeFileSync(files().GATEWAY_TLS_KEY_FILE, key);
};

/** What a client is shown that connects now. */
const shown = (): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(gateway.url);
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', reject);
  });

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${gateway.url}${path}`, {
    ...init,
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'x-gateway-virtual-key': 'demo', 'content-type': 'application/json' },
    tls: { rejectUnauthorized: false },
  } as RequestInit);

const stream = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'Hello' }] });

beforeAll(async () => {
  home = newDataDir();
  write(selfSignedCertificate('localhost'));
  gateway = await startProcess({ environment: { ...forTests, ...files() }, greeting: / on (https:\/\/\S+)/ });
});
afterAll(async () => {
  await gateway.stop();
  removeDataDir(home);
});

test('calls, streams and the console come over TLS, and plain HTTP is not answered', async () => {
  expect(gateway.url).toStartWith('https://');
  expect((await ask('/health')).status).toBe(200);
  expect(await (await ask('/v1/chat/completions', { method: 'POST', body: stream })).text()).toContain('data: [DONE]');
  const { headers } = await ask('/console/');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  const plain = await fetch(gateway.url.replace('https', 'http')).then(
    ({ status }) => status,
    () => 'refused',
  );
  expect(plain).toBe('refused');
});

test('gateway apply checks the certificate before it sends a secret, and takes one that the operator trusts', async () => {
  const file = join(home, 'apply.yaml');
  writeFileSync(file, 'version: 1\n');
  const url = gateway.url.replace('127.0.0.1', 'localhost');
  const apply = (environment: Record<string, string>) =>
    runGateway({
      arguments: ['apply', file, '--url', url],
      environment: { GATEWAY_ADMIN_KEY: ADMIN_KEY, ...environment },
    });
  const stranger = await apply({});
  expect([stranger.exitCode, stranger.errors]).toEqual([1, expect.stringMatching(/certificate/i)]);
  const trusted = await apply({ NODE_EXTRA_CA_CERTS: files().GATEWAY_TLS_CERT_FILE });
  expect([trusted.errors, trusted.exitCode]).toEqual(['', 0]);
});

test('a renewed certificate is taken without a restart; one that cannot be used is told of, and the one before it stays', async () => {
  const first = await shown();
  const { cert } = selfSignedCertificate('other');
  writeFileSync(files().GATEWAY_TLS_CERT_FILE, cert);
  await eventually('the fault is told', () => gateway.errors.includes('is not the key of the certificate'));
  expect(await shown()).toBe(first);
  const open = await ask('/v1/chat/completions', { method: 'POST', body: stream });
  write(selfSignedCertificate('renewed'));
  // One that is made in the very moment may be reset: it waits at a listener that is being closed.
  await eventually('new connections see it', async () => (await shown().catch(() => first)) !== first);
  expect(gateway.errors).toContain('can be used again');
  expect(await open.text()).toContain('data: [DONE]');
  expect((await ask('/health')).status).toBe(200);
});

describe('a start is refused', () => {
  const refused: [string, () => Record<string, string>, string][] = [
    [
      'without a key',
      () => ({ GATEWAY_TLS_CERT_FILE: files().GATEWAY_TLS_CERT_FILE }),
      'GATEWAY_TLS_KEY_FILE is missing',
    ],
    ['without a file', () => ({ ...files(), GATEWAY_TLS_KEY_FILE: join(home, 'none') }), 'cannot be read (ENOENT)'],
    [
      'with something else in it',
      () => ({ ...files(), GATEWAY_TLS_CERT_FILE: files().GATEWAY_TLS_KEY_FILE }),
      'does not hold a certificate in PEM',
    ],
  ];
  test.each(refused)('%s', async (_, environment, said) => {
    const { exitCode, errors } = await runGateway({ environment: { ...forTests, ...environment() } });
    expect([exitCode, errors]).toEqual([1, expect.stringContaining(said)]);
  });
});
