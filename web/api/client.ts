import { addressOf } from './address.ts';
import { isAskedEarly, takeEarly } from './early.ts';
import { ApiFault, faultOf } from './fault.ts';
import { askTogether, isAskedTogether } from './together.ts';
import type { Paths } from './types.d.ts';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
/** The paths that have this method. */
export type PathsWith<M extends Method> = { [P in keyof Paths]: M extends keyof Paths[P] ? P : never }[keyof Paths];
type Operation<P extends keyof Paths, M> = M extends keyof Paths[P] ? Paths[P][M] : never;
export type ResponseOf<P extends keyof Paths, M extends Method = 'get'> =
  Operation<P, M> extends { response: infer Response } ? Response : never;
export type BodyOf<P extends keyof Paths, M extends Method = 'post'> =
  Operation<P, M> extends { body: infer Body } ? Body : never;

export type Options<P extends keyof Paths, M extends Method> = (Operation<P, M> extends { params: infer Params }
  ? { readonly params: Params }
  : unknown) &
  (Operation<P, M> extends { query: infer Query } ? { readonly query?: Query } : unknown) &
  (Operation<P, M> extends { body: infer Body } ? { readonly body: Body } : { readonly body?: unknown }) & {
    readonly signal?: AbortSignal;
    readonly headers?: Readonly<Record<string, string>>;
  };

/** Left out where nothing in it is required. */
type Given<P extends keyof Paths, M extends Method> =
  Record<never, never> extends Options<P, M> ? [options?: Options<P, M>] : [options: Options<P, M>];

/** What goes with every request of the signed-in user. Set when the page knows who that is. */
const own = { csrfToken: '', workspace: '' };

export function speakAs(who: { csrfToken: string; workspace: string }) {
  Object.assign(own, who);
}

/** The session is over: the sign-in page appears at the same address, so the place is kept. */
let leave = () => location.reload();
export const onSignedOut = (action: () => void) => {
  leave = action;
};

/** Any request to the gateway, as the signed-in user. Answers the response as it is; throws only when none came. */
export async function send(address: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (own.csrfToken) headers.set('x-gateway-csrf', own.csrfToken);
  if (own.workspace) headers.set('x-gateway-workspace', own.workspace);
  try {
    const early = (init.method ?? 'GET') === 'GET' ? takeEarly(address, own.workspace) : null;
    return await (early ?? fetch(address, { credentials: 'same-origin', ...init, headers }));
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiFault('The gateway does not answer.', { status: 0, code: 'network' });
  }
}

interface Wish {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: object;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

function ask(method: Method, path: string, { params, query, body, signal, headers }: Wish = {}): Promise<unknown> {
  const address = addressOf(path, params, query);
  if (method === 'get' && isAskedTogether(address) && !isAskedEarly(address, own.workspace))
    return askTogether(address, signal, (asked, leaves) => answerOf(asked, { signal: leaves }));
  const isForm = body instanceof FormData;
  return answerOf(address, {
    method: method.toUpperCase(),
    signal,
    headers: { ...(body !== undefined && !isForm && { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? undefined : isForm ? body : JSON.stringify(body),
  });
}

async function answerOf(address: string, init: RequestInit): Promise<unknown> {
  const response = await send(address, init);
  if (response.ok) return response.status === 204 ? null : response.json();
  const fault = await faultOf(response);
  if (response.status === 401 && own.csrfToken && fault.code === 'invalid_api_key') leave();
  throw fault;
}

const by =
  <M extends Method>(method: M) =>
  <P extends PathsWith<M>>(path: P, ...[options]: Given<P, M>): Promise<ResponseOf<P, M>> =>
    ask(method, path, options as Wish | undefined) as Promise<ResponseOf<P, M>>;

/**
 * The API of the gateway, typed from its own description:
 *
 *     const key = await api.get('/v1/api-keys/{id}', { params: { id } });
 */
export const api = { get: by('get'), post: by('post'), put: by('put'), patch: by('patch'), delete: by('delete') };
