/**
 * What the Terraform provider `portkey-ai/portkey` decodes of an answer, by the name of its Go type. Go is strict: a list
 * where it expects an object, a fraction where it expects a whole number or a time in another form fails the whole plan.
 * null and absent members are left as they are, and members that it does not know are skipped.
 */
type Kind = 'string' | 'int' | 'number' | 'bool' | 'time' | 'texts' | 'any' | Shape | readonly [Shape];
export interface Shape {
  readonly [member: string]: Kind;
}

const rateLimit: Shape = { type: 'string', unit: 'string', value: 'int' };
const budget: Shape = { type: 'string', credit_limit: 'int', alert_threshold: 'int', periodic_reset: 'string' };
const place: Shape = { id: 'string', role: 'string' };
const made: Shape = { id: 'string', slug: 'string', version_id: 'string' };
const condition: Shape = { key: 'string', value: 'string' };
const policy: Shape = {
  id: 'string',
  name: 'string',
  conditions: [condition],
  group_by: [{ key: 'string' }],
  type: 'string',
  status: 'string',
  workspace_id: 'string',
  organisation_id: 'string',
  created_at: 'time',
  last_updated_at: 'time',
};
const tokenPrice: Shape = { price: 'number' };
const capability: Shape = { name: 'string', type: 'string', enabled: 'bool' };

const scimMapping: Shape = {
  id: 'string',
  workspace_id: 'string',
  scim_group: 'string',
  scim_group_id: 'string',
  role: 'string',
};

const one = {
  Workspace: {
    id: 'string',
    slug: 'string',
    name: 'string',
    description: 'string',
    defaults: { metadata: 'texts' },
    rate_limits: [rateLimit],
    usage_limits: [budget],
    created_at: 'time',
    last_updated_at: 'time',
  },
  User: { id: 'string', email: 'string', role: 'string', status: 'string', created_at: 'time', updated_at: 'time' },
  Member: {
    id: 'string',
    user_id: 'string',
    workspace_id: 'string',
    role: 'string',
    email: 'string',
    first_name: 'string',
    last_name: 'string',
    created_at: 'time',
  },
  Invite: {
    id: 'string',
    email: 'string',
    role: 'string',
    status: 'string',
    workspaces: [place],
    created_at: 'time',
    expires_at: 'time',
  },
  MadeKey: { id: 'string', key: 'string', object: 'string' },
  ApiKey: {
    id: 'string',
    name: 'string',
    description: 'string',
    type: 'string',
    organisation_id: 'string',
    workspace_id: 'string',
    user_id: 'string',
    status: 'string',
    creation_mode: 'string',
    rate_limits: [rateLimit],
    usage_limits: budget,
    scopes: 'any',
    defaults: { metadata: 'texts', config_id: 'string', allow_config_override: 'bool' },
    alert_emails: 'any',
    expires_at: 'time',
    created_at: 'time',
    last_updated_at: 'time',
  },
  Made: made,
  Integration: {
    id: 'string',
    slug: 'string',
    name: 'string',
    ai_provider_id: 'string',
    description: 'string',
    status: 'string',
    masked_key: 'string',
    configurations: 'any',
    type: 'string',
    workspace_id: 'string',
    secret_mappings: [{ target_field: 'string', secret_reference_id: 'string', secret_key: 'string' }],
    created_at: 'time',
    last_updated_at: 'time',
  },
  IntegrationModels: {
    allow_all_models: 'bool',
    models: [
      {
        slug: 'string',
        enabled: 'bool',
        is_custom: 'bool',
        is_finetune: 'bool',
        base_model_slug: 'string',
        pricing_config: { type: 'string', pay_as_you_go: { request_token: tokenPrice, response_token: tokenPrice } },
      },
    ],
  },
  IntegrationWorkspaces: {
    total: 'int',
    workspaces: [{ id: 'string', enabled: 'bool', usage_limits: [budget], rate_limits: [rateLimit] }],
  },
  Provider: {
    id: 'string',
    slug: 'string',
    name: 'string',
    ai_provider_name: 'string',
    integration_id: 'string',
    workspace_id: 'string',
    status: 'string',
    note: 'string',
    model_config: 'any',
    rate_limits: [rateLimit],
    usage_limits: budget,
    created_at: 'time',
    expires_at: 'time',
  },
  Config: {
    ...made,
    name: 'string',
    config: 'any',
    workspace_id: 'string',
    organisation_id: 'string',
    is_default: 'int',
    status: 'string',
    owner_id: 'string',
    updated_by: 'string',
    format: 'string',
    type: 'string',
    created_at: 'time',
    last_updated_at: 'time',
  },
  Guardrail: {
    ...made,
    name: 'string',
    organisation_id: 'string',
    workspace_id: 'string',
    checks: [{ id: 'string', is_enabled: 'bool', parameters: 'any' }],
    actions: 'any',
    status: 'string',
    owner_id: 'string',
    updated_by: 'string',
    created_at: 'time',
    last_updated_at: 'time',
  },
  UsagePolicy: { ...policy, credit_limit: 'number', alert_threshold: 'number', periodic_reset: 'string' },
  RatePolicy: { ...policy, unit: 'string', value: 'number' },
  McpIntegration: {
    id: 'string',
    slug: 'string',
    name: 'string',
    description: 'string',
    url: 'string',
    auth_type: 'string',
    transport: 'string',
    configurations: 'any',
    workspace_id: 'string',
    type: 'string',
    status: 'string',
    owner_id: 'string',
    created_at: 'string',
    last_updated_at: 'string',
  },
  McpWorkspaces: { workspaces: [{ id: 'string', enabled: 'bool' }] },
  McpCapabilities: { data: [capability] },
  ScimMapping: scimMapping,
  ScimMappings: { total_count: 'int', mappings: [scimMapping] },
} as const satisfies Readonly<Record<string, Shape>>;

/** Lists come as `{ data: [...] }`. */
const listOf = (shape: Shape): Shape => ({ data: [shape] });

export const shapeNamed = (name: string): Shape => {
  const [, item] = /^(\w+)\[\]$/.exec(name) ?? [];
  const shape = (one as Readonly<Record<string, Shape>>)[item ?? name];
  if (!shape) throw new Error(`There is no shape ${name}.`);
  return item ? listOf(shape) : shape;
};

/** RFC 3339, as Go reads it. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** Where Go would fail; empty: it decodes the value. */
export function undecodable(value: unknown, kind: Kind, path = '$'): string[] {
  if (value === null || value === undefined || kind === 'any') return [];
  if (Array.isArray(kind)) {
    if (!Array.isArray(value)) return [`${path} is no list`];
    return value.flatMap((item, index) => undecodable(item, kind[0] as Shape, `${path}[${index}]`));
  }
  if (typeof kind === 'object') {
    if (typeof value !== 'object' || Array.isArray(value)) return [`${path} is no object`];
    return Object.entries(kind).flatMap(([member, each]) =>
      undecodable((value as Record<string, unknown>)[member], each, `${path}.${member}`),
    );
  }
  return isOf(value, kind) ? [] : [`${path} is no ${kind}: ${JSON.stringify(value)}`];
}

function isOf(value: unknown, kind: Exclude<Kind, Shape | readonly [Shape]>): boolean {
  switch (kind) {
    case 'string':
      return typeof value === 'string';
    case 'int':
      return Number.isInteger(value);
    case 'number':
      return typeof value === 'number';
    case 'bool':
      return typeof value === 'boolean';
    case 'time':
      return typeof value === 'string' && TIME.test(value);
    case 'texts':
      return typeof value === 'object' && Object.values(value as object).every((text) => typeof text === 'string');
    default:
      return true;
  }
}
