import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { WitnessSettings } from './audit-witnesses.ts';
import type { OidcProvider } from './auth/oidc.ts';
import type { BackupSettings } from './backups/settings.ts';
import type { ProgramSettings } from './core/allowed-programs.ts';
import { secretIn } from './core/filed-secret.ts';
import { hostOf, type LocalServer } from './core/local-models.ts';
import { Secret } from './core/secret.ts';
import type { ExportSettings } from './exports/settings.ts';
import type { S3Place } from './files/s3.ts';
import { USUAL_BODY } from './http/arriving.ts';
import type { CertificateFiles } from './http/own-certificate.ts';
import type { EgressProxy } from './http/proxy.ts';
import type { Timeouts } from './http/upstream.ts';
import type { IdentitySettings } from './identities/settings.ts';
import type { ServedBy } from './relay/hosted/served/served.ts';
import type { SecretStoreSettings } from './secrets/settings.ts';
import {
  type AnswerCache,
  allowedProgramsOf,
  answerCacheOf,
  auditWitnessesOf,
  backupOf,
  certificateOf,
  type EmbeddingSettings,
  egressProxyOf,
  embeddingsOf,
  fencesOf,
  headerAliasesOf,
  interpreterPythonOf,
  localModelsOf,
  logExportOf,
  logSearchOf,
  machineIdentitiesOf,
  mcpRegistryOf,
  metadataKeysOf,
  oidcOf,
  originsOf,
  type PlainModels,
  type PricesSync,
  plainModelsOf,
  pricesSyncOf,
  processesOf,
  programUserOf,
  secretStoresOf,
  servedByOf,
  type VisionSettings,
  visionOf,
} from './settings/choices.ts';
import { adminKeyOf, encryptionKeyOf, jwtPrivateKeyOf, jwtPublicKeysOf } from './settings/secrets.ts';
import { headerNameOf, listOf, pathOf, s3Of, urlOf } from './settings/values.ts';
import { type Environment, type Get, isFiled, type Name, refuse } from './settings/variables.ts';
import { type OtelSettings, readOtel } from './telemetry/otel/settings.ts';
import type { SearchedWorkspaces } from './telemetry/search/chosen.ts';

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
  /** Null: plain HTTP on the listen port. */
  readonly certificate: CertificateFiles | null;
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
  /** Identities of this machine, and who may use them. */
  readonly machineIdentities: readonly IdentitySettings[];
  /** Where virtual keys may have their secrets kept. Null: nowhere but here. */
  readonly secretStores: SecretStoreSettings | null;
  /** The proxy for outgoing connections. Null: they are made straight. */
  readonly egressProxy: EgressProxy | null;
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
  /** Programs that the gateway runs as MCP servers. */
  readonly programs: ProgramSettings;
  /** What a model's plain name does where no provider is chosen and several virtual keys could be meant. */
  readonly plainModels: PlainModels;
  /** Where answers are kept for configs with a cache. */
  readonly answerCache: AnswerCache;
  readonly logBodies: boolean;
  readonly logBodyBytes: number;
  readonly logRetentionDays: number;
  /** Workspaces whose bodies are found by their words. */
  readonly logSearch: SearchedWorkspaces;
  readonly backup: BackupSettings;
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
  /** WebSockets: how many a key may have open, and all keys together; how long one lives, and how long one without a turn does. */
  readonly sockets: {
    readonly perKey: number;
    readonly perProcess: number;
    readonly lifeMs: number;
    readonly idleMs: number;
  };
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
    /** A Python of this machine, for code in a jail. Null: the one that was installed with the gateway. */
    readonly python: string | null;
    readonly cellSeconds: number;
    readonly memoryMb: number;
    readonly processes: number;
    /** Whether code is run only where every fence of the kernel is there. */
    readonly areFencesRequired: boolean;
  };
  /** By what tools of the Responses API are served for models without them. Null: the tool is off. */
  readonly hostedModels: { readonly imageGeneration: ServedBy | null; readonly webSearch: ServedBy | null };
  /** By what vector stores find meaning. Null: they are searched by words alone. */
  readonly embeddings: EmbeddingSettings | null;
  /** Where an embedding model that runs in the gateway is installed; null: beside the gateway, if anywhere. */
  readonly embeddingsFolder: string | null;
  /** Null: pictures in vector stores are not read. */
  readonly vision: VisionSettings | null;
  /** Models that help searches of vector stores. */
  readonly searchModels: { readonly rerank: ServedBy | null; readonly rewrite: ServedBy | null };
  /** From so many chunks on, a search by meaning may miss some of the nearest. */
  readonly approximateFrom: number;
  readonly timeouts: Timeouts;
  /** The operator's own prices. Null: the built-in list alone. */
  readonly pricesFile: string | null;
  /** Lists of prices that are taken over: by whose signature, and from where by itself. */
  readonly pricesSync: PricesSync;
  /** The registry in which people look for MCP servers. Null: none is asked. */
  readonly mcpRegistry: string | null;
  /** Where traces and metrics go. Null: nowhere. */
  readonly otel: OtelSettings | null;
  /** Every variable that could be a provider's key; the registry decides which are. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Reads and checks the environment. An empty variable counts as absent. */
export function readSettings(env: Environment): Settings {
  const get: Get = (name) => (isFiled(name) ? secretIn(env, name) : env[name]?.trim() || undefined);

  const wholeNumber = (name: Name, fallback: number, min: number, max: number): number => {
    const value = get(name);
    if (value === undefined) return fallback;
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) refuse(name, `is "${value}"`, `give a whole number from ${min} to ${max}`);
    return number;
  };
  const flag = (name: Name, fallback: boolean): boolean => {
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
  const certificate = certificateOf(get);
  const machineIdentities = machineIdentitiesOf(get('GATEWAY_MACHINE_IDENTITIES'), env);
  const allowed = allowedProgramsOf(get('GATEWAY_MCP_COMMANDS'));
  const scheme = certificate ? 'https' : 'http';
  const publicUrl = get('GATEWAY_PUBLIC_URL') ?? `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  urlOf(publicUrl, 'GATEWAY_PUBLIC_URL', ['http:', 'https:'], 'https://gateway.example.com');

  return Object.freeze({
    host,
    port,
    processes,
    processNumber: get('GATEWAY_PROCESS_NUMBER') ? wholeNumber('GATEWAY_PROCESS_NUMBER', 0, 0, processes - 1) : null,
    dataDir: resolve(get('GATEWAY_DATA_DIR') ?? '.gateway'),
    adminKey: adminKeyOf(get('GATEWAY_ADMIN_KEY')),
    encryptionKey,
    certificate,
    publicUrl: publicUrl.replace(/\/+$/, ''),
    databaseUrl: databaseUrl ? new Secret(databaseUrl) : null,
    redisUrl: redisUrl ? new Secret(redisUrl) : null,
    blobs: s3Of(get, ['GATEWAY_BLOB_URL', 'GATEWAY_BLOB_ACCESS_KEY_ID', 'GATEWAY_BLOB_SECRET_ACCESS_KEY']),
    auditWitnesses: auditWitnessesOf(get),
    backup: backupOf(
      get,
      {
        everyMs: wholeNumber('GATEWAY_BACKUP_EVERY_HOURS', 24, 1, 8_760) * 3_600_000,
        keep: get('GATEWAY_BACKUP_KEEP') ? wholeNumber('GATEWAY_BACKUP_KEEP', 0, 1, 10_000) : null,
      },
      databaseUrl !== undefined,
    ),
    logExport: logExportOf(get, {
      withBodies: flag('GATEWAY_EXPORT_BODIES', true),
      everyMs: wholeNumber('GATEWAY_EXPORT_EVERY_SECONDS', 300, 1, 86_400) * 1_000,
    }),
    jwtPrivateKey: jwtPrivateKeyOf(get),
    jwtPublicKeysExtra: jwtPublicKeysOf(get),
    allowedOrigins: originsOf(get('GATEWAY_ALLOWED_ORIGINS')),
    trustedCustomHosts: [...listOf(get('TRUSTED_CUSTOM_HOSTS')), ...localModels.map(hostOf)],
    machineIdentities,
    secretStores: secretStoresOf(get('GATEWAY_SECRET_STORES'), machineIdentities),
    egressProxy: egressProxyOf(get),
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
    programs: {
      allowed,
      user: programUserOf(get('GATEWAY_MCP_USER'), { hasPrograms: allowed.length > 0 }),
      most: wholeNumber('GATEWAY_MCP_PROCESSES', 32, 1, 1_000),
      memoryMb: wholeNumber('GATEWAY_MCP_MEMORY_MB', 1_024, 64, 1_048_576),
      idleMs: wholeNumber('GATEWAY_MCP_IDLE_SECONDS', 300, 1, 86_400) * 1_000,
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
    sockets: {
      perKey: wholeNumber('GATEWAY_SOCKETS_PER_KEY', 1_000, 0, 1_000_000),
      perProcess: wholeNumber('GATEWAY_SOCKETS', 10_000, 1, 1_000_000),
      lifeMs: wholeNumber('GATEWAY_SOCKET_SECONDS', 3_600, 1, 86_400) * 1_000,
      idleMs: wholeNumber('GATEWAY_SOCKET_IDLE_SECONDS', 900, 1, 86_400) * 1_000,
    },
    batchRequests: wholeNumber('GATEWAY_BATCH_REQUESTS', 64, 1, 4_096),
    shutdownSeconds: wholeNumber('GATEWAY_SHUTDOWN_SECONDS', 30, 0, 3_600),
    runSeconds: wholeNumber('GATEWAY_RUN_SECONDS', 600, 1, 86_400),
    interpreter: {
      isOn: flag('GATEWAY_INTERPRETER', true),
      deno: pathOf(get('GATEWAY_INTERPRETER_DENO')),
      pyodide: pathOf(get('GATEWAY_INTERPRETER_PYODIDE')),
      wheels: pathOf(get('GATEWAY_INTERPRETER_WHEELS')),
      python: interpreterPythonOf(get),
      cellSeconds: wholeNumber('GATEWAY_INTERPRETER_SECONDS', 60, 1, 600),
      memoryMb: wholeNumber('GATEWAY_INTERPRETER_MEMORY_MB', 512, 64, 3_072),
      processes: wholeNumber('GATEWAY_INTERPRETER_PROCESSES', 4, 1, 64),
      areFencesRequired: fencesOf(get('GATEWAY_INTERPRETER_FENCES')),
    },
    hostedModels: {
      imageGeneration: servedByOf(get, 'IMAGE_GENERATION', 'gpt-image-1'),
      webSearch: servedByOf(get, 'WEB_SEARCH', 'gpt-5-mini'),
    },
    searchModels: {
      rerank: servedByOf(get, 'RERANK', 'rerank-v3.5'),
      rewrite: servedByOf(get, 'QUERY_REWRITE', 'gpt-4.1-mini'),
    },
    embeddings: embeddingsOf(get, () => wholeNumber('GATEWAY_EMBEDDINGS_DIMENSIONS', 0, 1, 8_192)),
    embeddingsFolder: pathOf(get('GATEWAY_EMBEDDINGS_FOLDER')),
    vision: visionOf(get),
    approximateFrom: wholeNumber('GATEWAY_SEARCH_APPROXIMATE_FROM', 100_000, 1, 1_000_000_000),
    timeouts: {
      connectMs: wholeNumber('GATEWAY_CONNECT_TIMEOUT_MS', 10_000, 0, 600_000),
      firstByteMs: wholeNumber('GATEWAY_FIRST_BYTE_TIMEOUT_MS', 600_000, 0, 86_400_000),
      idleMs: wholeNumber('GATEWAY_IDLE_TIMEOUT_MS', 300_000, 0, 86_400_000),
      totalMs: wholeNumber('GATEWAY_TOTAL_TIMEOUT_MS', 0, 0, 86_400_000),
    },
    pricesFile: pathOf(get('GATEWAY_PRICES_FILE')),
    pricesSync: pricesSyncOf(get),
    mcpRegistry: mcpRegistryOf(get),
    otel: readOtel({ get, refuse, readFile: (path) => readFileSync(path, 'utf8') }),
    environment: env,
  });
}
