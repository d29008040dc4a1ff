import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { address } from '../../providers/options.ts';
import { findProvider } from '../../providers/registry.ts';
import { type Environment, resolveSecret } from '../reading/secrets.ts';
import { type Deployment, variablesOf } from './providers.ts';

/** Where a deployment's credential goes, in our words. */
export interface Access {
  readonly provider: string;
  readonly key: string | null;
  readonly custom_host: string | null;
  readonly configurations: Readonly<Record<string, unknown>>;
  /** What a slug can be made of: the variable that holds the credential, the place it is for. */
  readonly variable: string | null;
  readonly place: string | null;
}

export type Parameters = Readonly<Record<string, unknown>>;

const TAKEN = new Set([
  'model',
  'custom_llm_provider',
  'litellm_credential_name',
  'api_key',
  'api_base',
  'base_url',
  'api_version',
  'organization',
  'extra_headers',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'aws_region_name',
  'aws_role_name',
  'aws_external_id',
  'vertex_project',
  'vertex_location',
  'vertex_credentials',
  'tenant_id',
  'client_id',
  'client_secret',
  'azure_ad_token',
  'rpm',
  'tpm',
  'weight',
]);

/** Members that have no counterpart. */
export const unknownParameters = (parameters: Parameters): string[] =>
  Object.keys(parameters).filter((name) => !TAKEN.has(name) && parameters[name] !== null);

/** Says what is wrong with one parameter, or what becomes of it. */
export type Refuse = (parameter: string, why: string) => void;

const REFERENCE = /^os\.environ\/(.+)$/;

export function accessOf(
  { provider, model }: Deployment,
  parameters: Parameters,
  {
    environment,
    folder,
    refuse,
    leaveOut,
  }: { environment: Environment; folder: string; refuse: Refuse; leaveOut: Refuse },
): Access {
  let variable: string | null = null;
  /** What a value stands for; `os.environ/NAME` stands for the variable. */
  const meaning = (name: string, value: unknown): string | undefined => {
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value === 'object') return JSON.stringify(value);
    const reference = REFERENCE.exec(String(value))?.[1];
    if (reference === undefined) return String(value);
    if (name === 'api_key') variable = reference;
    const resolved = resolveSecret({ env: reference }, { environment, folder });
    if (resolved.why !== undefined) refuse(name, resolved.why);
    return resolved.why === undefined ? resolved.secret : undefined;
  };
  const known = new Map<string, string | undefined>();
  const text = (name: string): string | undefined => {
    if (!known.has(name)) known.set(name, meaning(name, parameters[name]));
    return known.get(name);
  };
  const fromEnvironment = (): string | null => {
    const name = variablesOf(provider).find((each) => environment[each]?.trim());
    if (name === undefined) return null;
    variable = name;
    return environment[name]!.trim();
  };
  const base = text('api_base') ?? text('base_url');
  const shared = { text, environment, folder, refuse, base, model };
  const headers = Object.entries((parameters.extra_headers as object | null | undefined) ?? {});
  const configurations = {
    ...configurationsOf(provider, shared),
    ...(headers.length > 0 && {
      custom_headers: Object.fromEntries(headers.map(([name, value]) => [name, meaning('extra_headers', value) ?? ''])),
    }),
  };
  const custom_host = hostOf(provider, base, configurations, refuse);
  const isNamed = parameters.api_key !== undefined && parameters.api_key !== null && parameters.api_key !== '';
  // LiteLLM would send the vendor's key to any host; here it goes to the vendor alone.
  const key = isNamed ? (text('api_key') ?? null) : custom_host === null ? fromEnvironment() : null;
  if (key === null && !isNamed) sayNoKey(provider, configurations, custom_host, { refuse, leaveOut });
  const place = placeOf(configurations, custom_host);
  return { provider, key, custom_host, configurations, variable, place };
}

interface Shared {
  readonly text: (name: string) => string | undefined;
  readonly environment: Environment;
  readonly folder: string;
  readonly refuse: Refuse;
  readonly base: string | undefined;
  readonly model: string;
}

function configurationsOf(provider: string, shared: Shared): Record<string, unknown> {
  const { text } = shared;
  if (provider === 'azure-openai') return azureOptions(shared);
  if (provider === 'azure-ai')
    return present({ azure_foundry_url: shared.base, azure_api_version: text('api_version') });
  if (provider === 'bedrock' || provider === 'sagemaker') return awsOptions(shared);
  if (provider === 'vertex-ai') return vertexOptions(shared);
  if (provider === 'openai') return present({ openai_organization: text('organization') });
  return {};
}

const present = (options: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

const AZURE_HOST = /^https:\/\/([a-z0-9-]+)\.openai\.azure\.com(\/|$)/i;
const isDated = (version: string | undefined) => version !== undefined && /^\d/.test(version);

function azureOptions({ text, base, model, refuse }: Shared): Record<string, unknown> {
  const version = text('api_version');
  const resource = base === undefined ? undefined : AZURE_HOST.exec(base)?.[1];
  if (base === undefined) refuse('api_base', 'is missing: the address of the Azure resource');
  const isEntra = text('tenant_id') !== undefined;
  return present({
    azure_resource_name: resource,
    azure_api_version: version,
    // Older API versions have the deployment in the path, so that each needs a virtual key of its own.
    azure_deployment_id: isDated(version) ? model : undefined,
    azure_ad_token: text('azure_ad_token'),
    azure_auth_mode: isEntra ? 'entra' : undefined,
    azure_entra_tenant_id: text('tenant_id'),
    azure_entra_client_id: text('client_id'),
    azure_entra_client_secret: text('client_secret'),
  });
}

function awsOptions({ text, environment }: Shared): Record<string, unknown> {
  const found = (name: string, variable: string) => text(name) ?? (environment[variable]?.trim() || undefined);
  const role = text('aws_role_name');
  const usesApiKey = text('api_key') !== undefined;
  return present({
    aws_region: text('aws_region_name') ?? found('aws_region_name', 'AWS_REGION_NAME') ?? environment.AWS_REGION,
    aws_access_key_id: usesApiKey ? undefined : found('aws_access_key_id', 'AWS_ACCESS_KEY_ID'),
    aws_secret_access_key: usesApiKey ? undefined : found('aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY'),
    aws_session_token: text('aws_session_token'),
    aws_auth_type: role === undefined ? undefined : 'assumedRole',
    aws_role_arn: role,
    aws_external_id: text('aws_external_id'),
  });
}

/** The credentials are JSON, or the path of a file that holds it. */
function vertexOptions({ text, folder, refuse }: Shared): Record<string, unknown> {
  let account = text('vertex_credentials');
  if (account !== undefined && !account.trimStart().startsWith('{')) {
    const path = resolve(folder, account);
    const read = existsSync(path) ? resolveSecret({ file: path }, { environment: {}, folder }) : null;
    if (read?.why === undefined && read !== null) account = read.secret;
    else refuse('vertex_credentials', 'is neither the JSON of a service account nor a file that can be read');
  }
  return present({
    vertex_project_id: text('vertex_project'),
    vertex_region: text('vertex_location'),
    vertex_service_account_json: account,
  });
}

/** LiteLLM would ask the machine it runs on; an identity of the machine is never lent here. */
function sayNoKey(
  provider: string,
  configurations: Readonly<Record<string, unknown>>,
  custom_host: string | null,
  { refuse, leaveOut }: { refuse: Refuse; leaveOut: Refuse },
) {
  const has = (name: string) => configurations[name] !== undefined;
  if (has('aws_access_key_id') || has('vertex_service_account_json')) return;
  if (has('azure_ad_token') || has('azure_entra_client_secret')) return;
  const variables = variablesOf(provider).join(' or ');
  // Servers that people run themselves often want none.
  if (custom_host !== null && (provider === 'openai' || provider === 'ollama'))
    leaveOut(
      'api_key',
      `is missing, so ${new URL(custom_host).host} gets none${variables && `; ${variables} is not sent there`}`,
    );
  else refuse('api_key', `is missing, and so is ${variables || 'any credential'}`);
}

/** LiteLLM adds the version to some addresses itself, and our custom hosts hold it. */
function hostOf(
  provider: string,
  base: string | undefined,
  configurations: Readonly<Record<string, unknown>>,
  refuse: Refuse,
): string | null {
  if (base === undefined || provider === 'azure-ai' || configurations.azure_resource_name) return null;
  let host: string;
  try {
    host = address('api_base', base);
  } catch {
    refuse('api_base', 'is not an address such as https://models.example.com/v1');
    return null;
  }
  if (provider === 'azure-openai')
    host =
      host.replace(/\/openai(\/.*)?$/, '') +
      (isDated(String(configurations.azure_api_version)) ? '/openai' : '/openai/v1');
  if ((provider === 'anthropic' || provider === 'ollama') && !/\/v\d+$/.test(host)) host += '/v1';
  return host === findProvider(provider)?.baseUrl ? null : host;
}

const placeOf = (configurations: Readonly<Record<string, unknown>>, host: string | null): string | null => {
  const { azure_resource_name, azure_deployment_id, aws_region, vertex_region } = configurations;
  const parts = [azure_resource_name, azure_deployment_id, aws_region, vertex_region].filter(Boolean);
  return parts.length > 0 ? parts.join('-') : host && new URL(host).host;
};
