import { SettingsError } from '../core/filed-secret.ts';
import { otelVariables } from '../telemetry/otel/settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Each variable with its meaning and default; `docs/configuration.md` is held equal to this list by a test. */
export const variables = {
  HOST: 'listen address',
  PORT: 'listen port',
  GATEWAY_TLS_CERT_FILE: 'certificate of the listen port',
  GATEWAY_TLS_KEY_FILE: 'private key of that certificate',
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
  JWT_PUBLIC_KEYS_EXTRA: 'public keys published beside its own',
  GATEWAY_SECRET_STORES: 'secret stores that virtual keys may refer to',
  TRUSTED_CUSTOM_HOSTS: 'hosts that may be private',
  GATEWAY_EGRESS_PROXY: 'proxy for outgoing connections',
  GATEWAY_EGRESS_PROXY_EXCEPT: 'hosts that are called without it',
  GATEWAY_EGRESS_PROXY_TARGET: 'what it is asked to connect to: address or name',
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
  GATEWAY_MCP_COMMANDS: 'programs that may be run as MCP servers',
  GATEWAY_MCP_USER: 'user and group that they run as',
  GATEWAY_MCP_PROCESSES: 'most of them at once',
  GATEWAY_MCP_MEMORY_MB: 'how much memory each process of them may have',
  GATEWAY_MCP_IDLE_SECONDS: 'how long one runs that is not used',
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
  GATEWAY_SOCKETS: 'most WebSockets of a process at once',
  GATEWAY_SOCKETS_PER_KEY: 'most WebSockets of one key at once',
  GATEWAY_SOCKET_SECONDS: 'how long a WebSocket lives',
  GATEWAY_SOCKET_IDLE_SECONDS: 'how long a WebSocket lives on which nothing is asked',
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

export type Name = keyof typeof variables;

/** What may also stand in a file, which the same name with `_FILE` gives. So may the keys of providers. */
export const FILED = [
  'GATEWAY_ADMIN_KEY',
  'GATEWAY_ENCRYPTION_KEY',
  'GATEWAY_DATABASE_URL',
  'DATABASE_URL',
  'REDIS_URL',
  'GATEWAY_BLOB_ACCESS_KEY_ID',
  'GATEWAY_BLOB_SECRET_ACCESS_KEY',
  'GATEWAY_AUDIT_WITNESS_SECRET',
  'GATEWAY_AUDIT_WITNESS_ACCESS_KEY_ID',
  'GATEWAY_AUDIT_WITNESS_SECRET_ACCESS_KEY',
  'JWT_PRIVATE_KEY',
  'JWT_PUBLIC_KEYS_EXTRA',
  'GATEWAY_OIDC_CLIENT_SECRET',
  'GATEWAY_EGRESS_PROXY',
  'GATEWAY_EXPORT_ACCESS_KEY_ID',
  'GATEWAY_EXPORT_SECRET_ACCESS_KEY',
  'GATEWAY_SECRET_STORES',
] as const satisfies readonly Name[];
export const isFiled = (name: string): boolean => (FILED as readonly string[]).includes(name);

/** Variables that start like ours and are none of ours: most likely misspelt. */
export const unknownVariables = (env: Environment): string[] =>
  Object.keys(env).filter(
    (name) => name.startsWith('GATEWAY_') && !(name in variables) && !isFiled(name.replace(/_FILE$/, '')),
  );

/** Empty counts as absent. */
export type Get = (name: keyof typeof variables) => string | undefined;

export const refuse = (name: keyof typeof variables, fault: string, form: string): never => {
  throw new SettingsError(`${name} ${fault}; ${form}.`);
};
