import { isDeepStrictEqual } from 'node:util';
import { fail } from '../core/errors.ts';
import { refuseForbidden } from '../core/forbidden.ts';
import type { LimitOwner } from '../core/limits.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { Secret } from '../core/secret.ts';
import { isSecretReference, type SecretReference } from '../core/secret-reference.ts';
import { mask } from '../crypto/seal.ts';
import type { VirtualKeyRow } from '../storage/schema.ts';
import type { LimitInput, ShownLimits } from './owner-limits.ts';

/** A provider credential under a name, as callers see it: without the secret. */
export interface VirtualKey extends ShownLimits {
  readonly id: string;
  readonly object: 'virtual-key';
  readonly slug: string;
  readonly name: string;
  readonly note: string | null;
  readonly workspace_id: string;
  readonly provider: string;
  readonly masked_key: string;
  readonly custom_host: string | null;
  readonly configurations: Readonly<Record<string, unknown>>;
  readonly status: 'active' | 'exhausted' | 'expired';
  readonly expires_at: string | null;
  /** The virtual key whose credential it uses; null: it has its own. */
  readonly source_id: string | null;
  readonly created_at: string;
  readonly last_updated_at: string;
}

export interface VirtualKeyInput extends LimitInput {
  readonly name: string;
  readonly slug?: string;
  readonly note?: string | null;
  readonly workspace_id?: string;
  readonly provider: string;
  /** The credential, or where it is kept. */
  readonly key?: string | SecretReference;
  readonly custom_host?: string | null;
  readonly configurations?: Readonly<Record<string, unknown>>;
  readonly expires_at?: string | null;
}

/** A virtual key that exists because the operator set a variable such as OPENAI_API_KEY. */
export interface EnvironmentCredential {
  readonly slug: string;
  readonly provider: string;
  readonly variable: string;
  readonly credential: Secret;
  /** Of a model server on this machine. */
  readonly customHost?: string;
}

/** What is stored of it under seal. */
export interface SealedKey {
  readonly key: string | SecretReference | null;
  readonly configurations: Readonly<Record<string, unknown>>;
}

/** A version of the gateway that knows no references finds no key, and says so. */
export const sealedText = ({ key, configurations }: SealedKey): string =>
  JSON.stringify(isSecretReference(key) ? { key: null, ...key, configurations } : { key, configurations });

export function readSealed(text: string): SealedKey {
  const { key, secret, configurations } = JSON.parse(text) as SealedKey & { readonly secret?: string };
  return { key: secret === undefined ? key : { secret }, configurations };
}

/** A reference is no secret, and shown as it is. */
export const maskedKey = (key: SealedKey['key']): string =>
  isSecretReference(key) ? key.secret : key ? mask(key) : '';

export const SECRET_NAME = /secret|pass|token|private|credential|service_account|access_key|api_key|authorization/i;

/** Configurations with everything that could be a secret masked. */
function maskConfigurations(value: unknown, name = ''): unknown {
  if (name === 'prices') return value;
  if (Array.isArray(value)) return value.map((item) => maskConfigurations(item, name));
  if (isSecretReference(value)) return value;
  if (value !== null && typeof value === 'object') {
    if (SECRET_NAME.test(name)) return '***';
    // The values of custom headers are credentials more often than not.
    const inHeaders = name === 'custom_headers';
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        inHeaders && !isSecretReference(item) ? mask(String(item)) : maskConfigurations(item, key),
      ]),
    );
  }
  return SECRET_NAME.test(name) && typeof value === 'string' ? mask(value) : value;
}

export const ownerOf = ({ id, slug }: { id: string; slug: string }): LimitOwner => ({
  kind: 'virtual-key',
  id,
  name: slug,
});

const statusOf = (end: number | null, isExhausted: boolean, now: number): VirtualKey['status'] => {
  if (end !== null && end <= now) return 'expired';
  return isExhausted ? 'exhausted' : 'active';
};

interface ShownWith {
  readonly limits: ShownLimits;
  readonly isExhausted: boolean;
  readonly configurations: SealedKey['configurations'];
  /** When it cannot be used any more: it has ended, or what it is linked to. */
  readonly end: number | null;
  readonly now: number;
}

/** As callers see it, with `configurations` opened. */
export const shownVirtualKey = (
  row: VirtualKeyRow,
  { limits, isExhausted, configurations, end, now }: ShownWith,
): VirtualKey => ({
  id: row.id,
  object: 'virtual-key',
  slug: row.slug,
  name: row.name,
  note: row.note,
  workspace_id: row.workspace_id,
  provider: row.provider,
  masked_key: row.masked,
  custom_host: row.custom_host,
  configurations: maskConfigurations(configurations) as Record<string, unknown>,
  ...limits,
  status: statusOf(end, isExhausted, now),
  expires_at: row.expires_at === null ? null : new Date(row.expires_at).toISOString(),
  source_id: row.source_id,
  created_at: new Date(row.created_at).toISOString(),
  last_updated_at: new Date(row.updated_at).toISOString(),
});
export const shownFromEnvironment = (
  who: Principal,
  { slug, provider, variable, credential, customHost }: EnvironmentCredential,
): VirtualKey => ({
  id: `environment:${variable}${customHost ? `:${slug}` : ''}`,
  object: 'virtual-key',
  slug,
  name: `${slug} (from ${variable})`,
  note: null,
  workspace_id: who.workspaceId,
  provider,
  masked_key: mask(credential.reveal()),
  custom_host: customHost ?? null,
  configurations: {},
  rate_limits: null,
  usage_limits: null,
  usage: [],
  status: 'active',
  expires_at: null,
  source_id: null,
  created_at: new Date(0).toISOString(),
  last_updated_at: new Date(0).toISOString(),
});

/** What decides where a credential goes and as whom; prices do not. */
const withoutPrices = ({ prices: _, ...rest }: Readonly<Record<string, unknown>>) => rest;

/** What a key becomes. Its secrets go only to the host they were stored for: a move asks for all of them again. */
export function changed(row: VirtualKeyRow, old: SealedKey, input: Partial<VirtualKeyInput>) {
  if (input.configurations) refuseMasked(input.configurations, old.configurations);
  const provider = input.provider ?? row.provider;
  const customHost = input.custom_host === undefined ? row.custom_host : input.custom_host || null;
  const moves = provider !== row.provider || customHost !== row.custom_host;
  const turns =
    input.configurations !== undefined &&
    !isDeepStrictEqual(withoutPrices(input.configurations), withoutPrices(old.configurations));
  if ((moves || turns) && input.key === undefined && old.key !== null) {
    fail('invalid_request', 'key', 'send the credential again when provider, custom_host or configurations change');
  }
  if (moves && input.configurations === undefined && Object.keys(old.configurations).length > 0) {
    fail('invalid_request', 'configurations', 'send them again when provider or custom_host change');
  }
  const key = input.key === undefined ? old.key : input.key || null;
  return { provider, customHost, key, configurations: input.configurations ?? old.configurations };
}

/** A client that sends back what it was shown would put the masked form in the place of the secret. */
function refuseMasked(given: object, stored: object, path = 'configurations'): void {
  const shown = maskConfigurations(stored, path.split('.').at(-1)) as Readonly<Record<string, unknown>>;
  for (const [name, value] of Object.entries(given)) {
    const kept = (stored as Readonly<Record<string, unknown>>)[name];
    if (kept === undefined || isDeepStrictEqual(value, kept)) continue;
    if (isObject(value) && isObject(kept)) refuseMasked(value, kept, `${path}.${name}`);
    else if (value === shown[name])
      fail('invalid_request', `${path}.${name}`, 'is the masked form of what is stored; send the secret itself again');
  }
}

const isObject = (value: unknown): value is object =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

interface Hosts {
  readonly customHost: string | null;
  readonly configurations: Readonly<Record<string, unknown>>;
}

/** What providers give out as keys, tokens and files of service accounts. */
const CREDENTIAL = /^[\t\n\r\x20-\x7e]*$/;

/** A credential that no header can carry would be refused at every call. It is not shown. */
export function refuseCredential(key: SealedKey['key'] | undefined): void {
  if (typeof key === 'string' && !CREDENTIAL.test(key))
    fail('invalid_request', 'key', 'has a character that no credential has; give printable ASCII characters only');
}

/**
 * Where hosts are forbidden, only a caller that manages the organisation may store a new one. Hosts that were stored
 * before stay.
 */
export function refuseHost(who: Principal, next: Hosts, old?: Hosts) {
  if (!who.forbids || reachesOrganisation(who)) return;
  const foundry = ({ configurations }: Hosts) => configurations.azure_foundry_url ?? null;
  if (next.customHost !== null && next.customHost !== old?.customHost)
    refuseForbidden(who.forbids, 'custom_host', 'custom_host');
  if (foundry(next) !== null && (!old || foundry(next) !== foundry(old)))
    refuseForbidden(who.forbids, 'azure_foundry_url', 'configurations.azure_foundry_url');
  if (bucketHost(next) !== undefined && (!old || bucketHost(next) !== bucketHost(old)))
    refuseForbidden(who.forbids, 'custom_host', 'configurations.batch_storage.endpoint');
}

/** Where batches find their bucket, which is reached with the same credential. */
const bucketHost = ({ configurations }: Hosts): unknown =>
  (configurations.batch_storage as { readonly endpoint?: unknown } | null | undefined)?.endpoint;

/** Addresses that stand in the place of the provider's own. */
export const addressesOf = (hosts: Hosts): string[] =>
  [hosts.customHost, hosts.configurations.azure_foundry_url, bucketHost(hosts)].filter(
    (each): each is string => typeof each === 'string' && each !== '',
  );
