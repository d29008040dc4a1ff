import { fileText, type Shared } from './access.ts';

type Options = Record<string, unknown>;

/** What the clouds want beside a key, or in place of it. */
export function cloudOptions(provider: string, shared: Shared): Options {
  const { text, environment } = shared;
  if (provider === 'azure-openai') return azureOptions(shared);
  if (provider === 'azure-ai')
    return present({
      azure_foundry_url: shared.base ?? environment.AZURE_AI_API_BASE,
      azure_api_version: text('api_version'),
      ...entraOptions(shared),
    });
  if (provider === 'bedrock' || provider === 'sagemaker') return awsOptions(shared);
  if (provider === 'vertex-ai') return vertexOptions(shared);
  if (provider === 'openai') return present({ openai_organization: text('organization') });
  if (provider === 'workers-ai')
    return present({ workers_ai_account_id: text('account_id') ?? environment.CLOUDFLARE_ACCOUNT_ID });
  if (provider === 'cortex')
    return present({ snowflake_account: text('account_id') ?? environment.SNOWFLAKE_ACCOUNT_ID });
  return {};
}

const CREDENTIALS = ['aws_access_key_id', 'vertex_service_account_json', 'azure_ad_token', 'azure_entra_client_secret'];

export const hasCloudCredential = (configurations: Readonly<Options>): boolean =>
  CREDENTIALS.some((name) => configurations[name] !== undefined);

const present = (options: Options) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== ''));

const AZURE_HOST = /^https:\/\/([a-z0-9-]+)\.openai\.azure\.com(\/|$)/i;

function azureOptions(shared: Shared): Options {
  const { text, base, model, refuse, environment } = shared;
  const inAddress = base === undefined ? null : /[?&]api-version=([\w-]+)/.exec(base)?.[1];
  const version = text('api_version') ?? inAddress ?? environment.AZURE_API_VERSION;
  const resource = base === undefined ? undefined : AZURE_HOST.exec(base)?.[1];
  if (base === undefined) refuse('api_base', 'is missing: the address of the Azure resource');
  return present({
    azure_resource_name: resource,
    azure_api_version: version,
    // Older API versions have the deployment in the path, so that each needs a virtual key of its own.
    azure_deployment_id: version !== undefined && /^\d/.test(version) && !model.includes('*') ? model : undefined,
    ...entraOptions(shared),
  });
}

function entraOptions({ text }: Shared): Options {
  const tenant = text('tenant_id');
  return {
    azure_ad_token: text('azure_ad_token'),
    azure_auth_mode: tenant === undefined ? undefined : 'entra',
    azure_entra_tenant_id: tenant,
    azure_entra_client_id: text('client_id'),
    azure_entra_client_secret: text('client_secret'),
  };
}

/** Where LiteLLM goes when neither file nor environment say it. */
const AWS_REGION = 'us-west-2';
const VERTEX_REGION = 'us-central1';

function awsOptions({ text, environment, region, note }: Shared): Options {
  const found = (name: string, variable: string) => text(name) ?? (environment[variable]?.trim() || undefined);
  const role = text('aws_role_name');
  const usesApiKey = text('api_key') !== undefined;
  const named = region ?? found('aws_region_name', 'AWS_REGION_NAME') ?? found('region_name', 'AWS_REGION');
  if (named === undefined) note('aws_region_name', `is missing; ${AWS_REGION} is taken, as LiteLLM does`);
  return present({
    aws_region: named ?? AWS_REGION,
    aws_access_key_id: usesApiKey ? undefined : found('aws_access_key_id', 'AWS_ACCESS_KEY_ID'),
    aws_secret_access_key: usesApiKey ? undefined : found('aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY'),
    aws_session_token: text('aws_session_token'),
    aws_auth_type: role === undefined ? undefined : 'assumedRole',
    aws_role_arn: role,
    aws_external_id: text('aws_external_id'),
  });
}

/** The credentials are JSON, or the path of a file that holds it. */
function vertexOptions({ text, folder, environment, refuse, note }: Shared): Options {
  const named = text('vertex_credentials');
  let account = named ?? environment.GOOGLE_APPLICATION_CREDENTIALS;
  if (account !== undefined && !account.trimStart().startsWith('{')) {
    const read = fileText(account, folder);
    if (read === null && named !== undefined)
      refuse('vertex_credentials', 'is neither the JSON of a service account nor a file that can be read');
    account = read ?? undefined;
  }
  const region = text('vertex_location') ?? text('vertex_ai_location') ?? environment.VERTEXAI_LOCATION;
  if (region === undefined) note('vertex_location', `is missing; ${VERTEX_REGION} is taken, as LiteLLM does`);
  return present({
    vertex_project_id: text('vertex_project') ?? text('vertex_ai_project') ?? environment.VERTEXAI_PROJECT,
    vertex_region: region ?? VERTEX_REGION,
    vertex_service_account_json: account,
  });
}
