import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { fail } from '../core/errors.ts';
import { headerOf } from '../http/headers.ts';
import type { Call, Route } from '../http/route.ts';
import type { ModelCall } from '../relay/call.ts';
import { BETA, checkBeta } from './access.ts';

export interface NativeDeps {
  readonly virtualKeys: VirtualKeys;
  readonly relay: (call: ModelCall) => Promise<Response>;
}

const VERSION = '/v1';

/**
 * The same routes for virtual keys whose provider still has this API: `configurations.assistants` is `native`. A call with
 * such a key is checked like any other and then goes to the provider, whose objects and ids it is about.
 */
export const orNative = (routes: readonly Route[], { virtualKeys, relay }: NativeDeps): Route[] =>
  routes.map((route) => ({
    ...route,
    handle: async (call: Call) => {
      const slug = headerOf(call.headers, 'x-gateway-virtual-key') ?? call.principal.defaults.virtual_key;
      if (!slug) return route.handle(call);
      const { configurations } = await virtualKeys.resolve(call.principal, slug);
      return configurations.assistants === 'native' ? relay(relayed(call, slug)) : route.handle(call);
    },
  }));

/** What the provider gets: the body after its schema has looked at it, and the header under both of its names. */
function relayed(call: Call, slug: string): ModelCall {
  checkBeta(call);
  if (headerOf(call.headers, 'x-gateway-config') !== null)
    fail('invalid_header', 'x-gateway-config', `virtual key ${slug} leaves assistants to its provider: leave this out`);
  const body = call.body === undefined ? null : Buffer.from(JSON.stringify(call.body));
  const { 'content-length': _, 'content-type': __, 'content-encoding': ___, ...headers } = call.headers;
  return {
    request: new Request(`http://gateway.invalid${call.path}`, {
      method: call.request.method,
      body: body as RequestInit['body'],
      signal: call.request.signal,
    }),
    headers: {
      ...headers,
      ...(body && { 'content-type': 'application/json', 'content-length': String(body.byteLength) }),
      'openai-beta': BETA,
      'vendor-beta': BETA,
      'x-gateway-virtual-key': slug,
    },
    stamp: call.stamp,
    endpoint: 'proxy',
    path: call.path.slice(VERSION.length),
    search: call.search,
    principal: call.principal,
    providerKey: call.providerKey,
    readsModel: false,
    log: call.log,
  };
}
