/**
 * Runs Terraform with Portkey's provider against a gateway that it starts: for each resource plan, apply, a plan that finds no
 * difference, a change, a plan that finds none again, import and destroy. It prints the table that docs/terraform.md keeps. Not
 * part of `npm test`: it needs `terraform` and either a Go toolchain with a module proxy that has the provider, or a
 * provider that was built elsewhere.
 *
 *     bun scripts/check-terraform.ts [path of a terraform-provider-portkey]
 *
 * Terraform finds the provider by a development override, so it asks no registry.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ADMIN_KEY, startGateway } from '../test/gateway.ts';

const MODULE = 'github.com/portkey-ai/terraform-provider-portkey';
const NAME = 'terraform-provider-portkey';

interface Case {
  /** Without the prefix of the provider. */
  readonly resource: string;
  /** What it needs beside itself. */
  readonly beside?: string;
  /** Its members at first, and after a change; null: nothing of it can be changed in place. */
  readonly first: string;
  readonly then: string | null;
  /** By which id it is imported, of the members in the state; null: it cannot be imported. */
  readonly importedBy?: ((state: Readonly<Record<string, string>>) => string) | null;
  /** Secrets and the like are not read back, so the plan after an import shows them. */
  readonly isSilentOnImport?: boolean;
}

const WORKSPACE = 'resource "portkey_workspace" "beside" {\n  name = "Beside"\n}\n';
const integration = (host: string) => `resource "portkey_integration" "beside" {
  name           = "Beside"
  ai_provider_id = "openai"
  key            = "sk-not-a-real-key"
  configurations = jsonencode({ custom_host = "${host}" })
}
`;
const mcp = (origin: string) => `resource "portkey_mcp_integration" "beside" {
  name         = "Beside"
  url          = "${origin}/mcp"
  auth_type    = "none"
  transport    = "http"
}
`;
const who = `workspace_id = portkey_workspace.beside.id
  conditions   = jsonencode([{ key = "workspace_id", value = portkey_workspace.beside.id }])
  group_by     = jsonencode([{ key = "api_key" }])`;

const casesOn = ({ host, origin, user }: { host: string; origin: string; user: string }): Case[] => [
  {
    resource: 'workspace',
    first: 'name = "First"\n  description = "one"',
    then: 'name = "Second"\n  description = "two"',
  },
  {
    resource: 'workspace_member',
    beside: WORKSPACE,
    first: `workspace_id = portkey_workspace.beside.id\n  user_id = "${user}"\n  role = "member"`,
    then: `workspace_id = portkey_workspace.beside.id\n  user_id = "${user}"\n  role = "manager"`,
    importedBy: ({ workspace_id, user_id }) => `${workspace_id}/${user_id}`,
  },
  {
    resource: 'user_invite',
    beside: WORKSPACE,
    first:
      'email = "invited@example.com"\n  role = "member"\n  workspaces = [{ id = portkey_workspace.beside.id, role = "member" }]',
    then: null,
  },
  {
    resource: 'api_key',
    beside: WORKSPACE,
    first:
      'name = "First"\n  type = "workspace"\n  sub_type = "service"\n  workspace_id = portkey_workspace.beside.id\n  scopes = ["completions.write"]\n  usage_limits = { credit_limit = 10, periodic_reset = "monthly" }',
    then: 'name = "Second"\n  type = "workspace"\n  sub_type = "service"\n  workspace_id = portkey_workspace.beside.id\n  scopes = ["completions.write", "logs.list"]\n  usage_limits = { credit_limit = 20, periodic_reset = "monthly" }',
  },
  {
    resource: 'integration',
    first: `name = "First"\n  ai_provider_id = "openai"\n  key = "sk-not-a-real-key"\n  configurations = jsonencode({ custom_host = "${host}" })`,
    then: `name = "Second"\n  ai_provider_id = "openai"\n  key = "sk-another-fake"\n  configurations = jsonencode({ custom_host = "${host}" })`,
    importedBy: ({ slug }) => slug!,
    isSilentOnImport: false,
  },
  {
    resource: 'integration_workspace_access',
    beside: WORKSPACE + integration(host),
    first:
      'integration_id = portkey_integration.beside.slug\n  workspace_id = portkey_workspace.beside.id\n  enabled = true',
    then: 'integration_id = portkey_integration.beside.slug\n  workspace_id = portkey_workspace.beside.id\n  enabled = true\n  rate_limits = [{ type = "requests", unit = "rpm", value = 100 }]',
    importedBy: ({ id }) => id!,
  },
  {
    resource: 'integration_model_access',
    beside: integration(host),
    first:
      'integration_id = portkey_integration.beside.slug\n  model_slug = "house-model"\n  enabled = true\n  is_custom = true\n  pricing_config = { type = "static", pay_as_you_go = { request_token_price = 0.00025, response_token_price = 0.001 } }',
    then: 'integration_id = portkey_integration.beside.slug\n  model_slug = "house-model"\n  enabled = true\n  is_custom = true\n  pricing_config = { type = "static", pay_as_you_go = { request_token_price = 0.1, response_token_price = 0.3 } }',
    importedBy: ({ id }) => id!,
  },
  {
    resource: 'provider',
    beside: WORKSPACE + integration(host),
    first:
      'name = "First"\n  workspace_id = portkey_workspace.beside.id\n  integration_id = portkey_integration.beside.slug\n  note = "one"',
    then: 'name = "Second"\n  workspace_id = portkey_workspace.beside.id\n  integration_id = portkey_integration.beside.slug\n  note = "two"',
    importedBy: ({ workspace_id, id }) => `${workspace_id}:${id}`,
  },
  {
    resource: 'config',
    beside: WORKSPACE,
    first:
      'name = "First"\n  workspace_id = portkey_workspace.beside.id\n  config = jsonencode({ retry = { attempts = 3 } })',
    then: 'name = "Second"\n  workspace_id = portkey_workspace.beside.id\n  config = jsonencode({ retry = { attempts = 1 } })',
    importedBy: ({ slug }) => slug!,
  },
  {
    resource: 'guardrail',
    beside: WORKSPACE,
    first:
      'name = "First"\n  workspace_id = portkey_workspace.beside.id\n  checks = jsonencode([{ id = "default.wordCount", parameters = { minWords = 1, maxWords = 100 } }])\n  actions = jsonencode({ deny = true })',
    then: 'name = "Second"\n  workspace_id = portkey_workspace.beside.id\n  checks = jsonencode([{ id = "default.wordCount", parameters = { minWords = 1, maxWords = 200 } }])\n  actions = jsonencode({ deny = true })',
    importedBy: ({ slug }) => slug!,
  },
  {
    resource: 'usage_limits_policy',
    beside: WORKSPACE,
    first: `name = "First"\n  type = "cost"\n  credit_limit = 100\n  periodic_reset = "monthly"\n  ${who}`,
    then: `name = "Second"\n  type = "cost"\n  credit_limit = 200\n  periodic_reset = "monthly"\n  ${who}`,
  },
  {
    resource: 'rate_limits_policy',
    beside: WORKSPACE,
    first: `name = "First"\n  type = "requests"\n  unit = "rpm"\n  value = 100\n  ${who}`,
    then: `name = "Second"\n  type = "requests"\n  unit = "rpm"\n  value = 200\n  ${who}`,
  },
  {
    resource: 'mcp_integration',
    beside: WORKSPACE,
    first: `name = "First"\n  url = "${origin}/mcp"\n  auth_type = "none"\n  transport = "http"\n  workspace_id = portkey_workspace.beside.id`,
    then: `name = "Second"\n  url = "${origin}/mcp"\n  auth_type = "none"\n  transport = "http"\n  workspace_id = portkey_workspace.beside.id`,
  },
  {
    resource: 'mcp_integration_capabilities',
    beside: mcp(origin),
    first:
      'mcp_integration_id = portkey_mcp_integration.beside.id\n  capabilities = [{ name = "look", type = "tool", enabled = false }]',
    then: 'mcp_integration_id = portkey_mcp_integration.beside.id\n  capabilities = [{ name = "look", type = "tool", enabled = true }]',
    importedBy: null,
  },
  {
    resource: 'scim_workspace_mapping',
    beside: WORKSPACE,
    first: 'workspace_id = portkey_workspace.beside.id\n  role = "member"\n  scim_group_name = "Engineering"',
    then: null,
    importedBy: ({ workspace_id, id }) => `${workspace_id}/${id}`,
    isSilentOnImport: false,
  },
];

const STEPS = ['plan', 'apply', 'no difference', 'change', 'no difference again', 'import', 'destroy'] as const;
type Step = (typeof STEPS)[number];
/** A dash: there is nothing to do. A text: what went wrong. */
type Outcome = 'ok' | '–' | { readonly fault: string };

async function run(command: readonly string[], cwd: string, environment: Record<string, string> = {}) {
  const made = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, error, code] = await Promise.all([
    new Response(made.stdout).text(),
    new Response(made.stderr).text(),
    made.exited,
  ]);
  return { code, out, text: `${out}\n${error}`.trim() };
}

/** The provider as it is published, from the module proxy. */
async function builtProvider(folder: string): Promise<string> {
  if (!Bun.which('go')) throw new Error('There is no go. Give the path of a provider that was built elsewhere.');
  const { code, text } = await run(['go', 'install', `${MODULE}@latest`], folder, {
    GOBIN: folder,
    GOFLAGS: '-mod=mod',
  });
  if (code !== 0) throw new Error(`The provider cannot be built: ${text.split('\n').slice(-2).join(' ')}`);
  return join(folder, NAME);
}

/** All of what Terraform says of a fault, without its frame. */
const faultIn = (text: string): { fault: string } => {
  const lines = text.split('\n').map((line) => line.replace(/^[│╷╵\s]+/u, ''));
  const from = lines.findIndex((line) => line.startsWith('Error:'));
  return { fault: lines.slice(Math.max(from, 0)).filter(Boolean).slice(0, 6).join(' ').slice(0, 400) };
};

async function check(one: Case, folder: string, environment: Record<string, string>) {
  const outcomes = new Map<Step, Outcome>();
  const address = `portkey_${one.resource}.it`;
  const write = (members: string) =>
    writeFileSync(
      join(folder, 'main.tf'),
      `terraform {\n  required_providers {\n    portkey = { source = "portkey-ai/portkey" }\n  }\n}\n${one.beside ?? ''}resource "portkey_${one.resource}" "it" {\n  ${members}\n}\n`,
    );
  const terraform = (...words: string[]) => run(['terraform', ...words, '-no-color'], folder, environment);
  /** 2 says that there is a difference. */
  const plan = async (wanted: 0 | 2): Promise<Outcome> => {
    const { code, text } = await terraform('plan', '-detailed-exitcode', '-input=false');
    if (code === wanted) return 'ok';
    return code === 1
      ? faultIn(text)
      : { fault: `the plan ${code === 2 ? 'shows a difference' : 'shows none'}: ${changesIn(text)}` };
  };
  const apply = async (): Promise<Outcome> => {
    const { code, text } = await terraform('apply', '-auto-approve', '-input=false');
    return code === 0 ? 'ok' : faultIn(text);
  };
  const imported = async (): Promise<Outcome> => {
    const { out } = await terraform('show', '-json');
    const all = JSON.parse(out).values.root_module.resources as { address: string; values: Record<string, string> }[];
    const { values } = all.find((each) => each.address === address)!;
    const id = one.importedBy?.(values) ?? values.id!;
    await terraform('state', 'rm', address);
    const { code, text } = await terraform('import', '-input=false', address, id);
    if (code !== 0) return faultIn(text);
    return one.isSilentOnImport === false ? 'ok' : plan(0);
  };
  const last = one.then ?? one.first;
  const doing: Readonly<Record<Step, () => Promise<Outcome>>> = {
    plan: () => plan(2),
    apply,
    'no difference': () => plan(0),
    change: async () => {
      if (one.then === null) return '–';
      write(one.then);
      return apply();
    },
    'no difference again': async () => (one.then === null ? '–' : plan(0)),
    import: async () => (one.importedBy === null ? '–' : imported()),
    destroy: async () => {
      const { code, text } = await terraform('destroy', '-auto-approve', '-input=false');
      return code === 0 ? 'ok' : faultIn(text);
    },
  };
  write(one.first);
  for (const step of STEPS) {
    outcomes.set(step, await doing[step]());
    if (typeof outcomes.get(step) === 'object' && (step === 'plan' || step === 'apply')) break;
  }
  write(last);
  return outcomes;
}

const changesIn = (text: string): string =>
  text
    .split('\n')
    .filter((line) => /^\s*[~+-] /.test(line))
    .map((line) => line.trim())
    .slice(0, 4)
    .join('; ')
    .slice(0, 300);

async function main(): Promise<number> {
  if (!Bun.which('terraform')) throw new Error('There is no terraform.');
  const folder = mkdtempSync(join(tmpdir(), 'gateway-terraform-'));
  const given = process.argv[2];
  const gateway = await startGateway({ environment: { GATEWAY_HEADER_ALIASES: 'x-portkey-' } });
  try {
    const provider = given ? resolve(given) : await builtProvider(folder);
    if (!existsSync(provider)) throw new Error(`There is no ${provider}.`);
    const settings = join(folder, 'terraform.rc');
    writeFileSync(
      settings,
      `provider_installation {\n  dev_overrides {\n    "portkey-ai/portkey" = "${dirname(provider)}"\n  }\n}\n`,
    );
    const environment = {
      TF_CLI_CONFIG_FILE: settings,
      CHECKPOINT_DISABLE: '1',
      PORTKEY_BASE_URL: `${gateway.url}/v1`,
      PORTKEY_API_KEY: ADMIN_KEY,
    };
    const user = await gateway.api.post('/v1/admin/users', {
      email: 'member@example.com',
      role: 'member',
      workspaces: [],
    });
    const cases = casesOn({ host: gateway.provider.url, origin: gateway.provider.origin, user: user.json.id });
    const faults: string[] = [];
    console.log(`| Resource | ${STEPS.join(' | ')} |\n|---|${STEPS.map(() => '---').join('|')}|`);
    for (const one of cases) {
      const place = join(folder, one.resource);
      mkdirSync(place);
      const outcomes = await check(one, place, environment);
      const cells = STEPS.map((step) => {
        const outcome = outcomes.get(step) ?? '–';
        if (typeof outcome === 'string') return outcome;
        faults.push(`${one.resource}, ${step}: ${outcome.fault}`);
        return 'fails';
      });
      console.log(`| \`portkey_${one.resource}\` | ${cells.join(' | ')} |`);
    }
    for (const fault of faults) console.error(fault);
    return faults.length === 0 ? 0 : 1;
  } finally {
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit(
  await main().catch((error: Error) => {
    console.error(error.message);
    return 2;
  }),
);
