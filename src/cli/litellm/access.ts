import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Environment, resolveSecret } from '../../desired/reading/secrets.ts';
import { address } from '../../providers/options.ts';
import { findProvider } from '../../providers/registry.ts';
import { cloudOptions, hasCloudCredential } from './clouds.ts';
import type { Parameters } from './parameters.ts';
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

/** Says what is wrong with one parameter, or what becomes of it. */
export type Say = (parameter: string, why: string) => void;

/** How the code that reads one model says what it finds. */
export interface Saying {
  /** The file is wrong. */
  readonly refuse: Say;
  /** The file is right, and the model cannot be taken over. */
  readonly giveUp: Say;
  readonly leaveOut: Say;
  readonly note: Say;
}

const REFERENCE = /^os\.environ\/(.+)$/;

/** Reads the values of parameters, each once; `os.environ/NAME` stands for the variable. */
export interface Shared extends Saying {
  readonly text: (name: string) => string | undefined;
  readonly environment: Environment;
  readonly folder: string;
  readonly base: string | undefined;
  readonly model: string;
  readonly region: string | null;
}

export function accessOf(
  deployment: Deployment,
  parameters: Parameters,
  { environment, folder, ...saying }: { environment: Environment; folder: string } & Saying,
): Access {
  const { provider, model, hosted, isOwnServer, region } = deployment;
  const { refuse } = saying;
  let variable: string | null = null;
  const meaning = (name: string, value: unknown): string | undefined => {
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value === 'object') return JSON.stringify(value);
    const reference = REFERENCE.exec(String(value))?.[1]?.trim();
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
  const fromEnvironment = (names: readonly string[]): string | null => {
    const name = names.find((each) => environment[each]?.trim());
    if (name === undefined) return null;
    variable = name;
    return environment[name]!.trim();
  };
  const base = text('api_base') ?? text('base_url') ?? baseInEnvironment(provider, environment);
  const shared: Shared = { text, environment, folder, base, model, region, ...saying };
  const headers = Object.entries({
    ...(parameters.headers as object | null | undefined),
    ...(parameters.extra_headers as object | null | undefined),
  });
  const configurations = {
    ...cloudOptions(provider, shared),
    ...(headers.length > 0 && {
      custom_headers: Object.fromEntries(headers.map(([name, value]) => [name, meaning('extra_headers', value) ?? ''])),
    }),
  };
  const custom_host = hostOf(provider, base ?? hosted?.host, configurations, refuse);
  const isNamed = parameters.api_key !== undefined && parameters.api_key !== null && parameters.api_key !== '';
  // LiteLLM would send the vendor's key to any host; here it goes to the vendor alone.
  const isVendors = custom_host === null || (hosted !== null && base === undefined);
  const variables = hosted ? [hosted.variable] : variablesOf(provider);
  const key = isNamed ? (text('api_key') ?? null) : isVendors && !isOwnServer ? fromEnvironment(variables) : null;
  if (key === null && !isNamed && !hasCloudCredential(configurations))
    sayNoKey({ provider, custom_host, variables, isOwnServer, isVendors }, saying);
  else if (provider === 'ollama' && custom_host === null) refuse('api_base', OWN_ADDRESS);
  return { provider, key, custom_host, configurations, variable, place: placeOf(configurations, custom_host) };
}

const OWN_ADDRESS = 'is missing: the address of the server, such as http://models.example.com:8000/v1';

const baseInEnvironment = (provider: string, environment: Environment): string | undefined => {
  const variable = provider === 'azure-openai' ? 'AZURE_API_BASE' : provider === 'ollama' ? 'OLLAMA_API_BASE' : null;
  return (variable && environment[variable]?.trim()) || undefined;
};

function sayNoKey(
  {
    provider,
    custom_host,
    variables,
    isOwnServer,
    isVendors,
  }: {
    provider: string;
    custom_host: string | null;
    variables: readonly string[];
    isOwnServer: boolean;
    isVendors: boolean;
  },
  { refuse, giveUp, leaveOut }: Saying,
) {
  const names = variables.join(' or ');
  // Servers that people run themselves often want none.
  if (custom_host !== null && !isVendors && (provider === 'openai' || provider === 'ollama'))
    leaveOut(
      'api_key',
      `is missing, so ${new URL(custom_host).host} gets none${names && !isOwnServer ? `; ${names} is not sent there` : ''}`,
    );
  else if (isOwnServer || provider === 'ollama') refuse('api_base', OWN_ADDRESS);
  // LiteLLM would ask the machine it runs on; an identity of the machine is never lent here.
  else if (provider === 'bedrock' || provider === 'sagemaker')
    giveUp('aws_access_key_id', 'is missing, and the identity of the machine is not lent to calls');
  else if (provider === 'vertex-ai')
    giveUp('vertex_credentials', 'is missing, and the identity of the machine is not lent to calls');
  else refuse('api_key', `is missing, and so is ${names || 'any credential'}`);
}

const isDated = (version: unknown) => version !== undefined && /^\d/.test(String(version));

/** LiteLLM adds the version to some addresses itself, and our custom hosts hold it. */
function hostOf(
  provider: string,
  base: string | undefined,
  configurations: Readonly<Record<string, unknown>>,
  refuse: Say,
): string | null {
  if (base === undefined || provider === 'azure-ai' || configurations.azure_resource_name) return null;
  let host: string;
  try {
    // A whole address of Azure's with a query is taken for the resource.
    host = address('api_base', provider === 'azure-openai' ? base.replace(/[?#].*$/s, '') : base);
  } catch {
    refuse('api_base', 'is not an address such as https://models.example.com/v1');
    return null;
  }
  // People give the address of the endpoint as often as that of the API.
  if (provider === 'openai') host = host.replace(/\/(chat\/completions|completions|embeddings)$/, '');
  if (provider === 'azure-openai')
    host =
      host.replace(/\/openai(\/.*)?$/, '') + (isDated(configurations.azure_api_version) ? '/openai' : '/openai/v1');
  if (provider === 'anthropic') host = host.replace(/\/v1\/messages$/, '/v1');
  if ((provider === 'anthropic' || provider === 'ollama') && !/\/v\d+$/.test(host)) host += '/v1';
  const { baseUrl } = findProvider(provider) ?? {};
  const isDefault = typeof baseUrl === 'string' && (host === baseUrl || `${host}/v1` === baseUrl);
  return isDefault ? null : host;
}

const placeOf = (configurations: Readonly<Record<string, unknown>>, host: string | null): string | null => {
  const { azure_resource_name, azure_deployment_id, aws_region, vertex_region } = configurations;
  const parts = [azure_resource_name, azure_deployment_id, aws_region, vertex_region].filter(Boolean);
  return parts.length > 0 ? parts.join('-') : host && new URL(host).host;
};

/** A file that a parameter names, beside the one that is read. */
export function fileText(path: string, folder: string): string | null {
  const whole = resolve(folder, path);
  const read = existsSync(whole) ? resolveSecret({ file: whole }, { environment: {}, folder }) : null;
  return read !== null && read.why === undefined ? read.secret : null;
}
