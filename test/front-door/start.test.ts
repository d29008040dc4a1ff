import { afterAll, afterEach, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ADMIN_KEY, startProvider } from '../gateway.ts';
import { createEmptyDatabase } from '../postgres.ts';
import {
  commands,
  eventually,
  forTests,
  type GatewayProcess,
  newDataDir,
  type ProcessOptions,
  removeDataDir,
  runGateway,
  startProcess,
} from '../process.ts';
import { isComplete, openSocket, requestText, streamRequest } from '../socket.ts';

const provider = startProvider();
afterAll(() => provider.stop());

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function given(options: ProcessOptions = {}): Promise<GatewayProcess> {
  const gateway = await startProcess(options);
  cleanups.push(() => gateway.isAlive && gateway.kill());
  return gateway;
}

function givenHome(): string {
  const home = newDataDir();
  cleanups.push(() => removeDataDir(home));
  return home;
}

const key = (fill: number) => Buffer.alloc(32, fill).toString('base64');
const curlIn = (output: string) => /^ {2}(curl [\s\S]*?\}')$/m.exec(output)?.[1] ?? '';
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

async function shell(command: string): Promise<string> {
  const child = Bun.spawn(['sh', '-c', command], { stdout: 'pipe', stderr: 'pipe' });
  return child.stdout.text();
}

test('the first start prints a key once and a curl that works as it is; the second prints a curl only', async () => {
  const home = givenHome();
  const first = await given({ dataDir: home, environment: {} });
  const printed = /shown this once .*: (gw-\S+)/.exec(first.output)?.[1] ?? '';

  expect(printed).toMatch(/^gw-[\w-]{32}$/);
  expect(JSON.parse(await shell(curlIn(first.output))).choices[0].message.content).toContain('simulated');
  expect(modeOf(first.dataDir)).toBe('700');
  for (const name of readdirSync(first.dataDir)) {
    const isFolder = statSync(join(first.dataDir, name)).isDirectory();
    expect([name, modeOf(join(first.dataDir, name))]).toEqual([name, isFolder ? '700' : '600']);
  }
  expect(await first.stop()).toBe(0);

  const second = await given({ dataDir: home, environment: {} });
  expect(second.output).not.toContain(printed);
  expect(second.output).not.toContain('shown this once');
  expect(JSON.parse(await shell(curlIn(second.output))).choices[0].message.content).toContain('simulated');
  const reply = await second.api.get('/v1/admin/organisation', { key: printed });
  expect(reply.status).toBe(200);
  expect(first.errors + second.errors).toBe('');
});

test('a first start that cannot listen leaves the key to be shown by the one that can', async () => {
  const home = givenHome();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => server.close());
  const { port } = server.address() as { port: number };

  const refused = await runGateway({ dataDir: home, environment: { PORT: String(port) } });
  expect(refused.exitCode).toBe(1);
  expect(refused.errors.trim().split('\n')).toEqual([expect.stringContaining(`PORT`)]);
  expect(refused.errors).toContain(String(port));

  const gateway = await given({ dataDir: home, environment: {} });
  expect(gateway.output).toMatch(/shown this once .*: gw-/);
});

test('the gateway is ready after its start, without much work', async () => {
  const gateway = await given();
  expect((await gateway.api.get('/ready')).status).toBe(200);
  // Of the processor: what else runs on this machine is not our time.
  expect(gateway.processorMs()).toBeLessThan(10_000);
});

test('a second process on the same data dir is refused in one sentence and does no harm to the first', async () => {
  const home = givenHome();
  const first = await given({ dataDir: home });

  for (const command of [[], ['migrate']]) {
    const second = await runGateway({ dataDir: home, environment: forTests, arguments: command });
    expect([second.exitCode, second.output]).toEqual([1, '']);
    expect(second.errors.trim().split('\n')).toEqual([expect.stringContaining('Another gateway process is using')]);
  }
  expect((await first.api.get('/v1/api-keys')).status).toBe(200);
  expect(await first.stop()).toBe(0);
});

test('a killed process leaves no lock behind', async () => {
  const home = givenHome();
  await (await given({ dataDir: home })).kill();

  const next = await given({ dataDir: home });

  expect((await next.api.get('/ready')).status).toBe(200);
});

const home = newDataDir();
afterAll(() => removeDataDir(home));
writeFileSync(join(home, 'not-a-folder'), '');

/** Each variable once; `settings.test.ts` knows more ways to get them wrong. */
const wrong: [variable: string, value: string, beside?: Record<string, string>][] = [
  ['HOST', '203.0.113.7'],
  ['PORT', 'eighty'],
  ['GATEWAY_DATA_DIR', join(home, 'not-a-folder')],
  ['GATEWAY_ADMIN_KEY', 'too-short'],
  ['GATEWAY_ENCRYPTION_KEY', 'c2hvcnQ='],
  ['GATEWAY_PUBLIC_URL', 'gateway.example.com'],
  ['DATABASE_URL', 'mysql://user:hunter2-password@host/name', { GATEWAY_ENCRYPTION_KEY: key(1) }],
  ['REDIS_URL', 'http://user:hunter2-password@localhost'],
  ['JWT_PRIVATE_KEY', 'hunter2-password'],
  ['JWT_PRIVATE_KEY_FILE', join(home, 'absent.pem')],
  ['OPENAI_API_KEY_FILE', join(home, 'absent-key')],
  ['TRUSTED_CUSTOM_HOSTS', 'http://127.0.0.1/v1'],
  ['GATEWAY_LOG_BODIES', 'yes'],
  ['GATEWAY_LOG_BODY_BYTES', '1.5'],
  ['GATEWAY_LOG_RETENTION_DAYS', '0'],
  ['GATEWAY_MAX_BODY_BYTES', '10'],
  ['GATEWAY_SHUTDOWN_SECONDS', '1m'],
  ['GATEWAY_CONNECT_TIMEOUT_MS', 'fast'],
  ['GATEWAY_FIRST_BYTE_TIMEOUT_MS', '-5'],
  ['GATEWAY_IDLE_TIMEOUT_MS', '1e3'],
  ['GATEWAY_TOTAL_TIMEOUT_MS', '99999999999'],
  ['GATEWAY_PROCESSES', 'many'],
  ['GATEWAY_PROCESS_NUMBER', '1'],
  ['GATEWAY_BLOB_URL', 'https://user:hunter2-password@host/bucket'],
  ['GATEWAY_BLOB_ACCESS_KEY_ID', 'AKID', { GATEWAY_BLOB_SECRET_ACCESS_KEY: 'hunter2-password' }],
  ['GATEWAY_BLOB_SECRET_ACCESS_KEY', 'hunter2-password'],
];

test('a wrong variable stops the start with one sentence that names it and tells no secret', async () => {
  for (const [variable, value, beside = {}] of wrong) {
    const run = await runGateway({ environment: { ...beside, [variable]: value } });

    expect([variable, value, run.exitCode, run.output]).toEqual([variable, value, 1, '']);
    expect(run.errors.trim().split('\n')).toEqual([
      expect.stringMatching(new RegExp(`^gateway: .*${variable}\\b.*\\.$`)),
    ]);
    expect(run.errors).not.toContain('hunter2');
  }
});

test('an empty variable counts as absent', async () => {
  const names = [...new Set(wrong.map(([variable]) => variable)), 'OPENAI_API_KEY'];
  const blank = Object.fromEntries(names.map((name) => [name, '']));
  const gateway = await given({
    environment: { ...blank, PORT: '0', GATEWAY_DATA_DIR: join(home, 'blank'), GATEWAY_ENCRYPTION_KEY: ' ' },
  });

  expect(gateway.output).toContain('shown this once');
  expect(gateway.url).toStartWith('http://127.0.0.1:');
});

test('a misspelt variable of ours is pointed out, and a proxy that would not be used', async () => {
  const file = join(home, 'admin-key');
  writeFileSync(file, 'an-admin-key-in-a-file\n');
  const misspelt = { GATEWAY_SHUTDOWN_SECOND: '1', HTTPS_PROXY: 'http://proxy.example.com:3128' };
  const gateway = await given({
    environment: { ...forTests, ...misspelt, GATEWAY_ADMIN_KEY: '', GATEWAY_ADMIN_KEY_FILE: file },
  });
  const headers = { 'x-gateway-api-key': 'an-admin-key-in-a-file' };
  expect((await fetch(`${gateway.url}/v1/api-keys`, { headers })).status).toBe(200);

  await eventually('the warning', () => gateway.output.includes('GATEWAY_SHUTDOWN_SECOND is not a setting'));
  expect(gateway.output).not.toContain('GATEWAY_ADMIN_KEY_FILE');
  await eventually('the proxy', () => gateway.output.includes('HTTPS_PROXY is set and not used'));
});

test('PostgreSQL without GATEWAY_ENCRYPTION_KEY is refused', async () => {
  const run = await runGateway({ environment: { DATABASE_URL: 'postgres://user@127.0.0.1:1/name' } });

  expect(run.exitCode).toBe(1);
  expect(run.errors.trim().split('\n')).toEqual([expect.stringContaining('GATEWAY_ENCRYPTION_KEY is missing')]);
});

test('a database sealed with another key is refused, on both stores', async () => {
  const postgres = { ...forTests, DATABASE_URL: await createEmptyDatabase() };
  for (const environment of [forTests, postgres]) {
    const shared = givenHome();
    const right = { ...environment, GATEWAY_ENCRYPTION_KEY: key(1) };
    await (await given({ dataDir: shared, environment: right })).stop();
    const asWrong = { dataDir: shared, environment: { ...environment, GATEWAY_ENCRYPTION_KEY: key(2) } };

    const run = await runGateway(asWrong);
    expect(run.exitCode).toBe(1);
    expect(run.errors.trim().split('\n')).toEqual([
      expect.stringContaining('GATEWAY_ENCRYPTION_KEY is not the key this database was sealed with'),
    ]);

    const doctor = await runGateway({ ...asWrong, arguments: ['doctor'] });
    expect([doctor.exitCode, doctor.output]).toEqual([1, expect.stringMatching(/FAULT .*GATEWAY_ENCRYPTION_KEY/)]);

    expect((await (await given({ dataDir: shared, environment: right })).api.get('/ready')).status).toBe(200);
  }
});

test('a data dir that others may read is still started, and its secrets are closed to them', async () => {
  const shared = givenHome();
  await (await given({ dataDir: shared, environment: {} })).stop();
  const dataDir = join(shared, 'data');
  for (const name of ['admin-key', 'encryption-key']) chmodSync(join(dataDir, name), 0o644);

  await given({ dataDir: shared, environment: {} });

  for (const name of ['admin-key', 'encryption-key']) expect(modeOf(join(dataDir, name))).toBe('600');
});

test('a provider key in the environment, or in a file that it names, makes a virtual key of its name', async () => {
  const file = join(home, 'provider-key');
  writeFileSync(file, 'sk-from-a-file\n');
  const keys = { OPENAI_API_KEY: 'sk-from-the-environment', ANTHROPIC_API_KEY_FILE: file };
  const gateway = await given({ environment: { ...forTests, ...keys } });

  const { json, text } = await gateway.api.get('/v1/virtual-keys');

  const slugs = json.data.map(({ slug }: { slug: string }) => slug);
  expect(slugs).toContain('openai');
  expect(slugs).toContain('anthropic');
  expect(text).not.toContain('sk-from');
});

test('SIGTERM refuses new connections, lets an open stream finish, writes the log and ends with 0', async () => {
  const shared = givenHome();
  const gateway = await given({ dataDir: shared });
  await gateway.given.virtualKey(provider.url);
  const idle = openSocket(gateway.url);
  idle.socket.write(requestText('GET', '/health'));
  await idle.until((received) => received.includes('"ok"'));
  const exchange = openSocket(gateway.url);
  exchange.socket.write(streamRequest(ADMIN_KEY, 'chunk-delay=50, chunks=30, length=60'));
  await exchange.until((received) => received.includes('data: '));

  gateway.signal('SIGTERM');

  await eventually('new connections are refused', () =>
    fetch(`${gateway.url}/health`).then(
      () => false,
      () => true,
    ),
  );
  expect(exchange.isOver).toBe(false);
  expect(gateway.isAlive).toBe(true);
  await exchange.until(isComplete);
  expect(await gateway.exited).toBe(0);
  expect(gateway.output).toContain('Stopped.');
  expect(gateway.errors).toBe('');

  const next = await given({ dataDir: shared });
  const id = /^x-gateway-request-id: *(\S+)/im.exec(exchange.received)?.[1];
  expect((await next.api.get(`/v1/logs/${id}`)).json).toMatchObject({ status: 200, is_stream: true, failed_by: null });
});

test('a request on a kept connection while the process stops is refused, if it is answered at all', async () => {
  const gateway = await given();
  await gateway.given.virtualKey(provider.url);
  const kept = openSocket(gateway.url);
  kept.socket.write(streamRequest(ADMIN_KEY, 'chunk-delay=50, chunks=20, length=40'));
  await kept.until((received) => received.includes('data: '));
  gateway.signal('SIGTERM');
  await eventually('it stops', () => gateway.output.includes('SIGTERM'));

  // Sent after the first answer has ended, on the same connection.
  await kept.until(isComplete);
  kept.socket.write(requestText('GET', '/health'));
  await kept.over;

  const second = kept.received.slice(kept.received.lastIndexOf('0\r\n\r\n') + 5);
  if (second !== '') expect(second).toStartWith('HTTP/1.1 503 ');
  expect(await gateway.exited).toBe(0);
});

test('an answer that a slow client is still reading is not lost to a stop', async () => {
  const gateway = await given();
  await gateway.given.virtualKey(provider.url);
  const size = 12_000_000;
  const exchange = openSocket(gateway.url);
  const head = { 'x-gateway-api-key': ADMIN_KEY, 'x-gateway-virtual-key': 'sim', connection: 'close' };
  exchange.socket.write(requestText('GET', `/v1/bytes/${size}`, head));
  await exchange.until((received) => received.includes('\r\n\r\n'));
  exchange.socket.pause();
  await Bun.sleep(300);

  gateway.signal('SIGTERM');
  await Bun.sleep(500);
  exchange.socket.resume();

  await exchange.over;
  expect(exchange.receivedBytes).toBeGreaterThan(size);
  expect(await gateway.exited).toBe(0);
});

test('a stream that outlasts GATEWAY_SHUTDOWN_SECONDS is cut and logged, and the process still ends with 0', async () => {
  const shared = givenHome();
  const gateway = await given({ dataDir: shared, environment: { ...forTests, GATEWAY_SHUTDOWN_SECONDS: '1' } });
  await gateway.given.virtualKey(provider.url);
  const exchange = openSocket(gateway.url);
  exchange.socket.write(streamRequest(ADMIN_KEY, 'stall=after:2'));
  await exchange.until((received) => received.includes('data: '));
  const startedAt = performance.now();

  const exitCode = await gateway.stop();

  expect(exitCode).toBe(0);
  expect(performance.now() - startedAt).toBeGreaterThan(900);
  expect(gateway.output).toContain('1 requests were still open and were cut');
  await exchange.over;
  expect(isComplete(exchange.received)).toBe(false);
  await eventually('the provider is let go', () => provider.simulator.open === 0);
  const next = await given({ dataDir: shared });
  const id = /^x-gateway-request-id: *(\S+)/im.exec(exchange.received)?.[1];
  expect((await next.api.get(`/v1/logs/${id}`)).json).toMatchObject({ status: 200, is_stream: true });
});

test('doctor finds a healthy installation healthy, before and after the first start, and changes nothing', async () => {
  const shared = givenHome();
  const before = await runGateway({ dataDir: shared, arguments: ['doctor'] });
  expect([before.exitCode, before.errors]).toEqual([0, '']);
  expect(existsSync(join(shared, 'data'))).toBe(false);

  await (await given({ dataDir: shared, environment: {} })).stop();
  const after = await runGateway({ dataDir: shared, arguments: ['doctor'] });
  expect([after.exitCode, after.output]).toEqual([0, expect.stringContaining('The gateway can start.')]);
});

test('doctor names a taken port, a running gateway, a bad trusted host and an unreadable database', async () => {
  const shared = givenHome();
  const gateway = await given({ dataDir: shared });
  const { port } = new URL(gateway.url);
  const diagnose = (environment: Record<string, string>) =>
    runGateway({ dataDir: shared, arguments: ['doctor'], environment: { ...forTests, ...environment } });

  const running = await diagnose({ PORT: port });
  expect([running.exitCode, running.output]).toEqual([1, expect.stringMatching(/FAULT .*lock .*Another gateway/)]);
  expect(running.output).toMatch(new RegExp(`FAULT .*port .*127\\.0\\.0\\.1:${port} is taken`));
  await gateway.stop();

  const untrusted = await diagnose({ TRUSTED_CUSTOM_HOSTS: 'https://x' });
  expect([untrusted.exitCode, untrusted.output]).toEqual([1, expect.stringMatching(/FAULT .*TRUSTED_CUSTOM_HOSTS/)]);

  writeFileSync(join(shared, 'data/state.db'), 'this is no database');
  const damaged = await diagnose({});
  expect([damaged.exitCode, damaged.output]).toEqual([1, expect.stringMatching(/FAULT .*store .*state\.db/)]);

  const wrongVariable = await diagnose({ PORT: 'eighty' });
  expect([wrongVariable.exitCode, wrongVariable.errors]).toEqual([1, expect.stringContaining('PORT')]);
});

test('doctor says when PostgreSQL does not answer', async () => {
  const environment = { DATABASE_URL: 'postgres://user@127.0.0.1:1/name', GATEWAY_ENCRYPTION_KEY: key(1) };

  const run = await runGateway({ arguments: ['doctor'], environment });

  expect([run.exitCode, run.output]).toEqual([1, expect.stringMatching(/FAULT .*store .*PostgreSQL/)]);
});

test('migrate brings either store up to date and says what it did', async () => {
  const postgres = { DATABASE_URL: await createEmptyDatabase(), GATEWAY_ENCRYPTION_KEY: key(1) };
  for (const environment of [{}, postgres] as Record<string, string>[]) {
    const options = { dataDir: givenHome(), arguments: ['migrate'], environment };
    const first = await runGateway(options);
    expect([first.exitCode, first.output]).toEqual([0, expect.stringMatching(/^Applied \d{4}-/)]);
    const second = await runGateway(options);
    expect([second.exitCode, second.output]).toEqual([0, 'The database is up to date.\n']);
  }
});

test('version, help and an unknown command answer without touching anything', async () => {
  const shared = givenHome();
  const run = (...words: string[]) => runGateway({ dataDir: shared, arguments: words });
  const { version } = JSON.parse(readFileSync(join(import.meta.dir, '../../package.json'), 'utf8'));

  expect(await run('version')).toEqual({ exitCode: 0, output: `${version}\n`, errors: '' });
  expect((await run('--help')).output).toContain('gateway doctor');
  const unknown = await run('frobnicate');
  expect([unknown.exitCode, unknown.output]).toEqual([2, '']);
  expect(unknown.errors).toContain('"frobnicate" is not a command');
  expect((await run('serve', 'twice')).exitCode).toBe(2);
  expect(existsSync(join(shared, 'data'))).toBe(false);
});

test('bin/gateway starts from any folder, also through a link', async () => {
  const elsewhere = givenHome();
  mkdirSync(join(elsewhere, 'bin'));
  const link = join(elsewhere, 'bin', 'gateway');
  await Bun.$`ln -s ${commands.bin[0]} ${link}`.quiet();

  const gateway = await given({ command: [link], cwd: '/' });

  expect((await gateway.api.get('/health')).status).toBe(200);
  expect(await gateway.stop()).toBe(0);
});
