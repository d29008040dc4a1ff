import { availableParallelism } from 'node:os';
import type { WitnessSettings } from '../audit-witnesses.ts';
import type { OidcProvider } from '../auth/oidc.ts';
import type { BackupSettings } from '../backups/settings.ts';
import { type AllowedProgram, type ProgramUser, readAllowedPrograms } from '../core/allowed-programs.ts';
import { isSlug } from '../core/ids.ts';
import { LOCAL_SERVERS, type LocalServer } from '../core/local-models.ts';
import { Secret } from '../core/secret.ts';
import type { ExportSettings } from '../exports/settings.ts';
import { S3_URL_FORM } from '../files/s3-url.ts';
import type { CertificateFiles } from '../http/own-certificate.ts';
import { type EgressProxy, PROXY_URL_FORM, readExceptions, readProxyUrl } from '../http/proxy.ts';
import { IDENTITIES_FORM, type IdentitySettings, readIdentities } from '../identities/settings.ts';
import type { ServedBy } from '../relay/hosted/served/served.ts';
import { identitiesOf, readSecretStores, SECRET_STORES_FORM, type SecretStoreSettings } from '../secrets/settings.ts';
import type { SearchedWorkspaces } from '../telemetry/search/chosen.ts';
import { backupKeyOf } from './secrets.ts';
import { listOf, pathOf, s3Of, urlOf } from './values.ts';
import { type Environment, type Get, refuse } from './variables.ts';

export type PlainModels = 'first' | 'unambiguous' | 'off';
export type AnswerCache = 'memory' | 'disk' | 'redis';

/** By what pictures in vector stores become text. */
export interface VisionSettings {
  /** The slug of a virtual key of the workspace. */
  readonly virtualKey: string;
  readonly model: string;
}

export interface EmbeddingSettings {
  /** The slug of a virtual key; a workspace that has none of that name has no vectors. */
  readonly virtualKey: string;
  readonly model: { readonly name: string; readonly dimensions: number | null };
}

export interface PricesSync {
  readonly url: string | null;
  readonly key: string | null;
}

const MOST_PROCESSES = 256;

export function processesOf(value: string | undefined, hasDatabase: boolean): number {
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

export function localModelsOf(value: string | undefined): readonly LocalServer[] {
  if (value === 'true') return LOCAL_SERVERS;
  return listOf(value).map((name) => {
    const known = LOCAL_SERVERS.find(({ slug }) => slug === name);
    const names = LOCAL_SERVERS.map(({ slug }) => slug).join(', ');
    return known ?? refuse('GATEWAY_LOCAL_MODELS', `holds "${name}"`, `give true, or some of ${names}`);
  });
}

export function egressProxyOf(get: Get): EgressProxy | null {
  const url = get('GATEWAY_EGRESS_PROXY');
  if (url === undefined) {
    for (const name of ['GATEWAY_EGRESS_PROXY_EXCEPT', 'GATEWAY_EGRESS_PROXY_TARGET'] as const)
      if (get(name)) refuse(name, 'is set without GATEWAY_EGRESS_PROXY', `give one such as ${PROXY_URL_FORM}`);
    return null;
  }
  const proxy = readProxyUrl(url);
  if (typeof proxy === 'string') refuse('GATEWAY_EGRESS_PROXY', proxy, `give one such as ${PROXY_URL_FORM}`);
  const except = listOf(get('GATEWAY_EGRESS_PROXY_EXCEPT'));
  readExceptions(except, (entry) =>
    refuse(
      'GATEWAY_EGRESS_PROXY_EXCEPT',
      `holds "${entry}"`,
      'give host, host:port, *.domain, an address or a network such as 10.0.0.0/8, with commas between them',
    ),
  );
  const target = get('GATEWAY_EGRESS_PROXY_TARGET') ?? 'address';
  if (target !== 'address' && target !== 'name')
    return refuse('GATEWAY_EGRESS_PROXY_TARGET', `is "${target}"`, 'give address or name');
  return { url: new Secret(url), except, target };
}

export function allowedProgramsOf(value: string | undefined): readonly AllowedProgram[] {
  if (value === undefined) return [];
  const read = readAllowedPrograms(value);
  if (typeof read !== 'string') return read;
  const form = `give a list in JSON of whole paths, or of {"command", "args", "more_args", "env", "set"}`;
  return refuse('GATEWAY_MCP_COMMANDS', read, form);
}

export function secretStoresOf(
  value: string | undefined,
  identities: readonly IdentitySettings[],
): SecretStoreSettings | null {
  if (value === undefined) return null;
  const read = readSecretStores(value);
  if (typeof read === 'string') return refuse('GATEWAY_SECRET_STORES', read, SECRET_STORES_FORM);
  for (const { store, identity, cloud } of identitiesOf(read))
    if (!identities.some(({ name, source }) => name === identity && source.startsWith(`${cloud}-`)))
      refuse(
        'GATEWAY_SECRET_STORES',
        `has the store "${store}" signed in to by the identity "${identity}"`,
        `list that in GATEWAY_MACHINE_IDENTITIES, with a source that begins with ${cloud}-`,
      );
  return read;
}

export function machineIdentitiesOf(value: string | undefined, environment: Environment): readonly IdentitySettings[] {
  if (value === undefined) return [];
  const read = readIdentities(value, environment);
  return typeof read === 'string' ? refuse('GATEWAY_MACHINE_IDENTITIES', read, IDENTITIES_FORM) : read;
}

const MOST_USER = 0xffff_fffe;

/** Programs that others choose among do not run as root. */
export function programUserOf(
  value: string | undefined,
  { hasPrograms }: { hasPrograms: boolean },
): ProgramUser | null {
  const form =
    'give numbers as uid:gid, or first-last:gid for a user of its own for each program, such as 20000-20031:20000';
  const isRoot = process.getuid?.() === 0;
  if (value === undefined) {
    if (hasPrograms && isRoot)
      refuse('GATEWAY_MCP_USER', 'is missing while GATEWAY_MCP_COMMANDS is set and the gateway runs as root', form);
    return null;
  }
  const [, first, last = first, group] = /^(\d{1,10})(?:-(\d{1,10}))?:(\d{1,10})$/.exec(value) ?? [];
  const user = { first: Number(first), last: Number(last), group: Number(group) };
  if (group === undefined || user.last < user.first || Math.max(user.last, user.group) > MOST_USER)
    return refuse('GATEWAY_MCP_USER', `is "${value}"`, form);
  if (user.first === 0 || user.group === 0) return refuse('GATEWAY_MCP_USER', `is "${value}", which is root`, form);
  if (!isRoot) return refuse('GATEWAY_MCP_USER', 'is set while the gateway does not run as root', 'leave it out');
  return user;
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

export function headerAliasesOf(value: string | undefined): string[] {
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

export function originsOf(value: string | undefined): string[] {
  const origins = listOf(value);
  for (const origin of origins) {
    if (URL.parse(origin)?.origin !== origin)
      refuse('GATEWAY_ALLOWED_ORIGINS', `holds "${origin}"`, 'give a comma list such as https://app.example.com');
  }
  return origins;
}

export function oidcOf(get: Get): OidcProvider | null {
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

export function embeddingsOf(get: Get, dimensions: () => number): EmbeddingSettings | null {
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

/** Null: pictures are not read. */
export function visionOf(get: Get): VisionSettings | null {
  const virtualKey = get('GATEWAY_VISION_VIRTUAL_KEY');
  const model = get('GATEWAY_VISION_MODEL');
  if (virtualKey === undefined) {
    if (model !== undefined)
      refuse('GATEWAY_VISION_MODEL', 'is set without GATEWAY_VISION_VIRTUAL_KEY', 'give the slug of a virtual key');
    return null;
  }
  if (!isSlug(virtualKey))
    refuse('GATEWAY_VISION_VIRTUAL_KEY', `is "${virtualKey}"`, 'give the slug of a virtual key, such as openai');
  if (model === undefined) return refuse('GATEWAY_VISION_MODEL', 'is missing', 'give one such as gpt-4.1-mini');
  return { virtualKey, model };
}

type Service = 'IMAGE_GENERATION' | 'WEB_SEARCH' | 'RERANK' | 'QUERY_REWRITE';

/** The model that serves a tool of the Responses API for all others, or helps searches. Null: that is off. */
export function servedByOf(get: Get, tool: Service, example: string): ServedBy | null {
  const [keyName, modelName] = [`GATEWAY_${tool}_VIRTUAL_KEY`, `GATEWAY_${tool}_MODEL`] as const;
  const [virtualKey, model] = [get(keyName), get(modelName)];
  if (virtualKey === undefined) {
    if (model !== undefined) refuse(modelName, `is set without ${keyName}`, 'give the slug of a virtual key');
    return null;
  }
  if (!isSlug(virtualKey)) refuse(keyName, `is "${virtualKey}"`, 'give the slug of a virtual key, such as openai');
  return { virtualKey, model: model ?? refuse(modelName, 'is missing', `give one such as ${example}`) };
}

/** Null: plain HTTP. */
export function certificateOf(get: Get): CertificateFiles | null {
  const [certificate, key] = [pathOf(get('GATEWAY_TLS_CERT_FILE')), pathOf(get('GATEWAY_TLS_KEY_FILE'))];
  if (certificate === null && key === null) return null;
  if (certificate === null)
    return refuse(
      'GATEWAY_TLS_CERT_FILE',
      'is missing while GATEWAY_TLS_KEY_FILE is set',
      'give the path of a PEM file',
    );
  if (key === null)
    return refuse(
      'GATEWAY_TLS_KEY_FILE',
      'is missing while GATEWAY_TLS_CERT_FILE is set',
      'give the path of a PEM file',
    );
  return { certificate, key };
}

export function plainModelsOf(value = 'first'): PlainModels {
  if (value === 'first' || value === 'unambiguous' || value === 'off') return value;
  return refuse('GATEWAY_PLAIN_MODELS', `is "${value}"`, 'give first, unambiguous or off');
}

export function answerCacheOf(value: string | undefined, redisUrl: string | undefined): AnswerCache {
  if (value === undefined) return redisUrl ? 'redis' : 'memory';
  if (value !== 'memory' && value !== 'disk' && value !== 'redis')
    return refuse('GATEWAY_ANSWER_CACHE', `is "${value}"`, 'give memory, disk or redis');
  if (value === 'redis' && !redisUrl) refuse('GATEWAY_ANSWER_CACHE', 'is redis while REDIS_URL is absent', 'give both');
  return value;
}

/** Of two kinds of Python an operator means one. */
export function interpreterPythonOf(get: Get): string | null {
  const python = pathOf(get('GATEWAY_INTERPRETER_PYTHON'));
  const other = (['DENO', 'PYODIDE', 'WHEELS'] as const).find((name) => get(`GATEWAY_INTERPRETER_${name}`));
  if (python !== null && other !== undefined)
    refuse('GATEWAY_INTERPRETER_PYTHON', `is set together with GATEWAY_INTERPRETER_${other}`, 'give one of the two');
  return python;
}

export function fencesOf(value = 'available'): boolean {
  if (value !== 'available' && value !== 'required')
    refuse('GATEWAY_INTERPRETER_FENCES', `is "${value}"`, 'give available or required');
  return value === 'required';
}

export function logSearchOf(value: string | undefined, hasBodies: boolean): SearchedWorkspaces {
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

export function logExportOf(get: Get, rest: Pick<ExportSettings, 'withBodies' | 'everyMs'>): ExportSettings | null {
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

/** The pair of keys may stand alone: an address on the command line needs it, too. */
export function backupOf(
  get: Get,
  rest: Pick<BackupSettings, 'keep' | 'everyMs'>,
  hasDatabase: boolean,
): BackupSettings {
  const names = ['GATEWAY_BACKUP_URL', 'GATEWAY_BACKUP_ACCESS_KEY_ID', 'GATEWAY_BACKUP_SECRET_ACCESS_KEY'] as const;
  const [, idName, secretName] = names;
  const [url, accessKeyId, secretAccessKey] = names.map((name) => get(name));
  if (!accessKeyId !== !secretAccessKey)
    refuse(accessKeyId ? secretName : idName, 'is missing', 'a bucket of backups needs a pair of keys');
  const credentials =
    accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey: new Secret(secretAccessKey) } : null;
  const key = backupKeyOf(get('GATEWAY_BACKUP_KEY'));
  const details = ['GATEWAY_BACKUP_KEEP', 'GATEWAY_BACKUP_EVERY_HOURS'] as const;
  const idle = url ? undefined : details.find((name) => get(name) !== undefined);
  if (idle) refuse(idle, 'is set without GATEWAY_BACKUP_URL', `give one such as ${S3_URL_FORM}`);
  if (!url) return { bucket: null, credentials, key, ...rest };
  if (hasDatabase)
    refuse(
      'GATEWAY_BACKUP_URL',
      'is set while DATABASE_URL is',
      'it is for the embedded store: back PostgreSQL up with pg_dump, and leave it out',
    );
  if (!key)
    refuse(
      'GATEWAY_BACKUP_KEY',
      'is missing while GATEWAY_BACKUP_URL is set',
      'give 32 bytes in base64 to seal backups with (openssl rand -base64 32), and keep them apart from the bucket',
    );
  return { bucket: s3Of(get, names), credentials, key, ...rest };
}

const MOST_METADATA_KEYS = 8;
const LONGEST_METADATA_KEY = 128;

/** Each key is counted once more for every call, so they are few. */
export function metadataKeysOf(value: string | undefined): readonly string[] {
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

/** It is asked without a credential, so an address that holds one is a mistake. */
export function mcpRegistryOf(get: Get): string | null {
  const example = 'https://registry.modelcontextprotocol.io';
  const url = urlOf(get('GATEWAY_MCP_REGISTRY_URL'), 'GATEWAY_MCP_REGISTRY_URL', ['http:', 'https:'], example);
  if (url === undefined) return null;
  const { username, password, search } = new URL(url);
  if (username || password || search)
    refuse('GATEWAY_MCP_REGISTRY_URL', 'holds a credential or a query', `give one such as ${example}`);
  return url;
}

export function pricesSyncOf(get: Get): PricesSync {
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

export function auditWitnessesOf(get: Get): WitnessSettings {
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
