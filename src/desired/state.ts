import { ruleIn } from '../auth/member-keys.ts';
import { readSealed, SECRET_NAME } from '../auth/virtual-key.ts';
import { DEFAULT_WORKSPACE } from '../auth/workspaces.ts';
import { modelsIn } from '../core/allowed-models.ts';
import { rulesIn } from '../core/forbidden.ts';
import { maskedAddress } from '../core/masked-address.ts';
import { isAddressName } from '../core/secret-names.ts';
import { isSecretReference } from '../core/secret-reference.ts';
import { isoOf } from './desired.ts';
import type { Ground } from './ground.ts';
import { limitsIn } from './limits.ts';

/** What the database holds, in the form that `gateway apply` reads. */
export interface ExportedState {
  readonly file: Readonly<Record<string, unknown>>;
  /** From which variables of the environment `gateway apply` reads secrets, in the order of the file. */
  readonly variables: readonly string[];
  /** What such a file cannot say, in words. */
  readonly leftOut: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Members that say nothing are left out, as people leave them out. */
const saying = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => {
      if (value === null || value === undefined) return false;
      return typeof value !== 'object' || Object.keys(value).length > 0;
    }),
  );

export async function readState({
  store,
  sealer,
  who,
}: Pick<Ground, 'store' | 'sealer' | 'who'>): Promise<ExportedState> {
  const { organisationId } = who;
  const secrets = new NamedSecrets();
  const leftOut: string[] = [];
  const { db } = store;

  const organisation = await db
    .selectFrom('organisations')
    .select('forbidden')
    .where('id', '=', organisationId)
    .executeTakeFirstOrThrow();
  const workspaces = await db
    .selectFrom('workspaces')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('slug')
    .execute();
  const slugs = new Map(workspaces.map(({ id, slug }) => [id, slug]));
  const within = (id: string) => (slugs.get(id) === DEFAULT_WORKSPACE ? null : slugs.get(id));
  const allKeys = await db
    .selectFrom('virtual_keys')
    .selectAll()
    .where('workspace_id', 'in', [...slugs.keys()])
    .orderBy('workspace_id')
    .orderBy('slug')
    .execute();
  // Linked keys are made with the integration that they belong to; such a file has no words for that.
  const virtualKeys = allKeys.filter(({ source_id }) => source_id === null);
  for (const { slug, workspace_id, source_id } of allKeys) {
    if (source_id === null) continue;
    const source = allKeys.find(({ id }) => id === source_id);
    const named = source ? `${slugs.get(source.workspace_id)}/${source.slug}` : 'another one';
    leftOut.push(
      `virtual key ${slugs.get(workspace_id)}/${slug}, which uses the credential of ${named}; link it there again`,
    );
  }
  const configs = await db
    .selectFrom('configs')
    .innerJoin('config_versions', 'config_versions.id', 'configs.version_id')
    .selectAll('configs')
    .select('config_versions.sealed')
    .where('configs.organisation_id', '=', organisationId)
    .orderBy('configs.workspace_id')
    .orderBy('configs.slug')
    .execute();
  const apiKeys = await db
    .selectFrom('api_keys')
    .leftJoin('api_key_secrets', (join) =>
      join.onRef('api_key_secrets.api_key_id', '=', 'api_keys.id').on('valid_until', 'is', null),
    )
    .selectAll('api_keys')
    .select('api_key_secrets.hash')
    .where('organisation_id', '=', organisationId)
    .orderBy('api_keys.id')
    .execute();
  const policies = await db
    .selectFrom('policies')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('id')
    .execute();

  const names = new Set<string>();
  /** Of two of a name, such a file knows only one. */
  const isFirst = (kind: string, name: string): boolean => {
    const key = `${kind} ${name}`;
    if (names.has(key)) leftOut.push(`${key}, because another one has its name`);
    return !names.has(key) && names.add(key).has(key);
  };
  const ofUsers = apiKeys.filter(({ user_id }) => user_id !== null).length;
  if (ofUsers > 0) leftOut.push(`${ofUsers} API keys of users, which go with them`);
  const archived = configs.filter(({ status }) => status !== 'active');
  for (const { slug, workspace_id } of archived)
    leftOut.push(`config ${slugs.get(workspace_id)}/${slug}, which is not active`);

  const file = saying({
    version: 1,
    organisation: saying({ forbidden: rulesIn(organisation.forbidden) }),
    workspaces: workspaces.map((row) =>
      saying({
        slug: row.slug,
        name: row.name,
        description: row.description,
        defaults: JSON.parse(row.defaults),
        forbidden: rulesIn(row.forbidden),
        member_keys: ruleIn(row.member_keys),
        ...limitsIn(row),
      }),
    ),
    virtual_keys: virtualKeys.map((row) => {
      const { key, configurations } = readSealed(sealer.open('virtual-key', row.id, row.sealed));
      const stem = [within(row.workspace_id), row.slug].filter(Boolean).join('_');
      return saying({
        slug: row.slug,
        workspace: within(row.workspace_id),
        name: row.name,
        note: row.note,
        provider: row.provider,
        key: isSecretReference(key) ? key : key ? secrets.refer(`${stem}_key`) : null,
        custom_host: row.custom_host,
        configurations: secrets.hidden(configurations, stem),
        expires_at: isoOf(row.expires_at),
        ...limitsIn(row),
      });
    }),
    configs: configs
      .filter(({ status }) => status === 'active')
      .map((row) => ({
        ...saying({ slug: row.slug, workspace: within(row.workspace_id), name: row.name }),
        config: secrets.hiddenConfig(
          JSON.parse(sealer.open('config', row.version_id, row.sealed)) as Fields,
          [within(row.workspace_id), row.slug].filter(Boolean).join('_'),
        ),
      })),
    api_keys: apiKeys
      .filter(({ origin, user_id, hash }) => origin === 'api' && user_id === null && hash !== null)
      .filter(({ workspace_id, name }) => isFirst('API key', `${slugs.get(workspace_id)}/${name}`))
      .map((row) =>
        saying({
          name: row.name,
          workspace: within(row.workspace_id),
          description: row.description,
          key: { hash: row.hash },
          scopes: JSON.parse(row.scopes),
          defaults: JSON.parse(row.defaults),
          forbidden: rulesIn(row.forbidden),
          models: modelsIn(row.models),
          expires_at: isoOf(row.expires_at),
          ...limitsIn(row),
        }),
      ),
    policies: policiesOf(policies),
  });
  return { file, variables: secrets.names, leftOut };

  function policiesOf(rows: typeof policies): Fields {
    const ofKind = (kind: 'rate' | 'usage') =>
      rows
        .filter((row) => row.kind === kind)
        .filter((row) => {
          if (!row.name) leftOut.push(`${kind} policy ${row.id}, which has no name`);
          const place = row.workspace_id === null ? 'the organisation' : slugs.get(row.workspace_id);
          return row.name && isFirst(`${kind} policy`, `${row.name} of ${place}`);
        })
        .map((row) =>
          saying({
            name: row.name,
            description: row.description,
            ...(row.workspace_id === null ? { organisation: true } : { workspace: within(row.workspace_id) }),
            ...(JSON.parse(row.definition) as Fields),
          }),
        );
    return saying({ rate_limits: ofKind('rate'), usage_limits: ofKind('usage') });
  }
}

/** An address that a client can call that knows all of it. */
const hidesToken = (name: string, value: string): boolean => isAddressName(name) && maskedAddress(value) !== value;

/** Gives each secret the name of a variable, and never shows one. */
class NamedSecrets {
  readonly names: string[] = [];

  refer(stem: string): { readonly env: string } {
    const plain = stem.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
    const first = /^\d/.test(plain) ? `_${plain}` : plain;
    let name = first;
    for (let number = 2; this.names.includes(name); number++) name = `${first}_${number}`;
    this.names.push(name);
    return { env: name };
  }

  /** What is a secret by its name, and every text inside of such a thing, is a reference here. */
  hidden(value: unknown, stem: string, name = '', isSecret = false): unknown {
    const isHidden = isSecret || SECRET_NAME.test(name.replaceAll('-', '_')) || name === 'headers';
    if (typeof value === 'string') return isHidden || hidesToken(name, value) ? this.refer(`${stem}_${name}`) : value;
    if (Array.isArray(value)) return value.map((each) => this.hidden(each, stem, name, isHidden));
    if (value === null || typeof value !== 'object' || isSecretReference(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, this.hidden(each, stem, key, isHidden)]),
    );
  }

  /** Parameters of models hold no references. */
  hiddenConfig(config: Fields, stem: string): Fields {
    const { targets, override_params, default_params, ...own } = config;
    return {
      ...(this.hidden(own, stem) as Fields),
      ...(override_params !== undefined && { override_params }),
      ...(default_params !== undefined && { default_params }),
      ...(targets !== undefined && {
        targets: Array.isArray(targets) ? targets.map((target) => this.hiddenConfig(target as Fields, stem)) : targets,
      }),
    };
  }
}
