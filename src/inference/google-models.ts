import { fail } from '../core/errors.ts';
import { decodeError } from '../dialects/endpoints/errors.ts';
import { gemini } from '../dialects/gemini/gemini.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { isObject, objectsIn, parsed, present, someTextIn } from '../dialects/json.ts';
import type { Call, CallAt, Route } from '../http/route.ts';
import { type ModelParts, modelRoutes } from './models.ts';

/** The same lists as at `/v1/models`, for clients of Google's; Google's own go through as they are. */
export const googleModelRoutes = (parts: ModelParts): Route[] => [
  {
    method: 'GET',
    path: '/v1beta/models',
    scopes: ['models.list'],
    isProviders: true,
    dialect: 'gemini',
    summary: "The models of /v1/models, in Google's format",
    handle: async (call: Call) => {
      const { from, most } = pageOf(call.search);
      return inGooglesWords(await asked(call, '/v1/models', parts), (list) => page(list, from, most));
    },
  },
  {
    method: 'GET',
    path: '/v1beta/models/{model}',
    scopes: ['models.list'],
    isProviders: true,
    dialect: 'gemini',
    summary: "One model, in Google's format",
    handle: async (call: CallAt<'model'>) => {
      const name = call.params.model.split('/').map(encodeURIComponent).join('/');
      return inGooglesWords(await asked(call, `/v1/models/${name}`, parts), asGoogles);
    },
  },
];

/** What the route of ours answers. Google, where it is asked itself, gets the query; others do not know its words. */
async function asked(call: Call, path: string, { relay, ...parts }: ModelParts): Promise<Response> {
  const [all, one] = modelRoutes({
    ...parts,
    relay: (inner) => relay({ ...inner, form: 'listModels', search: call.search }),
  });
  const route = path === '/v1/models' ? all : one;
  return (await route!.handle({ ...call, path, search: '' })) as Response;
}

async function inGooglesWords(response: Response, write: (body: JsonObject) => JsonObject): Promise<Response> {
  const text = await response.text();
  const body = parsed(text);
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  const { status } = response;
  if (status >= 400) {
    const isGoogles = isObject(body) && isObject(body.error) && typeof body.error.status === 'string';
    const told = isGoogles ? body : gemini.inbound.encodeError(decodeError(status, body ?? text)).body;
    return new Response(JSON.stringify(told), { status, headers });
  }
  const isGoogles = isObject(body) && (Array.isArray(body.models) || someTextIn(body.name)?.startsWith('models/'));
  return new Response(isGoogles || !isObject(body) ? text : JSON.stringify(write(body)), { status, headers });
}

function asGoogles(model: JsonObject): JsonObject {
  const id = someTextIn(model.id) ?? '';
  return present({
    name: `models/${id}`,
    baseModelId: id,
    version: '',
    displayName: someTextIn(model.display_name) ?? id,
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens', 'embedContent'],
  });
}

function page(list: JsonObject, from: number, most: number): JsonObject {
  const models = objectsIn(list.data);
  const shown = models.slice(from, from + most).map(asGoogles);
  const next = from + shown.length;
  return { models: shown, ...(next < models.length && { nextPageToken: String(next) }) };
}

/** Google's own default and bound. */
const PAGE = 50;
const MOST = 1_000;

function pageOf(search: string): { readonly from: number; readonly most: number } {
  const query = new URLSearchParams(search);
  const size = query.get('pageSize') ?? query.get('page_size');
  const token = query.get('pageToken') ?? query.get('page_token');
  const most = size === null || size === '' ? PAGE : countOf('pageSize', size);
  return { from: token === null || token === '' ? 0 : countOf('pageToken', token), most: Math.min(most || PAGE, MOST) };
}

/** A token of Google's own is no number, and goes to Google alone. */
function countOf(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  return name === 'pageToken' ? 0 : fail('invalid_request', name, 'must be a whole number');
}
