import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EndpointType } from '../core/endpoints.ts';
import { GatewayError } from '../core/errors.ts';
import { type Asked, type EndpointCodec, FormFields, type ProviderAnswer } from '../dialects/endpoints/endpoint.ts';
import { FramingError } from '../dialects/framing-error.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { upstreamUrl } from './address.ts';
import { findProvider } from './registry.ts';

/** One call: what the client sends, what the provider gets, what it answers, what the client gets. */
interface Fixture {
  readonly provider: string;
  readonly endpoint: EndpointType;
  readonly request: JsonObject;
  readonly sent: { path: string; body?: JsonObject; form?: JsonObject; headers?: JsonObject };
  readonly dropped?: readonly string[];
  readonly changed?: readonly string[];
  readonly answer: { json?: unknown; base64?: string; headers?: Record<string, string> };
  readonly got: JsonObject;
}

const NOW = 1_700_000_000_000;
const folder = join(import.meta.dir, '../dialects/endpoints/fixtures');

function codecOf(provider: string, endpoint: EndpointType): EndpointCodec {
  const codec = findProvider(provider)?.endpoints?.[endpoint];
  if (!codec || codec === 'chat') throw new Error(`${provider} has no codec for ${endpoint}`);
  return codec;
}

const answered = ({ json, base64 = '', headers = {} }: Fixture['answer']): ProviderAnswer => ({
  json,
  bytes: Buffer.from(base64, 'base64'),
  headers,
});

const asked = (provider: string, request: JsonObject): Asked => ({ provider, request, now: NOW });

for (const file of readdirSync(folder)) {
  test(file.replace('.json', ''), () => {
    const fixture: Fixture = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    const { provider, endpoint, request, sent } = fixture;
    const codec = codecOf(provider, endpoint);
    const before = structuredClone(request);

    const { path, body, headers, dropped = [], changed = [] } = codec.encode(request);

    expect(path).toBe(sent.path);
    expect(body instanceof FormFields ? { form: body.fields } : { body }).toEqual(
      sent.form ? { form: sent.form as Record<string, string> } : { body: sent.body! },
    );
    expect(headers ?? {}).toEqual((sent.headers ?? {}) as Record<string, string>);
    expect(dropped.map((each) => each.path)).toEqual([...(fixture.dropped ?? [])]);
    expect(dropped.some(({ matters }) => matters)).toBe(false);
    expect(changed.map((each) => each.path)).toEqual([...(fixture.changed ?? [])]);
    expect(request).toEqual(before);

    expect(codec.decode(answered(fixture.answer), asked(provider, request))).toEqual(fixture.got);
  });
}

test('every endpoint in a format of its own has a fixture', () => {
  const covered = new Set(
    readdirSync(folder).map((file) => {
      const { provider, endpoint }: Fixture = JSON.parse(readFileSync(join(folder, file), 'utf8'));
      return `${provider} ${endpoint}`;
    }),
  );
  const codecs = readdirSync(import.meta.dir)
    .flatMap((file) => findProvider(file.replace('.ts', '')) ?? [])
    .flatMap(({ name, endpoints = {} }) =>
      Object.entries(endpoints).flatMap(([endpoint, codec]) => (codec === 'chat' ? [] : [`${name} ${endpoint}`])),
    );

  expect(codecs.length).toBeGreaterThan(20);
  expect(codecs.filter((each) => !covered.has(each))).toEqual([]);
});

describe('what matters and cannot be said is named', () => {
  const image = { model: 'core', prompt: 'a cat' };
  const rows: [string, EndpointType, JsonObject, string][] = [
    ['google', 'embed', { model: 'm', input: [1, 2, 3] }, 'input'],
    ['cohere', 'embed', { model: 'm', input: [[1, 2], [3]] }, 'input'],
    ['bedrock', 'embed', { model: 'amazon.titan-embed-text-v2:0', input: ['one', 'two'] }, 'input'],
    ['bedrock', 'embed', { model: 'meta.llama3', input: 'one' }, 'model'],
    ['vertex-ai', 'embed', { model: 'mistralai.embed', input: 'one' }, 'model'],
    [
      'cohere',
      'rerank',
      { model: 'm', query: 'q', documents: [{ text: 'a', b: 'c' }], rank_fields: ['b'] },
      'rank_fields',
    ],
    ['stability-ai', 'imageGenerate', { ...image, n: 2 }, 'n'],
    ['stability-ai', 'imageGenerate', { ...image, response_format: 'url' }, 'response_format'],
    ['stability-ai', 'imageGenerate', { ...image, size: '1000x100' }, 'size'],
    ['siliconflow', 'imageGenerate', { ...image, response_format: 'b64_json' }, 'response_format'],
    ['google', 'imageGenerate', { ...image, model: 'gemini-2.5-flash-image' }, 'model'],
    ['fireworks-ai', 'imageGenerate', { ...image, stream: true }, 'stream'],
    ['bedrock', 'imageGenerate', { ...image, model: 'meta.llama3' }, 'model'],
    ['vertex-ai', 'countTokens', { model: 'gemini-2.5-pro', messages: [] }, 'model'],
    ['bedrock', 'countTokens', { model: 'amazon.nova-pro-v1:0', messages: [] }, 'model'],
    ['triton', 'complete', { model: 'm', prompt: 'x', stream: true }, 'stream'],
  ];
  for (const [provider, endpoint, request, path] of rows) {
    test(`${provider} ${endpoint}: ${JSON.stringify(request)}`, () => {
      const { dropped = [] } = codecOf(provider, endpoint).encode(request);
      expect(dropped.filter(({ matters }) => matters).map((each) => each.path)).toEqual([path]);
    });
  }
});

describe('a wrong type is refused with its field', () => {
  const rows: [string, EndpointType, JsonObject, string][] = [
    ['google', 'embed', { input: 'one' }, 'model'],
    ['google', 'embed', { model: 'm' }, 'input'],
    ['google', 'embed', { model: 'm', input: [] }, 'input'],
    ['google', 'embed', { model: 'm', input: ['one', 2] }, 'input[1]'],
    ['voyage', 'embed', { model: 'm', input: 'one', dimensions: 0 }, 'dimensions'],
    ['voyage', 'embed', { model: 'm', input: 'one', encoding_format: 'hex' }, 'encoding_format'],
    ['jina', 'rerank', { model: 'm', query: 'q', documents: [] }, 'documents'],
    ['jina', 'rerank', { model: 'm', query: 'q' }, 'documents'],
    ['jina', 'rerank', { model: 'm', query: 'q', documents: ['a', { title: 'b' }] }, 'documents[1]'],
    ['jina', 'rerank', { model: 'm', documents: ['a'] }, 'query'],
    ['jina', 'rerank', { model: 'm', query: 'q', documents: ['a'], top_n: 0 }, 'top_n'],
    ['jina', 'rerank', { model: 'm', query: 'q', documents: ['a'], return_documents: 'yes' }, 'return_documents'],
    ['segmind', 'imageGenerate', { model: 'm' }, 'prompt'],
    ['segmind', 'imageGenerate', { model: 'm', prompt: 'p', size: 'large' }, 'size'],
    ['segmind', 'imageGenerate', { model: 'm', prompt: 'p', n: 1.5 }, 'n'],
    ['mistral-ai', 'moderate', { input: 'x' }, 'model'],
    ['triton', 'complete', { model: 'm', prompt: ['a'] }, 'prompt'],
  ];
  for (const [provider, endpoint, request, param] of rows) {
    test(`${provider} ${endpoint}: ${JSON.stringify(request)}`, () => {
      const fault = caught(() => codecOf(provider, endpoint).encode(request));
      expect(fault).toBeInstanceOf(GatewayError);
      expect(fault).toMatchObject({ code: 'invalid_request', param });
    });
  }
});

function caught(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe('an answer that is none is not passed off as one', () => {
  const two = { model: 'm', input: ['one', 'two'] };
  const rows: [string, EndpointType, JsonObject, Fixture['answer']][] = [
    ['google', 'embed', two, { json: { embeddings: [{ values: [1] }] } }],
    ['google', 'embed', two, { json: { embeddings: [{ values: [1] }, {}] } }],
    ['cohere', 'embed', two, { json: 'odd' }],
    ['voyage', 'embed', two, { json: undefined }],
    ['cohere', 'rerank', { model: 'm', query: 'q', documents: ['a'] }, { json: {} }],
    [
      'cohere',
      'rerank',
      { model: 'm', query: 'q', documents: ['a'] },
      { json: { results: [{ index: 1, relevance_score: 1 }] } },
    ],
    ['segmind', 'imageGenerate', { model: 'm', prompt: 'p' }, { json: { status: 'Failed' } }],
    ['fireworks-ai', 'imageGenerate', { model: 'm', prompt: 'p' }, { headers: { 'content-type': 'text/html' } }],
    ['siliconflow', 'imageGenerate', { model: 'm', prompt: 'p' }, { json: { images: [] } }],
    ['mistral-ai', 'moderate', { model: 'm' }, { json: {} }],
    ['bedrock', 'countTokens', { model: 'anthropic.m' }, { json: {} }],
  ];
  for (const [provider, endpoint, request, answer] of rows) {
    test(`${provider} ${endpoint}: ${JSON.stringify(answer)}`, () => {
      const decode = () => codecOf(provider, endpoint).decode(answered(answer), asked(provider, request));
      expect(decode).toThrow(FramingError);
    });
  }
});

test('ranking goes to its own service, the list of Cloudflare past its OpenAI-shaped routes', () => {
  const vertex = { vertex_region: 'europe-west4', vertex_project_id: 'team-7' };
  expect(upstreamUrl(findProvider('vertex-ai')!, vertex, null, '/rankingConfigs/default_ranking_config:rank', '')).toBe(
    'https://discoveryengine.googleapis.com/v1/projects/team-7/locations/global/rankingConfigs/default_ranking_config:rank',
  );
  const workers = { workers_ai_account_id: 'abc123' };
  expect(upstreamUrl(findProvider('workers-ai')!, workers, null, '/models/search', '?per_page=1000')).toBe(
    'https://api.cloudflare.com/client/v4/accounts/abc123/ai/models/search?per_page=1000',
  );
});
