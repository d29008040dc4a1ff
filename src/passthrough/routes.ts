import { fail } from '../core/errors.ts';
import type { Call, Method, Route } from '../http/route.ts';
import type { ModelCall } from '../relay/call.ts';

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'];
const VERSION = '/v1';
const PROXY = '/v1/proxy';
const PERMISSIONS = '/v1/fine_tuning/checkpoints/:model/permissions';
/** What only a provider has, in an area that is otherwise ours. */
const PROVIDERS_OWN = [
  ['POST', '/v1/fine_tuning/alpha/graders/run', "Try a grader, at the virtual key's provider"],
  ['POST', '/v1/fine_tuning/alpha/graders/validate', "Check a grader, at the virtual key's provider"],
  ['GET', PERMISSIONS, 'Who may use a checkpoint, at its provider'],
  ['POST', PERMISSIONS, 'Let others use a checkpoint, at its provider'],
  ['DELETE', `${PERMISSIONS}/:permission`, 'Take that back, at its provider'],
] as const;

const OF_CONVERSATIONS = /(?:^|\/)(?:realtime(?:api)?|auth_?tokens)(?:[/:]|$)/i;

/** Every provider endpoint, also those the gateway has never heard of (spec 4.10). */
export const passthroughRoutes = (relay: (call: ModelCall) => Promise<Response>): Route[] => {
  const pass = (call: Call, prefix: string) => {
    const path = call.path.slice(prefix.length);
    // What a provider gives there opens conversations past every limit.
    if (OF_CONVERSATIONS.test(path))
      fail(
        'invalid_path',
        'conversations in real time are opened at /v1/realtime and POST /v1/realtime/calls, and calls by telephone are not offered',
      );
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
  const inOurAreas = PROVIDERS_OWN.map(([method, path, summary]) => ({
    method,
    path,
    scopes: [method === 'GET' ? 'fine_tuning.read' : 'fine_tuning.write'] as const,
    summary,
    isProviders: true,
    handle: (call: Call) => pass(call, VERSION),
  }));
  const everywhere = METHODS.flatMap((method) => [
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
  return [...inOurAreas, ...everywhere];
};
