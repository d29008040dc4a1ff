import { describe, expect, test } from 'bun:test';
import { GatewayError } from '../core/errors.ts';
import { readOptions, upstreamUrl } from './address.ts';
import { azureOpenai } from './azure-openai.ts';
import { bedrock } from './bedrock.ts';
import { google } from './google.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import type { Provider, ProviderOptions } from './provider.ts';
import { findProvider } from './registry.ts';

const refusal = (action: () => unknown): { code: string; message: string } => {
  try {
    action();
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, message: error.message };
    throw error;
  }
  return { code: 'none', message: 'nothing was refused' };
};

describe('paths', () => {
  const to = (path: string, search = '', customHost: string | null = null) =>
    upstreamUrl(openai, {}, customHost, path, search);

  test('the query goes on untouched', () => {
    expect(to('/models', '?b=2&a=%2F+x&a=1&empty')).toBe('https://api.openai.com/v1/models?b=2&a=%2F+x&a=1&empty');
  });

  test('only a whole version segment counts as the base version', () => {
    expect(to('/v1/models')).toBe('https://api.openai.com/v1/models');
    expect(to('/v1')).toBe('https://api.openai.com/v1');
    expect(to('/v1beta/models')).toBe('https://api.openai.com/v1/v1beta/models');
    expect(to('/v1x')).toBe('https://api.openai.com/v1/v1x');
  });

  test('a custom host replaces the base, version included', () => {
    expect(to('/models', '', 'https://own.example.com')).toBe('https://own.example.com/models');
    expect(to('/v2/models', '', 'https://own.example.com/api/v2//')).toBe('https://own.example.com/api/v2/models');
    expect(upstreamUrl(google, {}, 'https://own.example.com/v1beta', '/v1beta/models', '?alt=sse')).toBe(
      'https://own.example.com/v1beta/models?alt=sse',
    );
  });

  test('dots and encoded slashes inside a segment are ordinary', () => {
    for (const path of [
      '/models/gpt-4.1..mini/a%2Fb',
      '/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Aprofile%2Feu.x-v1%3A0/invoke',
      '/.well-known/x',
      '/fetch/https%3A%2F%2Fexample.com%2Fa',
      '/a;b=c/d',
      '/100%25',
      '/a%25zz',
      '/n%C3%A4me',
      '/files/x/',
    ])
      expect(to(path)).toBe(`https://api.openai.com/v1${path}`);
  });

  for (const path of [
    '/../admin',
    '/models/..',
    '/models/%2e%2e/admin',
    '/models/.%2E/admin',
    '/models/%2f..%2fadmin',
    '/./models',
    '/models\\..\\admin',
    '/models%5c..%5cadmin',
    '.evil.example/x',
    '@evil.example/x',
    '/models?x=1',
    '/models#x',
    '/a b',
    '/a\nb',
    '/models/..;/admin',
    '/models/..;a=b/admin',
    '/models/.;/admin',
    '/models/%2e%2e;/admin',
    '/models/..%3b/admin',
    '/models/..%3B%2fadmin',
    '/models/%252e%252e/admin',
    '/models/%25252e%25252e%25252fadmin',
    '/models/%2525252525252e',
    '/models/%c0%ae%c0%ae/admin',
    '/models/%ff/admin',
    '/models/..%00/admin',
    '/models/x%00',
    '/models/x%0d%0aHost:%20evil',
    '/models/x%7f',
    '/models/.%20/admin',
    '/models/..%20/admin',
    '/models/.../admin',
    '/models/%2e%2e%5cadmin',
    '/models/%255c..%255cadmin',
    '/models//admin',
    '//models',
    '/models/%zz',
    '/models/%u002e',
    '/models/%',
  ]) {
    test(`${JSON.stringify(path)} is refused`, () => {
      expect(refusal(() => to(path)).code).toBe('invalid_path');
    });
  }

  test('a second slash does not name another host', () => {
    expect(refusal(() => to('//evil.example/x')).code).toBe('invalid_path');
    const perplexity = findProvider('perplexity-ai')!;
    expect(refusal(() => upstreamUrl(perplexity, {}, null, '//evil.example/x', '')).code).toBe('invalid_path');
  });

  test('a provider without an address of its own asks for a custom host', () => {
    expect(refusal(() => upstreamUrl(ollama, {}, null, '/chat/completions', ''))).toEqual({
      code: 'missing_provider_option',
      message:
        'Provider ollama needs custom_host: set configurations.custom_host on the virtual key, or send x-gateway-custom-host.',
    });
  });

  for (const host of ['own.example.com', 'ftp://x.example', 'https://u:p@x.example', 'https://x.example/?a=1']) {
    test(`the custom host ${host} is refused`, () => {
      expect(refusal(() => to('/models', '', host)).code).toBe('invalid_provider_option');
    });
  }
});

describe('parts of an address', () => {
  const injections: [string, string, ProviderOptions][] = [
    ['bedrock', 'aws_region', { aws_region: 'evil.com/' }],
    ['bedrock', 'aws_region', { aws_region: 'us-east-1.evil.com#' }],
    ['sagemaker', 'aws_region', { aws_region: '@evil.com' }],
    ['azure-openai', 'azure_resource_name', { azure_resource_name: 'a.b@c' }],
    ['azure-openai', 'azure_resource_name', { azure_resource_name: 'evil.com/x?' }],
    ['azure-openai', 'azure_resource_name', { azure_resource_name: ['team'] }],
    ['azure-ai', 'azure_foundry_url', { azure_foundry_url: 'https://key:secret@evil.com' }],
    ['vertex-ai', 'vertex_region', { vertex_region: 'evil.com/' }],
    ['vertex-ai', 'vertex_project_id', { vertex_region: 'global', vertex_project_id: '../../x' }],
    ['workers-ai', 'workers_ai_account_id', { workers_ai_account_id: '../../user' }],
    ['cortex', 'snowflake_account', { snowflake_account: 'evil.com/' }],
    ['oracle', 'oracle_region', { oracle_region: 'x.evil.com:443/' }],
    ['predibase', 'predibase_tenant_id', { predibase_tenant_id: '..', predibase_deployment: 'm' }],
  ];
  for (const [name, option, options] of injections) {
    test(`${name} refuses ${option} ${JSON.stringify(options[option])}`, () => {
      const { code, message } = refusal(() => upstreamUrl(findProvider(name)!, options, null, '/publishers/x', ''));
      expect(code).toBe('invalid_provider_option');
      expect(message).toStartWith(`${option}: `);
    });
  }

  test('a missing part is named', () => {
    expect(refusal(() => upstreamUrl(bedrock, {}, null, '/model/m/converse', '')).message).toBe(
      'Provider bedrock needs aws_region: set configurations.aws_region on the virtual key, or send x-gateway-aws-region.',
    );
  });

  test('the global region of Vertex and the Chinese ones of AWS have hosts of their own', () => {
    expect(upstreamUrl(findProvider('vertex-ai')!, { vertex_region: 'global' }, null, '/projects/p', '')).toBe(
      'https://aiplatform.googleapis.com/v1/projects/p',
    );
    expect(upstreamUrl(bedrock, { aws_region: 'cn-north-1' }, null, '/x', '')).toBe(
      'https://bedrock-runtime.cn-north-1.amazonaws.com.cn/x',
    );
  });

  test('the project of a stored service account stands in for vertex_project_id', () => {
    const account = { client_email: 'a@b', private_key: 'k', project_id: 'from-account' };
    const options = { vertex_region: 'us-east5', vertex_service_account_json: account };
    expect(upstreamUrl(findProvider('vertex-ai')!, options, null, '/endpoints/7/chat/completions', '')).toBe(
      'https://us-east5-aiplatform.googleapis.com/v1/projects/from-account/locations/us-east5/endpoints/7/chat/completions',
    );
  });
});

describe('azure deployments', () => {
  const base = { azure_resource_name: 'team' };
  const dated = { ...base, azure_api_version: '2024-10-21', azure_deployment_id: 'gpt-4o' };
  const to = (options: ProviderOptions, path: string, search = '', host: string | null = null) =>
    upstreamUrl(azureOpenai, options, host, path, search);

  test('a dated version puts the deployment before the route and the version into the query', () => {
    expect(to(dated, '/chat/completions')).toBe(
      'https://team.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
    );
    expect(to(dated, '/files', '?purpose=batch')).toBe(
      'https://team.openai.azure.com/openai/files?purpose=batch&api-version=2024-10-21',
    );
  });

  test('a version that the client names is kept', () => {
    expect(to(dated, '/embeddings', '?api-version=2025-01-01-preview')).toBe(
      'https://team.openai.azure.com/openai/deployments/gpt-4o/embeddings?api-version=2025-01-01-preview',
    );
  });

  test('v1 needs neither', () => {
    expect(to({ ...dated, azure_api_version: 'v1' }, '/v1/chat/completions')).toBe(
      'https://team.openai.azure.com/openai/v1/chat/completions',
    );
    expect(to({ ...base, azure_api_version: 'preview' }, '/responses')).toBe(
      'https://team.openai.azure.com/openai/v1/responses?api-version=preview',
    );
  });

  test('a path as an Azure SDK writes it is complete', () => {
    const path = '/openai/deployments/mine/chat/completions';
    expect(to(base, path, '?api-version=2024-10-21')).toBe(
      `https://team.openai.azure.com${path}?api-version=2024-10-21`,
    );
    expect(to(base, '/deployments/mine/embeddings', '?api-version=2024-10-21')).toBe(
      'https://team.openai.azure.com/openai/deployments/mine/embeddings?api-version=2024-10-21',
    );
  });

  test('the default entry of a stored deployment list counts', () => {
    const azure_deployment_config = [
      { azure_deployment_name: 'old', azure_api_version: '2024-06-01' },
      { azure_deployment_name: 'new', azure_api_version: '2024-10-21', is_default: true },
    ];
    expect(to({ ...base, azure_deployment_config }, '/completions')).toBe(
      'https://team.openai.azure.com/openai/deployments/new/completions?api-version=2024-10-21',
    );
  });

  test('behind a custom host the deployment stays a deployment', () => {
    expect(to(dated, '/chat/completions', '', 'https://private.example.com/openai')).toBe(
      'https://private.example.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
    );
  });

  test('a deployment or version that would change the path is refused', () => {
    expect(refusal(() => to({ ...dated, azure_deployment_id: '../x' }, '/completions')).code).toBe(
      'invalid_provider_option',
    );
    expect(refusal(() => to({ ...dated, azure_api_version: '2024-10-21&x=1' }, '/completions')).code).toBe(
      'invalid_provider_option',
    );
  });
});

describe('reading options', () => {
  const headers = {
    'x-gateway-aws-region': 'eu-west-1',
    'x-gateway-aws-role-arn': '',
    'x-gateway-azure-resource-name': 'not-for-bedrock',
  };
  const read = (provider: Provider, source: Parameters<typeof readOptions>[1]) => readOptions(provider, source);

  test('headers give the options of the provider they are for; an empty one counts as absent', () => {
    expect(read(bedrock, { headers })).toEqual({ aws_region: 'eu-west-1' });
  });

  test('a stored credential knows only what was stored with it', () => {
    expect(read(bedrock, { stored: { aws_region: 'us-east-1', unrelated: 1, aws_role_arn: null } })).toEqual({
      aws_region: 'us-east-1',
    });
  });
});
