import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { type Checked, schemaOf } from '../core/schema.ts';
import { Secret } from '../core/secret.ts';
import { readHostList } from '../http/host-list.ts';

const KUBERNETES_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

const text = () =>
  z
    .string()
    .regex(/^[\x20-\x7e]+$/, 'must be printable ASCII characters')
    .max(16_384);
const segment = () => z.string().regex(/^[\w.-]+(?:\/[\w.-]+)*$/, 'must be a name, or names with slashes between them');
const label = () => z.string().regex(/^[a-z0-9-]{1,63}$/i, 'must be letters, digits and dashes');
const url = () =>
  z
    .string()
    .max(2_048)
    .refine((given) => {
      const parsed = URL.parse(given);
      const isHttp = parsed?.protocol === 'https:' || parsed?.protocol === 'http:';
      return isHttp && !parsed.username && !parsed.password && !parsed.search && !parsed.hash;
    }, 'must be an http or https address without user, query and fragment');
const path = () => z.string().min(1).max(4_096);

/** Signed in to by the identity of the machine that has this name. */
const machine = () => z.strictObject({ method: z.literal('machine'), identity: label() });

const vaultAuth = () =>
  z.discriminatedUnion('method', [
    z.strictObject({ method: z.literal('token'), token: text().optional(), token_file: path().optional() }),
    z.strictObject({
      method: z.literal('approle'),
      mount: segment().default('approle'),
      role_id: text(),
      secret_id: text().optional(),
      secret_id_file: path().optional(),
    }),
    z.strictObject({
      method: z.literal('kubernetes'),
      mount: segment().default('kubernetes'),
      role: text(),
      token_file: path().default(KUBERNETES_TOKEN),
    }),
  ]);

const ofEveryStore = () => ({
  name: label().regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, 'must be lower-case letters, digits and inner dashes'),
  workspaces: z.record(
    z.string().regex(/^(?:\*|[a-z0-9][a-z0-9-]*)$/, 'must be the slug of a workspace, or *'),
    z.array(
      z
        .string()
        .regex(/^(?:\*|[\w.@+=/-]+\*?)$/, 'must be a path such as team-a/openai, or one that ends in a star, team-a/*'),
    ),
  ),
  hosts: z.array(z.string()).default([]),
  ca_file: path().optional(),
  refresh_seconds: z.int().min(1).max(3_600).default(30),
  stale_seconds: z.int().min(0).max(604_800).default(3_600),
});

const store = () =>
  z.discriminatedUnion('type', [
    z.strictObject({
      ...ofEveryStore(),
      type: z.literal('vault'),
      url: url(),
      mount: segment().default('secret'),
      namespace: segment().optional(),
      auth: vaultAuth(),
    }),
    z.strictObject({
      ...ofEveryStore(),
      type: z.literal('aws'),
      url: url().optional(),
      region: label(),
      auth: z.discriminatedUnion('method', [
        machine(),
        z.strictObject({
          method: z.literal('access_key'),
          access_key_id: text(),
          secret_access_key: text().optional(),
          secret_access_key_file: path().optional(),
          session_token: text().optional(),
        }),
      ]),
    }),
    z.strictObject({
      ...ofEveryStore(),
      type: z.literal('google'),
      url: url().optional(),
      project: label(),
      auth: z.discriminatedUnion('method', [
        machine(),
        z.strictObject({
          method: z.literal('service_account'),
          service_account_json: z.string().max(16_384).optional(),
          service_account_json_file: path().optional(),
          token_url: url().optional(),
        }),
      ]),
    }),
    z.strictObject({
      ...ofEveryStore(),
      type: z.literal('azure'),
      url: url(),
      auth: z.discriminatedUnion('method', [
        machine(),
        z.strictObject({
          method: z.literal('client_secret'),
          tenant_id: segment(),
          client_id: segment(),
          client_secret: text().optional(),
          client_secret_file: path().optional(),
          login_url: url().optional(),
        }),
      ]),
    }),
  ]);

const stores = () => z.array(store()).max(100);

type StoreSettings = Checked<typeof store>;
export type VaultSettings = Extract<StoreSettings, { type: 'vault' }>;
export type AwsSettings = Extract<StoreSettings, { type: 'aws' }>;
export type GoogleSettings = Extract<StoreSettings, { type: 'google' }>;
export type AzureSettings = Extract<StoreSettings, { type: 'azure' }>;

/** The secret stores that the operator has set up. They hold secrets themselves, so they are printed as `[secret]`. */
export class SecretStoreSettings {
  readonly #stores: readonly StoreSettings[];

  constructor(stores: readonly StoreSettings[]) {
    this.#stores = stores;
  }

  reveal(): readonly StoreSettings[] {
    return this.#stores;
  }

  toJSON(): string {
    return '[secret]';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[secret]';
  }
}

export const SECRET_STORES_FORM =
  'give a list in JSON of {"name", "type": "vault", "aws", "google" or "azure", "auth", "workspaces", …}, see docs/secret-stores.md';

/** A text says what is wrong; it names members, never what they hold. */
export function readSecretStores(given: string): SecretStoreSettings | string {
  let value: unknown;
  try {
    value = JSON.parse(given);
  } catch {
    return 'is no JSON';
  }
  const read = schemaOf(stores).safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    return `is wrong at ${placeOf(issue!.path)}: ${issue!.message}`;
  }
  const names = new Set<string>();
  for (const [index, each] of read.data.entries()) {
    const fault = faultOf(each) ?? (names.has(each.name) ? '.name: another store has it' : null);
    if (fault !== null) return `is wrong at [${index}]${fault}`;
    names.add(each.name);
  }
  return new SecretStoreSettings(read.data);
}

const placeOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('') || 'the top';

/** What may stand in the settings or in a file, and must stand in one of the two. */
const EITHER = ['token', 'secret_id', 'secret_access_key', 'service_account_json', 'client_secret'] as const;

function faultOf({ type, auth, hosts }: StoreSettings): string | null {
  const given = auth as Readonly<Record<string, unknown>>;
  for (const name of EITHER) {
    const isWanted = WANTED[`${type} ${auth.method}`] === name;
    if (isWanted && (given[name] === undefined) === (given[`${name}_file`] === undefined))
      return `.auth: give ${name} or ${name}_file, one of the two`;
  }
  try {
    readHostList(hosts, (entry) => {
      throw new Error(`.hosts: "${entry}" is no host; give host, host:port or *.domain`);
    });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

const WANTED: Readonly<Record<string, (typeof EITHER)[number]>> = {
  'vault token': 'token',
  'vault approle': 'secret_id',
  'aws access_key': 'secret_access_key',
  'google service_account': 'service_account_json',
  'azure client_secret': 'client_secret',
};

/** What was given, or what stands in its file now: files are written anew when a secret is changed. */
export function givenSecret(value: string | undefined, file: string | undefined): Secret {
  if (value !== undefined) return new Secret(value);
  try {
    const found = readFileSync(file!, 'utf8').trim();
    if (found) return new Secret(found);
  } catch {
    throw new Error('the file with what the gateway signs in with cannot be read');
  }
  throw new Error('the file with what the gateway signs in with is empty');
}

/** The identities of the machine that stores are signed in to by, each with the cloud that it must be of. */
export const identitiesOf = (settings: SecretStoreSettings): { store: string; identity: string; cloud: string }[] =>
  settings
    .reveal()
    .flatMap(({ name, type, auth }) =>
      auth.method === 'machine' ? [{ store: name, identity: auth.identity, cloud: type }] : [],
    );
