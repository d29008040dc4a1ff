import { expect, test } from 'bun:test';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SettingsError } from './core/filed-secret.ts';
import { Secret } from './core/secret.ts';
import { FILED, unknownVariables, variables } from './settings/variables.ts';
import { readSettings } from './settings.ts';

const encryptionKey = Buffer.alloc(32, 7).toString('base64');
const pemOf = (bits: number) =>
  generateKeyPairSync('rsa', { modulusLength: bits }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const publicPemOf = (pem: string) => createPublicKey(pem).export({ type: 'spki', format: 'pem' }) as string;

test('an empty environment is a whole one', () => {
  const settings = readSettings({});

  expect(settings).toMatchObject({
    host: '127.0.0.1',
    port: 8787,
    dataDir: resolve('.gateway'),
    adminKey: null,
    encryptionKey: null,
    publicUrl: 'http://127.0.0.1:8787',
    databaseUrl: null,
    redisUrl: null,
    jwtPrivateKey: null,
    trustedCustomHosts: [],
    answerCache: 'memory',
    logBodies: true,
    shutdownSeconds: 30,
  });
  expect(Object.isFrozen(settings)).toBe(true);
});

test('an empty or blank variable counts as absent', () => {
  for (const blank of ['', '  ', '\t']) {
    const environment = Object.fromEntries(Object.keys(variables).map((name) => [name, blank]));
    expect({ ...readSettings(environment), environment: null }).toEqual({ ...readSettings({}), environment: null });
  }
});

test('every value is taken, without the spaces around it', () => {
  const settings = readSettings({
    HOST: ' 0.0.0.0 ',
    PORT: '80',
    GATEWAY_DATA_DIR: '/srv/gateway',
    GATEWAY_ADMIN_KEY: 'a-key-of-16-char',
    GATEWAY_ENCRYPTION_KEY: encryptionKey,
    GATEWAY_PUBLIC_URL: 'https://gateway.example.com/',
    DATABASE_URL: 'postgres://user:password@host/name',
    REDIS_URL: 'rediss://host:6379',
    TRUSTED_CUSTOM_HOSTS: ' 127.0.0.1, ,*.models.internal ',
    GATEWAY_LOG_BODIES: 'False',
    GATEWAY_IDLE_TIMEOUT_MS: '0',
    GATEWAY_TOTAL_TIMEOUT_MS: '5000',
  });

  expect(settings).toMatchObject({
    host: '0.0.0.0',
    port: 80,
    dataDir: '/srv/gateway',
    publicUrl: 'https://gateway.example.com',
    trustedCustomHosts: ['127.0.0.1', '*.models.internal'],
    logBodies: false,
    timeouts: { idleMs: 0, totalMs: 5_000 },
  });
  expect(settings.adminKey?.reveal()).toBe('a-key-of-16-char');
  expect(settings.databaseUrl?.reveal()).toBe('postgres://user:password@host/name');
});

test('an IPv6 address stands in brackets in the public address', () => {
  expect(readSettings({ HOST: '::1', PORT: '9000' }).publicUrl).toBe('http://[::1]:9000');
});

const wrong: [variable: keyof typeof variables, value: string, beside?: Record<string, string>][] = [
  ['HOST', 'two words'],
  ['HOST', 'http://host'],
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['PORT', '0x50'],
  ['GATEWAY_ADMIN_KEY', 'fifteen-chars-x'],
  ['GATEWAY_ADMIN_KEY', 'spaces are not possible'],
  ['GATEWAY_ADMIN_KEY', 'schlüssel-mit-umlaut'],
  ['GATEWAY_ENCRYPTION_KEY', 'not base64 at all!'],
  ['GATEWAY_ENCRYPTION_KEY', Buffer.alloc(31).toString('base64')],
  ['GATEWAY_ENCRYPTION_KEY', Buffer.alloc(33).toString('base64')],
  ['GATEWAY_PUBLIC_URL', 'gateway.example.com'],
  ['GATEWAY_PUBLIC_URL', 'ftp://gateway.example.com'],
  ['DATABASE_URL', 'mysql://user:hunter2@host/name', { GATEWAY_ENCRYPTION_KEY: encryptionKey }],
  ['DATABASE_URL', 'user:hunter2@host', { GATEWAY_ENCRYPTION_KEY: encryptionKey }],
  ['REDIS_URL', 'http://:hunter2@host'],
  ['GATEWAY_EGRESS_PROXY', 'proxy.example.com:3128'],
  ['GATEWAY_EGRESS_PROXY', 'socks5://user:hunter2@proxy.example.com:1080'],
  ['GATEWAY_EGRESS_PROXY', 'http://user:hunter2@proxy.example.com:3128/path'],
  ['GATEWAY_EGRESS_PROXY', 'http://user:hunter2@'],
  ['GATEWAY_EGRESS_PROXY', 'http://us%3Aer:hunter2@proxy.example.com'],
  ['GATEWAY_EGRESS_PROXY', 'http://:hunter2@proxy.example.com'],
  ['GATEWAY_EGRESS_PROXY', 'http://user:hunter2%0d@proxy.example.com'],
  ['GATEWAY_EGRESS_PROXY', 'http:///user:hunter2@proxy.example.com'],
  ['GATEWAY_EGRESS_PROXY', 'http://user:hunter2@proxy.\nexample.com'],
  ['GATEWAY_EGRESS_PROXY_EXCEPT', 'intern.example.com'],
  ['GATEWAY_EGRESS_PROXY_EXCEPT', '10.0.0.0/33', { GATEWAY_EGRESS_PROXY: 'http://proxy.example.com:3128' }],
  ['GATEWAY_EGRESS_PROXY_EXCEPT', 'https://intern', { GATEWAY_EGRESS_PROXY: 'http://proxy.example.com:3128' }],
  ['GATEWAY_EGRESS_PROXY_EXCEPT', '.example.com', { GATEWAY_EGRESS_PROXY: 'http://proxy.example.com:3128' }],
  ['GATEWAY_EGRESS_PROXY_TARGET', 'dns', { GATEWAY_EGRESS_PROXY: 'http://proxy.example.com:3128' }],
  ['JWT_PRIVATE_KEY', 'hunter2'],
  ['JWT_PRIVATE_KEY', pemOf(1024)],
  ['GATEWAY_LOG_BODIES', 'yes'],
  ['GATEWAY_LOG_BODY_BYTES', '16777217'],
  ['GATEWAY_LOG_RETENTION_DAYS', '0'],
  ['GATEWAY_LOG_SEARCH', 'team-a,No Slug'],
  ['GATEWAY_METRICS_CALLERS', '-1'],
  ['GATEWAY_MAX_BODY_BYTES', '1023'],
  ['GATEWAY_SHUTDOWN_SECONDS', '1m'],
  ['GATEWAY_CONNECT_TIMEOUT_MS', '1e3'],
  ['GATEWAY_FIRST_BYTE_TIMEOUT_MS', '-5'],
  ['GATEWAY_SECRET_STORES', 'hunter2'],
  ['GATEWAY_SECRET_STORES', '{}'],
  [
    'GATEWAY_SECRET_STORES',
    '[{"name":"a","type":"vault","url":"https://x","workspaces":{},"auth":{"method":"token"}}]',
  ],
  [
    'GATEWAY_SECRET_STORES',
    '[{"name":"a","type":"vault","url":"https://x:hunter2@x","workspaces":{},"auth":{"method":"token","token":"hunter2"}}]',
  ],
  [
    'GATEWAY_SECRET_STORES',
    '[{"name":"a","type":"aws","region":"eu-west-1","workspaces":{},"auth":{"method":"machine","identity":"b"}}]',
  ],
  ['GATEWAY_MACHINE_IDENTITIES', 'true'],
  ['GATEWAY_MACHINE_IDENTITIES', '[{"name":"a","source":"aws-container","workspaces":[]}]'],
  ['GATEWAY_MACHINE_IDENTITIES', '[{"name":"a","source":"elsewhere","workspaces":[]}]'],
  ['GATEWAY_IDLE_TIMEOUT_MS', 'Infinity'],
  ['GATEWAY_TOTAL_TIMEOUT_MS', '99999999999999999999'],
];

for (const [index, [variable, value, beside = {}]] of wrong.entries()) {
  const shown = value.length > 40 ? `${value.slice(0, 30)}…` : value;
  test(`${variable} is refused, case ${index + 1}: ${shown.replaceAll('\n', ' ')}`, () => {
    const read = () => readSettings({ ...beside, [variable]: value });

    expect(read).toThrow(SettingsError);
    expect(read).toThrow(new RegExp(`^${variable} .*; .+\\.$`));
    expect(read).not.toThrow(/hunter2/);
  });
}

test('PostgreSQL needs an encryption key that all nodes share', () => {
  expect(() => readSettings({ DATABASE_URL: 'postgres://host/name' })).toThrow(/^GATEWAY_ENCRYPTION_KEY is missing/);
});

test("the gateway's own variable stands before the one that other programs read, too", () => {
  const others = { DATABASE_URL: 'postgres://litellm/its-own', GATEWAY_ENCRYPTION_KEY: encryptionKey };
  const own = 'postgres://gateway/ours';

  expect(readSettings({ ...others, GATEWAY_DATABASE_URL: own }).databaseUrl?.reveal()).toBe(own);
  expect(() => readSettings({ GATEWAY_DATABASE_URL: 'mysql://x' })).toThrow(/^GATEWAY_DATABASE_URL is not/);
});

test('every secret is taken from its variable or from the file that its name with _FILE gives', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-settings-'));
  const pem = pemOf(2048);
  const inVariables: Record<(typeof FILED)[number], string> = {
    GATEWAY_ADMIN_KEY: 'hunter2-hunter2-hunter2',
    GATEWAY_ENCRYPTION_KEY: encryptionKey,
    GATEWAY_DATABASE_URL: 'postgres://gateway:hunter2@host/name',
    DATABASE_URL: 'postgres://other:hunter2@host/name',
    REDIS_URL: 'redis://:hunter2@host:6379',
    GATEWAY_BLOB_ACCESS_KEY_ID: 'blob-id',
    GATEWAY_BLOB_SECRET_ACCESS_KEY: 'blob-secret',
    GATEWAY_AUDIT_WITNESS_SECRET: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
    GATEWAY_AUDIT_WITNESS_ACCESS_KEY_ID: 'witness-id',
    GATEWAY_AUDIT_WITNESS_SECRET_ACCESS_KEY: 'witness-secret',
    JWT_PRIVATE_KEY: pem.replaceAll('\n', '\\n'),
    JWT_PUBLIC_KEYS_EXTRA: publicPemOf(pem),
    GATEWAY_OIDC_CLIENT_SECRET: 'oidc-secret',
    GATEWAY_EGRESS_PROXY: 'http://gateway:hunter2@proxy.example.com:3128',
    GATEWAY_BACKUP_ACCESS_KEY_ID: 'backup-id',
    GATEWAY_BACKUP_SECRET_ACCESS_KEY: 'backup-secret',
    GATEWAY_BACKUP_KEY: encryptionKey,
    GATEWAY_EXPORT_ACCESS_KEY_ID: 'export-id',
    GATEWAY_EXPORT_SECRET_ACCESS_KEY: 'export-secret',
    GATEWAY_SECRET_STORES: JSON.stringify([
      {
        ...{ name: 'vault', type: 'vault', url: 'https://vault.example.com', workspaces: {} },
        auth: { method: 'token', token: 'hunter2' },
      },
    ]),
  };
  const beside = {
    GATEWAY_BLOB_URL: 's3://files',
    GATEWAY_AUDIT_WITNESS_URL: 'https://witness.example.com',
    GATEWAY_AUDIT_WITNESS_BUCKET: 's3://witness',
    GATEWAY_OIDC_ISSUER: 'https://id.example.com',
    GATEWAY_OIDC_CLIENT_ID: 'gateway',
    GATEWAY_EXPORT_URL: 's3://export',
  };
  const inFiles = Object.fromEntries(
    Object.entries(inVariables).map(([name, value]) => {
      const file = join(folder, name);
      writeFileSync(file, `${value}\n`);
      return [`${name}_FILE`, file];
    }),
  );
  try {
    // A secret hides itself when it is written, before a replacer sees it.
    const revealed = (value: unknown): unknown => {
      if (value instanceof Secret) return value.reveal();
      if (Array.isArray(value)) return value.map(revealed);
      if (value === null || typeof value !== 'object') return value;
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, revealed(each)]));
    };
    const shown = ({ environment: _, ...settings }: ReturnType<typeof readSettings>) => revealed(settings);
    const files = { ...beside, ...inFiles };
    expect(shown(readSettings(files))).toEqual(shown(readSettings({ ...beside, ...inVariables })));
    expect(unknownVariables(files)).toEqual([]);
    for (const name of FILED) {
      const own = name === 'DATABASE_URL' ? { GATEWAY_DATABASE_URL_FILE: '' } : {};
      const read = (more: object) => () => readSettings({ ...files, ...own, ...more });
      expect(read({ [name]: inVariables[name] })).toThrow(`${name}_FILE is set beside ${name}; give one of the two.`);
      expect(read({ [`${name}_FILE`]: join(folder, 'absent') })).toThrow(
        `${name}_FILE names a file that cannot be read`,
      );
      expect(read({ [`${name}_FILE`]: '/dev/null' })).toThrow(`${name}_FILE names a file that is empty`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('no secret shows when settings are printed', () => {
  const { environment: _, ...settings } = readSettings({
    GATEWAY_ADMIN_KEY: 'hunter2-hunter2-hunter2',
    GATEWAY_ENCRYPTION_KEY: encryptionKey,
    DATABASE_URL: 'postgres://user:hunter2@host/name',
    REDIS_URL: 'redis://:hunter2@host',
  });

  for (const printed of [JSON.stringify(settings), Bun.inspect(settings), String(settings.adminKey)]) {
    expect(printed).not.toContain('hunter2');
    expect(printed).not.toContain(encryptionKey);
  }
});

test('variables that start like ours and are none of ours are found', () => {
  expect(unknownVariables({ GATEWAY_ADMIN_KEY: 'x', GATEWAY_ADMIN_KEYS: 'x', OTHER: 'x' })).toEqual([
    'GATEWAY_ADMIN_KEYS',
  ]);
});

test('header aliases are a list of lower-case prefixes that end in a dash', () => {
  const aliases = (value: string) => readSettings({ GATEWAY_HEADER_ALIASES: value }).headerAliases;

  expect(aliases(' x-portkey-, helicone-,x-portkey- ')).toEqual(['x-portkey-', 'helicone-']);
  for (const wrong of ['x-portkey', 'X-Portkey-', '-', 'x--y-', 'x portkey-'])
    expect(() => aliases(wrong)).toThrow('GATEWAY_HEADER_ALIASES holds');
});

test('a header alias may not swallow the headers of others, nor our own', () => {
  const set = (value: string) => () => readSettings({ GATEWAY_HEADER_ALIASES: value });

  expect(set('x-')).toThrow('would swallow x-api-key');
  expect(set('content-')).toThrow('would swallow content-type');
  expect(set('x-gateway-')).toThrow('which is our own');
  expect(set('x-gateway-api-')).toThrow('which is our own');
});

test('several processes need PostgreSQL, and a process number needs to be one of them', () => {
  const database = { DATABASE_URL: 'postgres://user@host/name', GATEWAY_ENCRYPTION_KEY: encryptionKey };
  const read = (environment: Record<string, string>) => readSettings({ ...database, ...environment });

  expect(readSettings({})).toMatchObject({ processes: 1, processNumber: null });
  expect(readSettings({ GATEWAY_PROCESSES: '1' }).processes).toBe(1);
  expect(read({ GATEWAY_PROCESSES: 'Auto' }).processes).toBeGreaterThanOrEqual(1);
  expect(read({ GATEWAY_PROCESSES: '4', GATEWAY_PROCESS_NUMBER: '3' })).toMatchObject({
    processes: 4,
    processNumber: 3,
  });
  expect(() => readSettings({ GATEWAY_PROCESSES: '2' })).toThrow('while DATABASE_URL is missing');
  for (const wrong of ['0', '-1', '1.5', 'many', '257'])
    expect(() => read({ GATEWAY_PROCESSES: wrong })).toThrow(`GATEWAY_PROCESSES is "${wrong}"`);
  expect(() => read({ GATEWAY_PROCESSES: '2', GATEWAY_PROCESS_NUMBER: '2' })).toThrow('GATEWAY_PROCESS_NUMBER is "2"');
});

test('backups in a bucket need a key that seals them, and the embedded store', () => {
  const keys = { GATEWAY_BACKUP_ACCESS_KEY_ID: 'AKID', GATEWAY_BACKUP_SECRET_ACCESS_KEY: 'hunter2' };
  const whole = { ...keys, GATEWAY_BACKUP_URL: 's3://backups/gateway', GATEWAY_BACKUP_KEY: encryptionKey };
  const { backup } = readSettings({ ...whole, GATEWAY_BACKUP_KEEP: '7' });
  expect(backup).toMatchObject({ bucket: { bucket: 'backups', prefix: 'gateway' }, keep: 7, everyMs: 86_400_000 });

  expect(readSettings({}).backup).toMatchObject({ bucket: null, credentials: null, key: null });
  // For addresses on the command line.
  expect(readSettings(keys).backup.credentials?.accessKeyId).toBe('AKID');
  const { GATEWAY_BACKUP_KEY: _, ...unsealed } = whole;
  expect(() => readSettings(unsealed)).toThrow(/^GATEWAY_BACKUP_KEY is missing/);
  expect(() => readSettings({ ...whole, GATEWAY_BACKUP_KEY: 'hunter2' })).toThrow(
    /^GATEWAY_BACKUP_KEY is not 32 bytes/,
  );
  expect(() => readSettings({ ...whole, GATEWAY_BACKUP_SECRET_ACCESS_KEY: '' })).toThrow('needs a pair of keys');
  expect(() => readSettings({ ...whole, GATEWAY_BACKUP_URL: 'https://backups' })).toThrow('is not an s3:// address');
  expect(() => readSettings({ GATEWAY_BACKUP_KEEP: '7' })).toThrow('is set without GATEWAY_BACKUP_URL');
  expect(() => readSettings({ ...whole, GATEWAY_BACKUP_KEEP: '0' })).toThrow('from 1 to 10000');
  const onServer = { ...whole, DATABASE_URL: 'postgres://host/name', GATEWAY_ENCRYPTION_KEY: encryptionKey };
  expect(() => readSettings(onServer)).toThrow(/^GATEWAY_BACKUP_URL is set while DATABASE_URL is.*pg_dump/);
});

test('an export needs a bucket, and a format that exists', () => {
  const keys = { GATEWAY_EXPORT_ACCESS_KEY_ID: 'AKID', GATEWAY_EXPORT_SECRET_ACCESS_KEY: 'hunter2' };
  const exporting = (more: Record<string, string> = {}) =>
    readSettings({ ...keys, GATEWAY_EXPORT_URL: 's3://logs/gateway', ...more }).logExport;

  expect(readSettings({}).logExport).toBeNull();
  expect(exporting()).toMatchObject({ format: 'ndjson', withBodies: true, everyMs: 300_000 });
  expect(exporting({ GATEWAY_EXPORT_FORMAT: 'parquet', GATEWAY_EXPORT_BODIES: 'false' })).toMatchObject({
    format: 'parquet',
    withBodies: false,
  });
  expect(() => exporting({ GATEWAY_EXPORT_FORMAT: 'csv' })).toThrow('is "csv"; give ndjson or parquet');
  expect(() => readSettings({ GATEWAY_EXPORT_FORMAT: 'parquet' })).toThrow('is set without GATEWAY_EXPORT_URL');
  expect(() => readSettings({ GATEWAY_EXPORT_URL: 's3://logs' })).toThrow('GATEWAY_EXPORT_ACCESS_KEY_ID is missing');
});

test('object storage is an s3 address with a pair of keys', () => {
  const keys = { GATEWAY_BLOB_ACCESS_KEY_ID: 'AKID', GATEWAY_BLOB_SECRET_ACCESS_KEY: 'hunter2' };
  const at = (url: string) => readSettings({ ...keys, GATEWAY_BLOB_URL: url }).blobs;

  expect(readSettings({}).blobs).toBeNull();
  expect(at('s3://files')).toMatchObject({
    endpoint: 'https://s3.us-east-1.amazonaws.com',
    region: 'us-east-1',
    bucket: 'files',
    prefix: '',
  });
  expect(at('s3://files/a/b/?endpoint=http://10.0.0.5:9000&region=eu-west-1')).toMatchObject({
    endpoint: 'http://10.0.0.5:9000',
    region: 'eu-west-1',
    prefix: 'a/b',
  });
  expect(JSON.stringify(at('s3://files'))).not.toContain('hunter2');
  for (const wrong of [
    'https://files',
    's3://',
    's3://Files',
    's3://user:hunter2@files',
    's3://files/../x y',
    's3://files/a//b',
    's3://files?region=EU',
    's3://files?endpoint=https://host/path',
    's3://files?endpoint=ftp://host',
    's3://files?color=red',
  ]) {
    expect(() => at(wrong)).toThrow(/^GATEWAY_BLOB_URL (is|has|holds|names) .*give one such as s3:/);
    expect(() => at(wrong)).not.toThrow('hunter2');
  }
  expect(() => readSettings({ GATEWAY_BLOB_URL: 's3://files' })).toThrow('GATEWAY_BLOB_ACCESS_KEY_ID is missing');
  expect(() => readSettings(keys)).toThrow('is set without GATEWAY_BLOB_URL');
});

test('traces go to the standard destination, and to those of the file', () => {
  const dir = mkdtempSync(join(tmpdir(), 'settings-'));
  const file = join(dir, 'destinations.json');
  writeFileSync(
    file,
    '[{"name":"langfuse","endpoint":"https://otel.example.com/api","protocol":"http/json","signals":["traces"]}]',
  );
  const { otel } = readSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318/',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://metrics.internal/push',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YTpi, X-Scope = team ',
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'none',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=front',
    GATEWAY_OTEL_DESTINATIONS_FILE: file,
  });
  rmSync(dir, { recursive: true, force: true });

  expect(otel?.serviceName).toBe('front');
  expect(otel?.destinations.map(({ name, signal, url, isCompressed }) => [name, signal, url, isCompressed])).toEqual([
    ['default', 'traces', 'http://localhost:4318/v1/traces', false],
    ['default', 'metrics', 'http://metrics.internal/push', true],
    ['langfuse', 'traces', 'https://otel.example.com/api/v1/traces', true],
  ]);
  expect(otel?.destinations[0]?.headers).toEqual({ authorization: 'Basic YTpi', 'x-scope': 'team' });
  expect(readSettings({}).otel).toBeNull();
  expect(readSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_SDK_DISABLED: 'TRUE' }).otel).toBeNull();
});

test('settings of traces that cannot be used are refused by name, and no secret of theirs is repeated', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' };
  const dir = mkdtempSync(join(tmpdir(), 'settings-'));
  const file = join(dir, 'destinations.json');
  const bad: [string, Record<string, string>][] = [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://me:s3cret@host' }],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
    ['OTEL_EXPORTER_OTLP_TRACES_COMPRESSION', { ...endpoint, OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'zstd' }],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', { ...endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: '10s' }],
    ['OTEL_EXPORTER_OTLP_HEADERS', { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 's3cret' }],
    ['OTEL_EXPORTER_OTLP_HEADERS', { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'a=s3cret%0d%0ab:c' }],
    ['OTEL_EXPORTER_OTLP_HEADERS', { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'Host=s3cret' }],
    ['OTEL_TRACES_EXPORTER', { ...endpoint, OTEL_TRACES_EXPORTER: 'jaeger' }],
    ['OTEL_TRACES_SAMPLER', { OTEL_TRACES_SAMPLER: 'sometimes' }],
    ['OTEL_TRACES_SAMPLER_ARG', { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.5' }],
    ['OTEL_RESOURCE_ATTRIBUTES', { OTEL_RESOURCE_ATTRIBUTES: 'prod' }],
    ['OTEL_BSP_MAX_QUEUE_SIZE', { OTEL_BSP_MAX_QUEUE_SIZE: '0' }],
    ['OTEL_SDK_DISABLED', { OTEL_SDK_DISABLED: 'yes' }],
    ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: '1' }],
    ['GATEWAY_OTEL_SEMCONV', { GATEWAY_OTEL_SEMCONV: '1.36' }],
    ['GATEWAY_OTEL_SLOW_MS', { GATEWAY_OTEL_SLOW_MS: '-1' }],
    ['GATEWAY_OTEL_DESTINATIONS_FILE', { GATEWAY_OTEL_DESTINATIONS_FILE: join(dir, 'none.json') }],
  ];
  for (const [name, environment] of bad) {
    const failure = thrownBy(() => readSettings(environment));
    expect(failure).toBeInstanceOf(SettingsError);
    expect(failure.message).toStartWith(`${name} `);
    expect(failure.message).not.toContain('s3cret');
  }
  for (const [held, fault] of [
    ['{}', 'no list'],
    ['[]', 'no list'],
    ['[1]', 'no object'],
    ['[{"endpoint":"http://a"}]', 'without a name'],
    ['[{"name":"a","endpoint":"ftp://a"}]', 'without a usable endpoint'],
    ['[{"name":"default","endpoint":"http://a"}]', 'second entry'],
    ['[{"name":"a","endpoint":"http://a","token":"s3cret"}]', 'unknown member "token"'],
    ['[{"name":"a","endpoint":"http://a","headers":{"x":1}}]', 'headers'],
    ['[{"name":"a","endpoint":"http://a","protocol":"grpc"}]', 'protocol'],
    ['[{"name":"a","endpoint":"http://a","signals":["logs"]}]', 'signals'],
    ['[{"name":"a","endpoint":"http://a","timeout":0}]', 'timeout'],
  ]) {
    writeFileSync(file, held!);
    const { message } = thrownBy(() => readSettings({ GATEWAY_OTEL_DESTINATIONS_FILE: file }));
    expect(message).toContain(fault!);
    expect(message).not.toContain('s3cret');
  }
  rmSync(dir, { recursive: true, force: true });
});

function thrownBy(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was refused');
}

test('bodies are searched in all workspaces, in some or in none, and only where they are stored', () => {
  const chosen = (value?: string, more = {}) => readSettings({ GATEWAY_LOG_SEARCH: value, ...more }).logSearch;
  expect([chosen(), chosen('false'), chosen('true'), chosen(' a, b ')]).toEqual([[], [], 'all', ['a', 'b']]);
  expect(() => chosen('a', { GATEWAY_LOG_BODIES: 'false' })).toThrow('GATEWAY_LOG_BODIES is false');
});

test('programs are allowed by exact words, and run as a user that is not root', () => {
  const isRoot = process.getuid?.() === 0;
  const GATEWAY_MCP_COMMANDS = '["/opt/mcp/weather"]';
  const user = (GATEWAY_MCP_USER: string) => () => readSettings({ GATEWAY_MCP_COMMANDS, GATEWAY_MCP_USER });
  expect(readSettings({}).programs.allowed).toEqual([]);
  expect(() => readSettings({ GATEWAY_MCP_COMMANDS: 'npx' })).toThrow('GATEWAY_MCP_COMMANDS is no JSON');
  for (const wrong of ['nobody', '0:10', '10:0', '9-5:5', '1:2:3']) expect(user(wrong)).toThrow('GATEWAY_MCP_USER');
  if (isRoot) {
    expect(() => readSettings({ GATEWAY_MCP_COMMANDS })).toThrow('GATEWAY_MCP_USER is missing');
    expect(user('20000-20031:20000')().programs.user).toEqual({ first: 20_000, last: 20_031, group: 20_000 });
  } else expect(user('20000:20000')).toThrow('does not run as root');
});
