import { fail } from '../core/errors.ts';
import type { Call, Method, Route } from '../http/route.ts';
import type { ModelCall } from '../relay/relay.ts';

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'];
const VERSION = '/v1';
const PROXY = '/v1/proxy';

/** Every provider endpoint, also those the gateway has never heard of (spec 4.10). */
export const passthroughRoutes = (relay: (call: ModelCall) => Promise<Response>): Route[] => {
  const pass = (call: Call, prefix: string) => {
    const path = call.path.slice(prefix.length);
    if (path === '' || path === '/') fail('route_not_found', call.request.method, call.path);
    return relay({
      request: call.request,
      headers: call.headers,
      stamp: call.stamp,
      endpoint: 'proxy',
      path,
      search: call.search,
      principal: call.principal,
      providerKey: call.providerKey,
      // A forced pass-through leaves the body alone.
      readsModel: prefix !== PROXY,
      log: call.log,
    });
  };
  return METHODS.flatMap((method) => [
    {
      method,
      path: `${PROXY}/*`,
      scopes: ['completions.write'] as const,
      summary: 'Any provider endpoint, even where the gateway has a route of that name',
      handle: (call: Call) => pass(call, PROXY),
    },
    {
      method,
      path: `${VERSION}/*`,
      scopes: ['completions.write'] as const,
      summary: 'Any provider endpoint',
      handle: (call: Call) => pass(call, VERSION),
    },
  ]);
};
