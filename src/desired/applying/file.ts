import * as z from 'zod';
import { create as apiKeyInput } from '../../admin/api-keys.ts';
import { forbidden } from '../../admin/schemas.ts';
import { create as virtualKeyInput } from '../../admin/virtual-keys.ts';
import { create as workspaceInput } from '../../admin/workspaces.ts';
import { DEFAULT_WORKSPACE } from '../../auth/workspaces.ts';
import { rateLimits, usageLimit } from '../../core/limits.ts';
import type { Checked } from '../../core/schema.ts';
import { DATA_SCOPES } from '../../core/scopes.ts';
import { isSecretReference } from '../../core/secret-reference.ts';
import { name as nameOf, slug as slugOf } from '../../http/resource.ts';
import type { ApiKeyWish, Desired, OrganisationWish, VirtualKeyWish, WorkspaceWish } from '../desired.ts';
import { checked, type Findings, type Place, pathText } from '../reading/findings.ts';
import type { SecretFinder } from '../reading/secrets.ts';
import type { Path, Source } from '../reading/source.ts';
import { readConfig } from './configs.ts';
import { readPolicies } from './policies.ts';
import { createSecretReader, type SecretReader } from './secrets.ts';

type Section = 'workspaces' | 'virtual_keys' | 'configs' | 'api_keys';

const entries = z.array(z.unknown(), { error: 'give a list' }).nullable().optional();
const file = z.strictObject({
  version: z.literal(1, { error: 'give version: 1, the form this page describes' }),
  name: slugOf().optional(),
  organisation: z.unknown().optional(),
  workspaces: entries,
  virtual_keys: entries,
  configs: entries,
  api_keys: entries,
  policies: z.unknown().optional(),
});

/** One usage limit may stand without a list, as in the API. */
const oneOrMore = z.preprocess(
  (value) => (value === null || value === undefined || Array.isArray(value) ? value : [value]),
  z.array(usageLimit()).max(10).nullable().optional(),
);
const limits = { rate_limits: rateLimits().nullable().optional(), usage_limits: oneOrMore };

const organisationEntry = z.strictObject(forbidden()).nullable();
const workspaceEntry = workspaceInput().extend({ slug: slugOf(), ...limits });
const virtualKeyEntry = virtualKeyInput()
  .omit({ workspace_id: true })
  .extend({
    slug: slugOf(),
    name: nameOf().optional(),
    workspace: slugOf().optional(),
    key: z.unknown().optional(),
    ...limits,
  });
const apiKeyEntry = apiKeyInput()
  .omit({ workspace_id: true, user_id: true })
  .extend({ workspace: slugOf().optional(), key: z.unknown().optional(), ...limits });

/** What `gateway apply` reads: what is to exist, under the name whose marks count. */
export interface ApplyFile {
  readonly name: string;
  readonly desired: Desired;
}

interface Reading {
  readonly source: Source;
  readonly findings: Findings;
  readonly secrets: SecretReader;
}

export function readApplyFile(source: Source, findings: Findings, from: SecretFinder): ApplyFile | null {
  const top = checked(file, source.value ?? {}, { source, path: [], findings });
  // A fault at the top does not hide those below.
  const sections = (top ?? source.value ?? {}) as Partial<Record<Section | 'organisation' | 'policies', unknown>>;
  const reading: Reading = { source, findings, secrets: createSecretReader(source, findings, from) };
  const all = <Wish>(section: Section, read: (value: unknown, path: Path, reading: Reading) => Wish | null): Wish[] =>
    [sections[section] ?? []].flat().flatMap((value, index) => read(value, [section, index], reading) ?? []);
  const desired: Desired = {
    organisation: readOrganisation(sections.organisation, ['organisation'], reading),
    workspaces: all('workspaces', readWorkspace),
    virtualKeys: all('virtual_keys', readVirtualKey),
    configs: all('configs', readConfig),
    apiKeys: all('api_keys', readApiKey),
    policies: readPolicies(sections.policies, source, findings),
  };
  refuseTwice(desired.workspaces, findings, ({ slug }) => slug, 'workspace');
  refuseTwice(desired.virtualKeys, findings, ({ ref }) => ref, 'virtual key');
  refuseTwice(desired.configs, findings, ({ ref }) => ref, 'config');
  refuseTwice(desired.apiKeys, findings, ({ ref }) => ref, 'API key');
  refuseTwice(desired.policies, findings, ({ ref }) => ref, 'policy');
  refuseTwice(
    desired.apiKeys,
    findings,
    ({ secret }) => secret.hash,
    'secret',
    ({ ref }) => ref,
  );
  return top === null ? null : { name: top.name ?? 'default', desired };
}

const limitsOf = (entry: { rate_limits?: Checked<typeof rateLimits> | null; usage_limits?: unknown }) => ({
  rate_limits: entry.rate_limits ?? [],
  usage_limits: [entry.usage_limits ?? []].flat() as Checked<typeof usageLimit>[],
});

/** No rules are null, as in the database. */
const rulesOf = ({ forbidden }: { forbidden?: readonly string[] | null }) => (forbidden?.length ? forbidden : null);

/** A file that does not name the organisation says nothing about it. */
function readOrganisation(value: unknown, path: Path, { source, findings }: Reading): OrganisationWish[] {
  if (value === undefined) return [];
  const entry = checked(organisationEntry, value, { source, path, findings });
  const place = source.placeOf(path);
  return entry === null ? [] : [{ place, ref: '*', workspace: null, fields: { forbidden: rulesOf(entry) } }];
}

function readWorkspace(value: unknown, path: Path, { source, findings }: Reading): WorkspaceWish | null {
  const entry = checked(workspaceEntry, value, { source, path, findings });
  if (entry === null) return null;
  const { slug, name, description = null, defaults = {} } = entry;
  const { member_keys = null } = entry;
  const fields = { name, description, defaults, forbidden: rulesOf(entry), member_keys, ...limitsOf(entry) };
  return { place: source.placeOf(path), ref: slug, slug, fields };
}

function readVirtualKey(value: unknown, path: Path, { source, findings, secrets }: Reading): VirtualKeyWish | null {
  const entry = checked(virtualKeyEntry, value, { source, path, findings });
  if (entry === null) return null;
  const { slug, workspace = DEFAULT_WORKSPACE, name = slug, note = null, provider, expires_at = null } = entry;
  const before = findings.faults.length;
  const key =
    entry.key === undefined || entry.key === null
      ? null
      : isSecretReference(entry.key)
        ? entry.key
        : secrets.read(entry.key, [...path, 'key']);
  const configurations = secrets.readConfigurations(entry.configurations ?? {}, [...path, 'configurations']);
  if (findings.faults.length > before) return null;
  return {
    place: source.placeOf(path),
    ref: `${workspace}/${slug}`,
    workspace,
    slug,
    key,
    fields: {
      name,
      note,
      provider,
      custom_host: entry.custom_host || null,
      configurations,
      expires_at,
      ...limitsOf(entry),
    },
  };
}

function readApiKey(value: unknown, path: Path, { source, findings, secrets }: Reading): ApiKeyWish | null {
  const entry = checked(apiKeyEntry, value, { source, path, findings });
  if (entry === null) return null;
  const { workspace = DEFAULT_WORKSPACE, name, description = null, expires_at = null } = entry;
  const secret = secrets.readKnown(entry.key, [...path, 'key']);
  if (secret === null) return null;
  return {
    place: source.placeOf(path),
    ref: `${workspace}/${name}`,
    workspace,
    secret,
    fields: {
      name,
      description,
      scopes: entry.scopes ?? DATA_SCOPES,
      defaults: entry.defaults ?? {},
      forbidden: rulesOf(entry),
      models: entry.models ?? null,
      expires_at,
      ...limitsOf(entry),
    },
  };
}

const placeText = ({ line, path }: Place): string => (path ? `at ${pathText(path)}` : `in line ${line}`);

/** The first of two of a name would be changed into the second, and back again at the next run. Gives each name once. */
export function refuseTwice<Wish extends { readonly place: Place }>(
  wishes: readonly Wish[],
  findings: Findings,
  keyOf: (wish: Wish) => string,
  what: string,
  nameOfWish: (wish: Wish) => string = keyOf,
): Wish[] {
  const seen = new Map<string, Wish>();
  for (const wish of wishes) {
    const first = seen.get(keyOf(wish));
    if (first) findings.fault(wish.place, `the same ${what} as ${placeText(first.place)}: ${nameOfWish(wish)}`);
    else seen.set(keyOf(wish), wish);
  }
  return [...seen.values()];
}
