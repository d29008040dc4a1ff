import * as z from 'zod';
import type { ClientForm, EndpointType } from '../core/endpoints.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { isObject, objectsIn, someTextIn } from '../dialects/json.ts';
import { type Call, get, post, type Route } from '../http/route.ts';
import type { ModelCall } from '../relay/call.ts';
import { type ModelParts, modelRoutes } from './models.ts';
import { asJsonLines } from './reframed.ts';

/** Clients look whether a server is new enough for what they want. */
const VERSION = '0.13.0';

const CALLS: readonly (readonly [string, EndpointType, string, ClientForm?])[] = [
  ['/chat', 'ollamaChat', "Chat, in Ollama's format, on any provider; a stream of JSON lines unless stream is false"],
  ['/generate', 'ollamaGenerate', "The answer to a prompt, in Ollama's format"],
  ['/embed', 'embed', "Embeddings, in Ollama's format", 'ollamaEmbed'],
  ['/embeddings', 'embed', "One embedding, in Ollama's older format", 'ollamaEmbeddings'],
];

/** Ollama's API, for clients that know no other. Ollama as a provider is called in OpenAI's format. */
export const ollamaRoutes = (parts: ModelParts): Route[] => [
  ...CALLS.map(([path, endpoint, summary, form]) => ({
    method: 'POST' as const,
    path: `/api${path}`,
    scopes: ['completions.write'] as const,
    isProviders: true,
    dialect: 'ollama' as const,
    summary,
    handle: async (call: Call) => asJsonLines(await parts.relay(asModelCall(call, path, endpoint, form))),
  })),
  {
    method: 'GET',
    path: '/api/tags',
    scopes: ['models.list'],
    isProviders: true,
    dialect: 'ollama',
    summary: "The models of /v1/models, in Ollama's format",
    handle: async (call: Call) => tagsIn((await modelRoutes(parts)[0]!.handle({ ...call, search: '' })) as Response),
  },
  get('/api/ps', { scopes: ['models.list'], summary: 'Models that are loaded: none, providers have them all' }, () => ({
    models: [],
  })),
  post(
    '/api/show',
    {
      scopes: ['models.list'],
      summary: "What Ollama's clients ask of a model before they call it",
      body: () => z.looseObject({ model: z.string().optional(), name: z.string().optional() }),
    },
    () => ({
      modelfile: '',
      parameters: '',
      template: '',
      details: DETAILS,
      model_info: {},
      capabilities: CAPABILITIES,
    }),
  ),
  get('/api/version', { scopes: 'public', summary: "The version of Ollama's API that is spoken here" }, () => ({
    version: VERSION,
  })),
];

const DETAILS = { parent_model: '', format: '', family: '', families: [], parameter_size: '', quantization_level: '' };
const CAPABILITIES = ['completion', 'tools', 'vision', 'thinking', 'embedding'];

const asModelCall = (call: Call, path: string, endpoint: EndpointType, form: ClientForm | undefined): ModelCall => ({
  request: call.request,
  // Not every client of Ollama's says that it sends JSON.
  headers: call.headers['content-type']?.includes('json')
    ? call.headers
    : { ...call.headers, 'content-type': 'application/json' },
  stamp: call.stamp,
  endpoint,
  path: `/api${path}`,
  search: call.search,
  principal: call.principal,
  providerKey: call.providerKey,
  readsModel: true,
  ...(form ? { form } : { streamsByDefault: true }),
  log: call.log,
});

async function tagsIn(response: Response): Promise<Response> {
  const body: unknown = await response.json().catch(() => null);
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  const { status } = response;
  const shown = status < 400 && isObject(body) ? { models: objectsIn(body.data).map(tagOf) } : errorIn(body);
  return new Response(JSON.stringify(shown), { status, headers });
}

const errorIn = (body: unknown): JsonObject => {
  const error = isObject(body) && isObject(body.error) ? someTextIn(body.error.message) : undefined;
  return { error: error ?? 'The provider gave no reason.' };
};

function tagOf({ id, created }: JsonObject): JsonObject {
  const name = someTextIn(id) ?? '';
  const at = typeof created === 'number' ? created * 1000 : 0;
  return { name, model: name, modified_at: new Date(at).toISOString(), size: 0, digest: '', details: DETAILS };
}
