import { ENDPOINTS, GOOGLE_VERBS } from '../core/endpoints.ts';
import { fail } from '../core/errors.ts';
import type { SentHeaders } from './headers.ts';

/** A request at the address that the gateway lists for it, and what its own address said beside that. */
export interface TypedAddress {
  readonly path: string;
  readonly search: string;
  readonly headers: SentHeaders;
  /** The path under which the route is listed, where it is not found by the one that was asked for. */
  readonly route?: string;
  /** What the address names: a model. */
  readonly params: Readonly<Record<string, string>> | null;
}

/**
 * The first segments that clients of models ask for. No path of administrators is among them, so that a proxy in front of
 * the gateway which fences these off at `/v1/…` need not know of any other spelling.
 */
const FAMILIES = new Set([
  ...[...ENDPOINTS.keys()].map((path) => path.split('/')[1]!),
  'models',
  'files',
  'uploads',
  'batches',
  'fine_tuning',
  'assistants',
  'threads',
  'vector_stores',
]);

/** What SDKs and people put before the path: a vendor's name, the version once more, or nothing. */
const SPELT = /^(\/openai|\/anthropic|\/v1beta\/openai)?(?:\/v1)*(\/([a-z_]+)(?:\/.*)?)$/;
const DEPLOYMENTS = '/openai/deployments/';
/** The longest first: `/chat/completions` ends as `/completions` does. */
const ENDINGS = [...ENDPOINTS.keys()].toSorted((one, other) => other.length - one.length);
const VERSION = '/v1';

/** Google's clients name a model and what is asked of it in one segment; a model may have slashes. */
const GOOGLE = '(?:/(?:google|gemini))?/(?:v1beta|v1alpha)';
const GOOGLE_CALL = new RegExp(`^(?:${GOOGLE}|/v1)/models/(.+):(${GOOGLE_VERBS.join('|')})$`);
const GOOGLE_MODELS = new RegExp(`^${GOOGLE}/models(?:/([^:]+))?$`);
/** Google's clients put it behind a base with or without a path, and behind one without, two slashes. */
const GOOGLE_SOCKET = /^(?:\/(?:v1|google|gemini))?\/{1,2}ws\/(google\.[\w./-]+)$/;
const LIVE =
  /^google\.(?:ai\.generativelanguage\.(v1|v1beta|v1alpha)\.GenerativeService\.|cloud\.aiplatform\.(v1|v1beta1)\.LlmBidiService\/)BidiGenerateContent$/;
const LIVE_PATH = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent';
const GOOGLES_OWN = /^(?:\/(?:google|gemini))?(\/(?:v1beta|v1alpha)\/.+)$/;

/** Most paths: they are looked at no further. */
export const isAsListed = (path: string): boolean =>
  path.startsWith('/v1/') &&
  !path.startsWith('v1', 4) &&
  !path.startsWith('ws/', 4) &&
  !path.startsWith('/ws/', 4) &&
  !(path.startsWith('models/', 4) && path.includes(':', 11));

/**
 * The address that is meant where one is asked for that the gateway does not list: `/chat/completions`,
 * `/v1/v1/messages`, `/openai/v1/models`, `/openai/deployments/x/embeddings`. Null: it stands as it is. Only the beginning
 * changes; the router judges the rest as it judges every path.
 */
export function typedAddress(path: string, search: string, headers: SentHeaders): TypedAddress | null {
  const [, socket] = GOOGLE_SOCKET.exec(path) ?? [];
  if (socket) return atSocket(socket, search, headers);
  const google = atGoogle(path);
  if (google) return { ...google, ...asGoogle(search, headers) };
  const deployed = path.startsWith(DEPLOYMENTS) ? atDeployment(path) : null;
  if (deployed) return { ...deployed, ...asAzure(search, headers) };
  const [, prefix, rest, family] = SPELT.exec(path) ?? [];
  // An MCP server may have the name of a family.
  if (!rest || !FAMILIES.has(family!) || (!prefix && rest.endsWith('/mcp'))) return googlesOwn(path, search, headers);
  const asked = prefix === '/openai' ? asAzure(search, headers) : { search, headers };
  return { path: VERSION + rest, ...asked, params: null };
}

function atGoogle(path: string): Pick<TypedAddress, 'path' | 'route' | 'params'> | null {
  const [, called, verb] = GOOGLE_CALL.exec(path) ?? [];
  if (called) {
    const route = `/v1beta/models/{model}:${verb}`;
    return { path: `/v1beta/models/${called}:${verb}`, route, params: { model: decoded(called) } };
  }
  const [listed, named] = GOOGLE_MODELS.exec(path) ?? [];
  if (!listed) return null;
  if (named === undefined) return { path: '/v1beta/models', params: null };
  return { path: `/v1beta/models/${named}`, route: '/v1beta/models/{model}', params: { model: decoded(named) } };
}

/** Conversations in real time. What opens them elsewhere is not told to any log either. */
function atSocket(name: string, search: string, headers: SentHeaders): TypedAddress {
  const [, studio, vertex] = LIVE.exec(name) ?? [];
  const version = studio ?? vertex;
  const path = version ? LIVE_PATH : `/ws/${name}`;
  const asked = asGoogle(withoutParameter(search, 'access_token').search, headers);
  return { path, ...asked, params: version ? { version } : null };
}

/** What else Google's API has goes to the provider as it is, as below `/v1/v1beta/`. */
function googlesOwn(path: string, search: string, headers: SentHeaders): TypedAddress | null {
  const [, own] = GOOGLES_OWN.exec(path) ?? [];
  return own ? { path: VERSION + own, ...asGoogle(search, headers), params: null } : null;
}

/** Google's clients may send their key in the query. It goes no further: addresses end up in logs. */
function asGoogle(search: string, headers: SentHeaders): Pick<TypedAddress, 'search' | 'headers'> {
  if (!search.includes('key') && !search.includes('%')) return { search, headers };
  const { search: rest, value } = withoutParameter(search, 'key');
  return { search: rest, headers: value ? withSdkKey(headers, value) : headers };
}

/** Azure names the model in the address. A name may have slashes: `@slug/model`. */
function atDeployment(path: string): Pick<TypedAddress, 'path' | 'params'> | null {
  const endpoint = ENDINGS.find((ending) => path.endsWith(ending));
  const name = endpoint && path.slice(DEPLOYMENTS.length, -endpoint.length);
  return name ? { path: VERSION + endpoint, params: { model: decoded(name) } } : null;
}

/** Azure's clients say the version of Azure's API, and send their key in a header of Azure's. */
function asAzure(search: string, headers: SentHeaders): Pick<TypedAddress, 'search' | 'headers'> {
  const { 'api-key': key, ...others } = headers;
  return { search: withoutParameter(search, 'api-version').search, headers: key ? withSdkKey(others, key) : headers };
}

/** The key where the other SDKs send theirs, unless one of them stands there. */
export const withSdkKey = (headers: SentHeaders, key: string): SentHeaders =>
  headers['x-goog-api-key'] ? headers : { ...headers, 'x-goog-api-key': key };

/** The query without a parameter, however its name is spelt, and the first value of it. */
export function withoutParameter(search: string, name: string): { readonly search: string; readonly value: string } {
  if (search === '') return { search, value: '' };
  const pairs = search.slice(1).split('&');
  const isNamed = (pair: string) => plain(pair.split('=', 1)[0]!) === name;
  const taken = pairs.find(isNamed);
  if (taken === undefined) return { search, value: '' };
  const kept = pairs.filter((pair) => !isNamed(pair));
  return { search: kept.length > 0 ? `?${kept.join('&')}` : '', value: plain(taken.slice(taken.indexOf('=') + 1)) };
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return fail('invalid_path', 'it holds a broken percent escape');
  }
}
