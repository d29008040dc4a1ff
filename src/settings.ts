import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { WitnessSettings } from './audit-witnesses.ts';
import type { OidcProvider } from './auth/oidc.ts';
import { isSlug } from './core/ids.ts';
import { hostOf, LOCAL_SERVERS, type LocalServer } from './core/local-models.ts';
import { Secret } from './core/secret.ts';
import type { ExportSettings } from './exports/settings.ts';
import type { S3Place } from './files/s3.ts';
import { readS3Url, S3_URL_FORM } from './files/s3-url.ts';
import { USUAL_BODY } from './http/arriving.ts';
import type { Timeouts } from './http/upstream.ts';
import { type OtelSettings, otelVariables, readOtel } from './telemetry/otel/settings.ts';
import type { SearchedWorkspaces } from './telemetry/search/chosen.ts';

/** A variable whose value cannot be used: one sentence with its name, the fault and the right form. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** Everything the environment decides, read once, checked and frozen. Nothing else reads `process.env`. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  /** How many processes share the port. */
  readonly processes: number;
  /** Which of them this one is, from 0; null: it is not one of several. */
  readonly processNumber: number | null;
  readonly dataDir: string;
  /** Null: one is generated at the first start and kept in the data dir. */
  readonly adminKey: Secret | null;
  /** 32 bytes, base64. Null: generated and kept in the data dir (embedded store only). */
  readonly encryptionKey: Secret | null;
  readonly publicUrl: string;
  readonly databaseUrl: Secret | null;
  readonly redisUrl: Secret | null;
  /** Null: blobs lie in PostgreSQL when there is one, else in the data dir. */
  readonly blobs: S3Place | null;
  /** Where ends of the audit log are kept outside of this installation. */
  readonly auditWitnesses: WitnessSettings;
  /** PEM, checked to be RSA of at least 2048 bits. */
  readonly jwtPrivateKey: Secret | null;
  /** PEM each, published beside the key that signs: keys that come next, and those that have been in use. */
  readonly jwtPublicKeysExtra: readonly string[];
  /** Origins of pages that may call MCP servers, beside the gateway's own and this machine's. */
  readonly allowedOrigins: readonly string[];
  readonly trustedCustomHosts: readonly string[];
  /** Model servers of this machine, each with a virtual key. */
  readonly localModels: readonly LocalServer[];
  /** Prefixes of request headers that are understood like `x-gateway-`. */
  readonly headerAliases: readonly string[];
  /** In which headers a trusted proxy says where a client is; lower case. Null: nowhere. */
  readonly clientAddressHeader: string | null;
  readonly countryHeader: string | null;
  /** Whether the country of a client is looked up by its address where no header tells it. */
  readonly hasCountryTable: boolean;
  /** Where people sign in. Null: only with passwords. */
  readonly oidc: OidcProvider | null;
  /** The authorization server for MCP clients. */
  readonly oauth: {
    /** Whether clients may register themselves. */
    readonly registration: boolean;
    readonly tokenSeconds: number;
    readonly refreshDays: number;
  };
  /** What a model's plain name does where no provider is chosen and several virtual keys could be meant. */
  readonly plainModels: 'first' | 'unambiguous' | 'off';
  /** Where answers are kept for configs with a cache. */
  readonly answerCache: 'memory' | 'disk' | 'redis';
  readonly logBodies: boolean;
  readonly logBodyBytes: number;
  readonly logRetentionDays: number;
  /** Workspaces whose bodies are found by their words. */
  readonly logSearch: SearchedWorkspaces;
  /** Null: the request log is exported nowhere. */
  readonly logExport: ExportSettings | null;
  /** What figures are kept by, and for how long. */
  readonly analytics: {
    readonly metadataKeys: readonly string[];
    readonly keepDays: { readonly minutes: number; readonly hours: number; readonly days: number };
  };
  /** How many callers metrics tell apart. */
  readonly metricsCallers: number;
  /** How often alerts are looked at. */
  readonly alertsSeconds: number;
  readonly maxBodyBytes: number;
  /** The longest pause between two pieces of a request body; 0: none is too long. */
  readonly bodyPauseMs: number;
  /** How many requests of one address may be under way at once; 0: any number. */
  readonly connectionsPerAddress: number;
  /** The most requests of one batch at once. */
  readonly batchRequests: number;
  readonly shutdownSeconds: number;
  /** How long a run of an assistant may take, waiting for tool outputs included. */
  readonly runSeconds: number;
  /** Where and how code of models is run. */
  readonly interpreter: {
    readonly isOn: boolean;
    /** Null: those that were installed with the gateway. */
    readonly deno: string | null;
    readonly pyodide: string | null;
    /** A folder of packages for Python. Null: the standard library alone. */
    readonly wheels: string | null;
    readonly cellSeconds: number;
    readonly memoryMb: number;
    readonly processes: number;
    /** Whether code is run only where every fence of the kernel is there. */
    readonly areFencesRequired: boolean;
  };
  /** By what vector stores find meaning. Null: they are searched by words alone. */
  readonly embeddings: {
    /** The slug of a virtual key; a workspace that has none of that name has no vectors. */
    readonly virtualKey: string;
    readonly model: { readonly name: string; readonly dimensions: number | null };
  } | null;
  readonly timeouts: Timeouts;
  /** The operator's own prices. Null: the built-in list alone. */
  readonly pricesFile: string | null;
  /** Lists of prices that are taken over: by whose signature, and from where by itself. */
  readonly pricesSync: { readonly url: string | null; readonly key: string | null };
  /** Where traces and metrics go. Null: nowhere. */
  readonly otel: OtelSettings | null;
  /** Every variable that could be a provider's key; the registry decides which are. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Each variable with its meaning and default; `docs/configuration.md` is held equal to this list by a test. */
export const variables = {
  HOST: 'listen address',
  PORT: 'listen port',
  GATEWAY_PROCESSES: 'processes that share the port',
  GATEWAY_PROCESS_NUMBER: 'which of them this one is; set by the gateway itself',
  GATEWAY_DATA_DIR: 'embedded database, files, generated secrets',
  GATEWAY_ADMIN_KEY: 'bootstrap key with every scope',
  GATEWAY_ENCRYPTION_KEY: 'master secret for stored credentials',
  GATEWAY_PUBLIC_URL: 'public address',
  GATEWAY_DATABASE_URL: 'PostgreSQL; stands before DATABASE_URL',
  DATABASE_URL: 'PostgreSQL',
  REDIS_URL: 'Redis',
  GATEWAY_BLOB_URL: 'S3-compatible storage for files',
  GATEWAY_BLOB_ACCESS_KEY_ID: 'its access key',
  GATEWAY_BLOB_SECRET_ACCESS_KEY: 'its secret',
  GATEWAY_AUDIT_WITNESS_FILE: 'file to which ends of the audit log are added',
  GATEWAY_AUDIT_WITNESS_URL: 'webhook that is told ends of the audit log',
  GATEWAY_AUDIT_WITNESS_SECRET: 'signs what it is told',
  GATEWAY_AUDIT_WITNESS_BUCKET: 'S3-compatible storage that keeps ends of the audit log',
  GATEWAY_AUDIT_WITNESS_ACCESS_KEY_ID: 'its access key',
  GATEWAY_AUDIT_WITNESS_SECRET_ACCESS_KEY: 'its secret',
  JWT_PRIVATE_KEY: 'signs identity tokens',
  JWT_PRIVATE_KEY_FILE: 'file that holds JWT_PRIVATE_KEY',
  JWT_PUBLIC_KEYS_EXTRA: 'public keys published beside its own',
  JWT_PUBLIC_KEYS_EXTRA_FILE: 'file that holds JWT_PUBLIC_KEYS_EXTRA',
  TRUSTED_CUSTOM_HOSTS: 'hosts that may be private',
  GATEWAY_LOCAL_MODELS: 'model servers of this machine that may be called',
  GATEWAY_ALLOWED_ORIGINS: 'origins of pages that may call MCP servers',
  GATEWAY_HEADER_ALIASES: 'prefixes of request headers understood like x-gateway-',
  GATEWAY_CLIENT_IP_HEADER: 'header in which a trusted proxy gives the address of the client',
  GATEWAY_COUNTRY_HEADER: 'header in which a trusted proxy gives the country of the client',
  GATEWAY_COUNTRY_TABLE: 'whether the country of a client is looked up by its address',
  GATEWAY_OIDC_ISSUER: 'identity provider that people sign in with',
  GATEWAY_OIDC_CLIENT_ID: 'what it calls the gateway',
  GATEWAY_OIDC_CLIENT_SECRET: 'by which it knows the gateway',
  GATEWAY_OIDC_NEW_USERS: 'what happens when a person without an invite signs in',
  GATEWAY_OAUTH_REGISTRATION: 'whether MCP clients may register themselves',
  GATEWAY_OAUTH_TOKEN_SECONDS: 'how long an access token for MCP lives',
  GATEWAY_OAUTH_REFRESH_DAYS: 'how long an MCP client may stay away before its user is asked again',
  GATEWAY_PLAIN_MODELS: "whether a model's plain name chooses its virtual key: first, unambiguous or off",
  GATEWAY_ANSWER_CACHE: 'where answers are kept for configs with a cache: memory, disk or redis',
  GATEWAY_LOG_BODIES: 'store request and response bodies',
  GATEWAY_LOG_BODY_BYTES: 'most bytes stored of each body',
  GATEWAY_LOG_RETENTION_DAYS: 'age at which log entries and feedback are deleted',
  GATEWAY_LOG_SEARCH: 'workspaces whose stored bodies are found by their words',
  GATEWAY_ANALYTICS_METADATA_KEYS: 'keys of metadata by which figures are kept',
  GATEWAY_ANALYTICS_MINUTES_KEPT_DAYS: 'how long figures are kept by the minute',
  GATEWAY_ANALYTICS_HOURS_KEPT_DAYS: 'how long figures are kept by the hour',
  GATEWAY_ANALYTICS_DAYS_KEPT_DAYS: 'how long figures are kept by the day',
  GATEWAY_METRICS_CALLERS: 'most callers that metrics tell apart',
  GATEWAY_ALERTS_SECONDS: 'how often alerts are looked at',
  GATEWAY_PRICES_FILE: 'prices of models',
  GATEWAY_EXPORT_URL: 'S3-compatible storage to which the request log is exported',
  GATEWAY_EXPORT_ACCESS_KEY_ID: 'its access key',
  GATEWAY_EXPORT_SECRET_ACCESS_KEY: 'its secret',
  GATEWAY_EXPORT_FORMAT: '`ndjson`, compressed, or `parquet`',
  GATEWAY_EXPORT_BODIES: 'export bodies too, where they are stored',
  GATEWAY_EXPORT_EVERY_SECONDS: 'how often what is new is exported',
  GATEWAY_PRICES_SYNC_URL: 'a signed list of prices that is fetched every six hours',
  GATEWAY_PRICES_SYNC_KEY: 'the public key by which lists of prices are signed',
  GATEWAY_MAX_BODY_BYTES: 'largest request body',
  GATEWAY_BODY_TIMEOUT_MS: 'limit between two pieces of a request body',
  GATEWAY_CONNECTIONS_PER_ADDRESS: 'most requests of one client address at once',
  GATEWAY_BATCH_REQUESTS: 'most requests of one batch at once',
  GATEWAY_SHUTDOWN_SECONDS: 'how long open requests may finish after SIGTERM',
  GATEWAY_RUN_SECONDS: 'how long a run of an assistant may take',
  GATEWAY_INTERPRETER: 'run code that models write',
  GATEWAY_INTERPRETER_DENO: 'executable of Deno, in which that code runs',
  GATEWAY_INTERPRETER_PYODIDE: 'folder of Pyodide, the Python for it',
  GATEWAY_INTERPRETER_WHEELS: 'folder of packages for that Python',
  GATEWAY_INTERPRETER_SECONDS: 'how long code may run',
  GATEWAY_INTERPRETER_MEMORY_MB: 'how much memory code may have',
  GATEWAY_INTERPRETER_PROCESSES: 'most sandboxes for code at once',
  GATEWAY_INTERPRETER_FENCES: 'whether code is run where the kernel fences it in less',
  GATEWAY_EMBEDDINGS_VIRTUAL_KEY: 'virtual key whose provider makes the vectors of vector stores',
  GATEWAY_EMBEDDINGS_MODEL: 'model that makes them',
  GATEWAY_EMBEDDINGS_DIMENSIONS: 'how many numbers they have',
  GATEWAY_CONNECT_TIMEOUT_MS: 'limit for reaching a provider',
  GATEWAY_FIRST_BYTE_TIMEOUT_MS: 'limit from sending to the first byte of the answer',
  GATEWAY_IDLE_TIMEOUT_MS: 'limit between two pieces of an answer',
  GATEWAY_TOTAL_TIMEOUT_MS: 'limit of a whole exchange',
  ...otelVariables,
} as const;

/** Empty counts as absent. */
type Get = (name: keyof typeof variables) => string | undefined;

const refuse = (name: keyof typeof variables, fault: string, form: string): never => {
  throw new SettingsError(`${name} ${fault}; ${form}.`);
};

/** Reads and checks the environment. An empty variable counts as absent. */
export function readSettings(env: Environment): Settings {
  const get: Get = (name) => env[name]?.trim() || undefined;

  const wholeNumber = (name: keyof typeof variables, fallback: number, min: number, max: number): number => {
    const value = get(name);
    if (value === undefined) return fallback;
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) refuse(name, `is "${value}"`, `give a whole number from ${min} to ${max}`);
    return number;
  };
  const flag = (name: keyof typeof variables, fallback: boolean): boolean => {
    const value = get(name)?.toLowerCase();
    if (value === undefined) return fallback;
    if (value === 'true' || value === 'false') return value === 'true';
    return refuse(name, `is "${value}"`, 'give true or false');
  };

  const host = get('HOST') ?? '127.0.0.1';
  if (!/^[a-zA-Z0-9.:_-]+$/.test(host))
    refuse('HOST', `is "${host}"`, 'give an address or a host name such as 0.0.0.0');
  const port = wholeNumber('PORT', 8787, 0, 65_535);
  const localModels = localModelsOf(get('GATEWAY_LOCAL_MODELS'));
  // Other programs read DATABASE_URL, too, and an environment that is shared with one has that one's database in it.
  const ownDatabase = get('GATEWAY_DATABASE_URL');
  const databaseUrl = urlOf(
    ownDatabase ?? get('DATABASE_URL'),
    ownDatabase ? 'GATEWAY_DATABASE_URL' : 'DATABASE_URL',
    ['postgres:', 'postgresql:'],
    'postgres://user:password@host:5432/name',
  );
  const redisUrl = urlOf(get('REDIS_URL'), 'REDIS_URL', ['redis:', 'rediss:'], 'redis://host:6379');
  const processes = processesOf(get('GATEWAY_PROCESSES'), databaseUrl !== undefined);
  const encryptionKey = encryptionKeyOf(get('GATEWAY_ENCRYPTION_KEY'));
  if (databaseUrl && !encryptionKey) {
    refuse(
      'GATEWAY_ENCRYPTION_KEY',
      'is missing while DATABASE_URL is set',
      'give every node the same 32 bytes in base64 (openssl rand -base64 32)',
    );
  }
  const logRetentionDays = wholeNumber('GATEWAY_LOG_RETENTION_DAYS', 30, 1, 3_650);
  const usualHours = Math.max(400, logRetentionDays);
  const hoursKeptDays = wholeNumber('GATEWAY_ANALYTICS_HOURS_KEPT_DAYS', usualHours, logRetentionDays, 3_650);
  const publicUrl = get('GATEWAY_PUBLIC_URL') ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  urlOf(publicUrl, 'GATEWAY_PUBLIC_URL', ['http:', 'https:'], 'https://gateway.example.com');

  return Object.freeze({
    host,
    port,
    processes,
    processNumber: get('GATEWAY_PROCESS_NUMBER') ? wholeNumber('GATEWAY_PROCESS_NUMBER', 0, 0, processes - 1) : null,
    dataDir: resolve(get('GATEWAY_DATA_DIR') ?? '.gateway'),
    adminKey: adminKeyOf(get('GATEWAY_ADMIN_KEY')),
    encryptionKey,
    publicUrl: publicUrl.replace(/\/+$/, ''),
    databaseUrl: databaseUrl ? new Secret(databaseUrl) : null,
    redisUrl: redisUrl ? new Secret(redisUrl) : null,
    blobs: s3Of(get, ['GATEWAY_BLOB_URL', 'GATEWAY_BLOB_ACCESS_KEY_ID', 'GATEWAY_BLOB_SECRET_ACCESS_KEY']),
    auditWitnesses: auditWitnessesOf(get),
    logExport: logExportOf(get, {
      withBodies: flag('GATEWAY_EXPORT_BODIES', true),
      everyMs: wholeNumber('GATEWAY_EXPORT_EVERY_SECONDS', 300, 1, 86_400) * 1_000,
    }),
    jwtPrivateKey: jwtPrivateKeyOf(get),
    jwtPublicKeysExtra: jwtPublicKeysOf(get),
    allowedOrigins: originsOf(get('GATEWAY_ALLOWED_ORIGINS')),
    trustedCustomHosts: [...listOf(get('TRUSTED_CUSTOM_HOSTS')), ...localModels.map(hostOf)],
    localModels,
    headerAliases: headerAliasesOf(get('GATEWAY_HEADER_ALIASES')),
    clientAddressHeader: headerNameOf('GATEWAY_CLIENT_IP_HEADER', get('GATEWAY_CLIENT_IP_HEADER')),
    countryHeader: headerNameOf('GATEWAY_COUNTRY_HEADER', get('GATEWAY_COUNTRY_HEADER')),
    hasCountryTable: flag('GATEWAY_COUNTRY_TABLE', false),
    oidc: oidcOf(get),
    oauth: {
      registration: flag('GATEWAY_OAUTH_REGISTRATION', false),
      tokenSeconds: wholeNumber('GATEWAY_OAUTH_TOKEN_SECONDS', 3_600, 60, 86_400),
      refreshDays: wholeNumber('GATEWAY_OAUTH_REFRESH_DAYS', 30, 1, 365),
    },
    plainModels: plainModelsOf(get('GATEWAY_PLAIN_MODELS')),
    answerCache: answerCacheOf(get('GATEWAY_ANSWER_CACHE'), redisUrl),
    logBodies: flag('GATEWAY_LOG_BODIES', true),
    logBodyBytes: wholeNumber('GATEWAY_LOG_BODY_BYTES', 262_144, 0, 16_777_216),
    logRetentionDays,
    logSearch: logSearchOf(get('GATEWAY_LOG_SEARCH'), flag('GATEWAY_LOG_BODIES', true)),
    analytics: {
      metadataKeys: metadataKeysOf(get('GATEWAY_ANALYTICS_METADATA_KEYS')),
      keepDays: {
        minutes: wholeNumber('GATEWAY_ANALYTICS_MINUTES_KEPT_DAYS', 3, 1, 90),
        hours: hoursKeptDays,
        days: wholeNumber('GATEWAY_ANALYTICS_DAYS_KEPT_DAYS', 3_650, 30, 36_500),
      },
    },
    metricsCallers: wholeNumber('GATEWAY_METRICS_CALLERS', 1_000, 0, 100_000),
    alertsSeconds: wholeNumber('GATEWAY_ALERTS_SECONDS', 30, 1, 3_600),
    maxBodyBytes: wholeNumber('GATEWAY_MAX_BODY_BYTES', 1_073_741_824, 1_024, 1_099_511_627_776),
    bodyPauseMs: wholeNumber('GATEWAY_BODY_TIMEOUT_MS', USUAL_BODY.pauseMs, 0, 3_600_000),
    connectionsPerAddress: wholeNumber('GATEWAY_CONNECTIONS_PER_ADDRESS', 0, 0, 1_000_000),
    batchRequests: wholeNumber('GATEWAY_BATCH_REQUESTS', 64, 1, 4_096),
    shutdownSeconds: wholeNumber('GATEWAY_SHUTDOWN_SECONDS', 30, 0, 3_600),
    runSeconds: wholeNumber('GATEWAY_RUN_SECONDS', 600, 1, 86_400),
    interpreter: {
      isOn: flag('GATEWAY_INTERPRETER', true),
      deno: pathOf(get('GATEWAY_INTERPRETER_DENO')),
      pyodide: pathOf(get('GATEWAY_INTERPRETER_PYODIDE')),
      wheels: pathOf(get('GATEWAY_INTERPRETER_WHEELS')),
      cellSeconds: wholeNumber('GATEWAY_INTERPRETER_SECONDS', 60, 1, 600),
      memoryMb: wholeNumber('GATEWAY_INTERPRETER_MEMORY_MB', 512, 64, 3_072),
      processes: wholeNumber('GATEWAY_INTERPRETER_PROCESSES', 4, 1, 64),
      areFencesRequired: fencesOf(get('GATEWAY_INTERPRETER_FENCES')),
    },
    embeddings: embeddingsOf(get, () => wholeNumber('GATEWAY_EMBEDDINGS_DIMENSIONS', 0, 1, 8_192)),
    timeouts: {
      connectMs: wholeNumber('GATEWAY_CONNECT_TIMEOUT_MS', 10_000, 0, 600_000),
      firstByteMs: wholeNumber('GATEWAY_FIRST_BYTE_TIMEOUT_MS', 600_000, 0, 86_400_000),
      idleMs: wholeNumber('GATEWAY_IDLE_TIMEOUT_MS', 300_000, 0, 86_400_000),
      totalMs: wholeNumber('GATEWAY_TOTAL_TIMEOUT_MS', 0, 0, 86_400_000),
    },
    pricesFile: pathOf(get('GATEWAY_PRICES_FILE')),
    pricesSync: pricesSyncOf(get),
    otel: readOtel({ get, refuse, readFile: (path) => readFileSync(path, 'utf8') }),
    environment: env,
  });
}

function logSearchOf(value: string | undefined, hasBodies: boolean): SearchedWorkspaces {
  if (value === undefined || value === 'false') return [];
  if (!hasBodies)
    refuse(
      'GATEWAY_LOG_SEARCH',
      `is "${value}" while GATEWAY_LOG_BODIES is false`,
      'only bodies that are stored are searched',
    );
  if (value === 'true') return 'all';
  const slugs = listOf(value);
  for (const slug of slugs)
    if (!isSlug(slug))
      refuse('GATEWAY_LOG_SEARCH', `holds "${slug}"`, 'give true, false, or slugs of workspaces with commas');
  return slugs;
}

const listOf = (value: string | undefined): string[] =>
  (value ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);

function localModelsOf(value: string | undefined): readonly LocalServer[] {
  if (value === 'true') return LOCAL_SERVERS;
  return listOf(value).map((name) => {
    const known = LOCAL_SERVERS.find(({ slug }) => slug === name);
    const names = LOCAL_SERVERS.map(({ slug }) => slug).join(', ');
    return known ?? refuse('GATEWAY_LOCAL_MODELS', `holds "${name}"`, `give true, or some of ${names}`);
  });
}

/** Headers that mean something else than another gateway's wishes. */
const OTHER_HEADERS = [
  'accept-encoding',
  'anthropic-version',
  'content-type',
  'if-match',
  'openai-organization',
  'proxy-authorization',
  'transfer-encoding',
  'x-api-key',
  'x-forwarded-for',
  'x-goog-api-key',
  'x-real-ip',
  'x-request-id',
  'x-stainless-lang',
];

function headerAliasesOf(value: string | undefined): string[] {
  const aliases = [...new Set(listOf(value))];
  for (const alias of aliases) {
    const form = 'give a comma list of lower-case prefixes that end in a dash, such as x-portkey-';
    if (!/^[a-z0-9]+(?:-[a-z0-9]+)*-$/.test(alias)) refuse('GATEWAY_HEADER_ALIASES', `holds "${alias}"`, form);
    const taken = OTHER_HEADERS.find((name) => name.startsWith(alias));
    if (taken !== undefined) refuse('GATEWAY_HEADER_ALIASES', `holds "${alias}", which would swallow ${taken}`, form);
    if (alias.startsWith('x-gateway-')) refuse('GATEWAY_HEADER_ALIASES', `holds "${alias}", which is our own`, form);
  }
  return aliases;
}

function headerNameOf(name: keyof typeof variables, value: string | undefined): string | null {
  if (value === undefined) return null;
  if (!/^[a-z0-9-]+$/i.test(value)) refuse(name, `is "${value}"`, 'give the name of one header, such as x-real-ip');
  return value.toLowerCase();
}

function oidcOf(get: Get): OidcProvider | null {
  const issuer = get('GATEWAY_OIDC_ISSUER');
  const clientId = get('GATEWAY_OIDC_CLIENT_ID');
  const secret = get('GATEWAY_OIDC_CLIENT_SECRET');
  const newUsers = get('GATEWAY_OIDC_NEW_USERS') ?? 'refuse';
  if (newUsers !== 'refuse' && newUsers !== 'member')
    return refuse('GATEWAY_OIDC_NEW_USERS', `is "${newUsers}"`, 'give refuse or member');
  if (issuer === undefined) {
    for (const name of ['GATEWAY_OIDC_CLIENT_ID', 'GATEWAY_OIDC_CLIENT_SECRET', 'GATEWAY_OIDC_NEW_USERS'] as const)
      if (get(name)) refuse(name, 'is set without GATEWAY_OIDC_ISSUER', 'give one such as https://login.example.com');
    return null;
  }
  urlOf(issuer, 'GATEWAY_OIDC_ISSUER', ['https:', 'http:'], 'https://login.example.com');
  if (clientId === undefined)
    return refuse('GATEWAY_OIDC_CLIENT_ID', 'is missing', 'give the id that the identity provider has for the gateway');
  return { issuer, clientId, clientSecret: secret === undefined ? null : new Secret(secret), newUsers };
}

function embeddingsOf(get: Get, dimensions: () => number): Settings['embeddings'] {
  const virtualKey = get('GATEWAY_EMBEDDINGS_VIRTUAL_KEY');
  const model = get('GATEWAY_EMBEDDINGS_MODEL');
  if (virtualKey === undefined) {
    for (const name of ['GATEWAY_EMBEDDINGS_MODEL', 'GATEWAY_EMBEDDINGS_DIMENSIONS'] as const)
      if (get(name)) refuse(name, 'is set without GATEWAY_EMBEDDINGS_VIRTUAL_KEY', 'give the slug of a virtual key');
    return null;
  }
  if (!isSlug(virtualKey))
    refuse('GATEWAY_EMBEDDINGS_VIRTUAL_KEY', `is "${virtualKey}"`, 'give the slug of a virtual key, such as openai');
  if (model === undefined)
    return refuse('GATEWAY_EMBEDDINGS_MODEL', 'is missing', 'give one such as text-embedding-3-small');
  const asked = get('GATEWAY_EMBEDDINGS_DIMENSIONS') === undefined ? null : dimensions();
  return { virtualKey, model: { name: model, dimensions: asked } };
}

const MOST_PROCESSES = 256;

function processesOf(value: string | undefined, hasDatabase: boolean): number {
  if (value === undefined) return 1;
  const number = value.toLowerCase() === 'auto' ? availableParallelism() : Number(/^\d+$/.test(value) ? value : 'none');
  if (!(number >= 1 && number <= MOST_PROCESSES))
    refuse('GATEWAY_PROCESSES', `is "${value}"`, `give a whole number from 1 to ${MOST_PROCESSES}, or auto`);
  if (number > 1 && !hasDatabase)
    refuse(
      'GATEWAY_PROCESSES',
      `is "${value}" while DATABASE_URL is missing`,
      'several processes share PostgreSQL: set DATABASE_URL, or leave GATEWAY_PROCESSES out',
    );
  return number;
}

type Name = keyof typeof variables;

/** A bucket: its address, and the pair of keys for it. */
function s3Of(get: Get, [urlName, idName, secretName]: readonly [Name, Name, Name]): S3Place | null {
  const url = get(urlName);
  const accessKeyId = get(idName);
  const secretAccessKey = get(secretName);
  if (!url) {
    if (accessKeyId || secretAccessKey)
      refuse(accessKeyId ? idName : secretName, `is set without ${urlName}`, `give one such as ${S3_URL_FORM}`);
    return null;
  }
  const place = readS3Url(url);
  if (typeof place === 'string') return refuse(urlName, place, `give one such as ${S3_URL_FORM}`);
  if (!accessKeyId) return refuse(idName, 'is missing', `${urlName} needs a pair of keys`);
  if (!secretAccessKey) return refuse(secretName, 'is missing', `${urlName} needs a pair of keys`);
  return { ...place, accessKeyId, secretAccessKey: new Secret(secretAccessKey) };
}

function logExportOf(get: Get, rest: Pick<ExportSettings, 'withBodies' | 'everyMs'>): ExportSettings | null {
  const keys = ['GATEWAY_EXPORT_URL', 'GATEWAY_EXPORT_ACCESS_KEY_ID', 'GATEWAY_EXPORT_SECRET_ACCESS_KEY'] as const;
  const bucket = s3Of(get, keys);
  const details = ['GATEWAY_EXPORT_FORMAT', 'GATEWAY_EXPORT_BODIES', 'GATEWAY_EXPORT_EVERY_SECONDS'] as const;
  const idle = bucket ? undefined : details.find((name) => get(name) !== undefined);
  if (idle) refuse(idle, 'is set without GATEWAY_EXPORT_URL', `give one such as ${S3_URL_FORM}`);
  const format = get('GATEWAY_EXPORT_FORMAT') ?? 'ndjson';
  if (format !== 'ndjson' && format !== 'parquet')
    return refuse('GATEWAY_EXPORT_FORMAT', `is "${format}"`, 'give ndjson or parquet');
  return bucket && { bucket, format, ...rest };
}

function pricesSyncOf(get: Get): Settings['pricesSync'] {
  const url = urlOf(
    get('GATEWAY_PRICES_SYNC_URL'),
    'GATEWAY_PRICES_SYNC_URL',
    ['http:', 'https:'],
    'https://prices.example.com/list.json',
  );
  const key = get('GATEWAY_PRICES_SYNC_KEY') ?? null;
  const form = 'give the 32 bytes of an Ed25519 public key in base64';
  if (key !== null && Buffer.from(key, 'base64').length !== 32)
    refuse('GATEWAY_PRICES_SYNC_KEY', 'is not of that form', form);
  if (url && key === null) refuse('GATEWAY_PRICES_SYNC_KEY', 'is missing while GATEWAY_PRICES_SYNC_URL is set', form);
  return { url: url ?? null, key };
}

const WEBHOOK_SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

function auditWitnessesOf(get: Get): WitnessSettings {
  const url = urlOf(
    get('GATEWAY_AUDIT_WITNESS_URL'),
    'GATEWAY_AUDIT_WITNESS_URL',
    ['http:', 'https:'],
    'https://witness.example.com/audit',
  );
  const secret = get('GATEWAY_AUDIT_WITNESS_SECRET');
  const form = 'give whsec_ and 24 to 64 random bytes in base64 (echo whsec_$(openssl rand -base64 32))';
  if (url && !secret) refuse('GATEWAY_AUDIT_WITNESS_SECRET', 'is missing while GATEWAY_AUDIT_WITNESS_URL is set', form);
  if (secret && !url)
    refuse('GATEWAY_AUDIT_WITNESS_SECRET', 'is set without GATEWAY_AUDIT_WITNESS_URL', 'give the address it is for');
  if (secret && !WEBHOOK_SECRET.test(secret)) refuse('GATEWAY_AUDIT_WITNESS_SECRET', 'is not of that form', form);
  return {
    file: pathOf(get('GATEWAY_AUDIT_WITNESS_FILE')),
    webhook: url && secret ? { url, secret: new Secret(secret) } : null,
    bucket: s3Of(get, [
      'GATEWAY_AUDIT_WITNESS_BUCKET',
      'GATEWAY_AUDIT_WITNESS_ACCESS_KEY_ID',
      'GATEWAY_AUDIT_WITNESS_SECRET_ACCESS_KEY',
    ]),
  };
}

const pathOf = (value: string | undefined): string | null => (value === undefined ? null : resolve(value));

function plainModelsOf(value = 'first'): Settings['plainModels'] {
  if (value === 'first' || value === 'unambiguous' || value === 'off') return value;
  return refuse('GATEWAY_PLAIN_MODELS', `is "${value}"`, 'give first, unambiguous or off');
}

function answerCacheOf(value: string | undefined, redisUrl: string | undefined): Settings['answerCache'] {
  if (value === undefined) return redisUrl ? 'redis' : 'memory';
  if (value !== 'memory' && value !== 'disk' && value !== 'redis')
    return refuse('GATEWAY_ANSWER_CACHE', `is "${value}"`, 'give memory, disk or redis');
  if (value === 'redis' && !redisUrl) refuse('GATEWAY_ANSWER_CACHE', 'is redis while REDIS_URL is absent', 'give both');
  return value;
}

function fencesOf(value = 'available'): boolean {
  if (value !== 'available' && value !== 'required')
    refuse('GATEWAY_INTERPRETER_FENCES', `is "${value}"`, 'give available or required');
  return value === 'required';
}

function adminKeyOf(value: string | undefined): Secret | null {
  if (value === undefined) return null;
  if (!/^[\x21-\x7e]{16,}$/.test(value)) {
    refuse(
      'GATEWAY_ADMIN_KEY',
      'is too short or holds spaces or other characters',
      'give 16 or more printable ASCII characters',
    );
  }
  return new Secret(value);
}

function encryptionKeyOf(value: string | undefined): Secret | null {
  if (value === undefined) return null;
  const isBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/.test(value);
  if (!isBase64 || Buffer.from(value, 'base64').length !== 32) {
    refuse('GATEWAY_ENCRYPTION_KEY', 'is not 32 bytes in base64', 'make one with openssl rand -base64 32');
  }
  return new Secret(value);
}

function urlOf(
  value: string | undefined,
  name: keyof typeof variables,
  schemes: string[],
  example: string,
): string | undefined {
  if (value === undefined) return undefined;
  const url = URL.parse(value);
  // The value may hold a password: it is not repeated.
  if (!url || !schemes.includes(url.protocol) || !url.hostname)
    refuse(name, 'is not a usable address', `give one such as ${example}`);
  return value;
}

/** What a variable says, or the file that its `_FILE` names. Null: neither is set. */
function pemOf(get: Get, variable: 'JWT_PRIVATE_KEY' | 'JWT_PUBLIC_KEYS_EXTRA', form: string) {
  const value = get(variable);
  const fileVariable = `${variable}_FILE` as const;
  const file = get(fileVariable);
  if (value && file) refuse(fileVariable, `is set beside ${variable}`, 'give one of the two');
  if (!value && !file) return null;
  const text = file
    ? readOr(file, () => refuse(fileVariable, `names a file that cannot be read (${file})`, form))
    : value!;
  return { name: file ? fileVariable : variable, text: text.replaceAll('\\n', '\n') };
}

function readOr(file: string, otherwise: () => never): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise();
  }
}

function jwtPrivateKeyOf(get: Get): Secret | null {
  const given = pemOf(get, 'JWT_PRIVATE_KEY', 'give the path of a PEM file');
  if (!given) return null;
  const { name, text } = given;
  if (!isStrongRsa(() => createPrivateKey(text)))
    refuse(name, 'is not an RSA private key of at least 2048 bits in PEM form', 'make one with openssl genrsa 2048');
  return new Secret(text);
}

const PUBLIC_KEY = /-----BEGIN (?:RSA )?PUBLIC KEY-----[^-]+-----END (?:RSA )?PUBLIC KEY-----/g;

function jwtPublicKeysOf(get: Get): string[] {
  const given = pemOf(get, 'JWT_PUBLIC_KEYS_EXTRA', 'give the path of a file of public keys in PEM form');
  if (!given) return [];
  const { name, text } = given;
  const keys = text.match(PUBLIC_KEY) ?? [];
  const rest = text.replace(PUBLIC_KEY, '').trim();
  if (keys.length === 0 || rest !== '' || !keys.every((key) => isStrongRsa(() => createPublicKey(key))))
    refuse(
      name,
      'holds something else than RSA public keys of at least 2048 bits in PEM form',
      'make one with openssl rsa -in key.pem -pubout',
    );
  return keys;
}

function isStrongRsa(read: () => KeyObject): boolean {
  try {
    const key = read();
    return key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048;
  } catch {
    return false;
  }
}

function originsOf(value: string | undefined): string[] {
  const origins = listOf(value);
  for (const origin of origins) {
    if (URL.parse(origin)?.origin !== origin)
      refuse('GATEWAY_ALLOWED_ORIGINS', `holds "${origin}"`, 'give a comma list such as https://app.example.com');
  }
  return origins;
}

/** Variables that start like ours and are none of ours: most likely misspelt. */
export const unknownVariables = (env: Environment): string[] =>
  Object.keys(env).filter((name) => name.startsWith('GATEWAY_') && !(name in variables));

const MOST_METADATA_KEYS = 8;
const LONGEST_METADATA_KEY = 128;

/** Each key is counted once more for every call, so they are few. */
function metadataKeysOf(value: string | undefined): readonly string[] {
  const keys = value === undefined ? ['_user'] : [...new Set(listOf(value))];
  const isKey = (key: string) => key.length <= LONGEST_METADATA_KEY;
  if (keys.length > MOST_METADATA_KEYS || !keys.every(isKey))
    refuse(
      'GATEWAY_ANALYTICS_METADATA_KEYS',
      `is "${value}"`,
      `give at most ${MOST_METADATA_KEYS} keys of at most ${LONGEST_METADATA_KEY} characters, separated by commas`,
    );
  return keys;
}
