import { RegExpRouter } from 'hono/router/reg-exp-router';
import { SmartRouter } from 'hono/router/smart-router';
import { TrieRouter } from 'hono/router/trie-router';
import { fail, GatewayError } from '../core/errors.ts';
import type { Method, Route } from './route.ts';

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

const METHODS = new Set<string>(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] satisfies Method[]);
const EVERY_METHOD = 'ANY';

const smartRouter = () => new SmartRouter<Route>({ routers: [new RegExpRouter(), new TrieRouter()] });

/**
 * Finds the route of a request. A path that is ours answers 405 to a method it lacks, even under the catch-all: only
 * paths nobody claims are passed on to a provider.
 */
export function createRouter(routes: readonly Route[]) {
  const byMethod = smartRouter();
  const claimed = smartRouter();
  const claimedAreas = new Set<string>();
  for (const route of routes) {
    byMethod.add(route.method, route.path, route);
    if (route.path.endsWith('*')) continue;
    claimed.add(EVERY_METHOD, route.path, route);
    claimedAreas.add(areaOf(route.path));
  }

  const allowedMethods = (path: string): Method[] => {
    // Most calls are for a provider: those are told apart by a look at one segment.
    if (!claimedAreas.has(areaOf(path))) return [];
    const methods = claimed.match(EVERY_METHOD, path)[0].map(([route]) => route.method);
    if (methods.includes('GET') && !methods.includes('HEAD')) methods.push('HEAD');
    return [...new Set(methods)];
  };

  const refuseMethod = (method: string, path: string, allowed: readonly string[]): never => {
    throw new GatewayError('method_not_allowed', [method, path, allowed.join(', ')], { allow: allowed.join(', ') });
  };

  return (method: string, path: string): Match => {
    if (!METHODS.has(method)) refuseMethod(method, path, [...METHODS]);
    const found = first(byMethod, method, path);
    if (found && !found.route.path.endsWith('*')) return found;
    const allowed = allowedMethods(path);
    if (allowed.length > 0) {
      const asGet = method === 'HEAD' ? first(byMethod, 'GET', path) : null;
      return asGet ?? refuseMethod(method, path, allowed);
    }
    return found ?? fail('route_not_found', method, path);
  };
}

/** `/v1/api-keys/x` → `/v1/api-keys`. */
function areaOf(path: string): string {
  const end = path.indexOf('/', path.startsWith('/v1/') ? 4 : 1);
  return end < 0 ? path : path.slice(0, end);
}

function first(router: ReturnType<typeof smartRouter>, method: string, path: string): Match | null {
  const result = router.match(method, path);
  const handler = result[0][0];
  if (!handler) return null;
  const [route, names] = handler;
  const params: Record<string, string> = {};
  for (const name in names) {
    const position = names[name] as number | string;
    const value = typeof position === 'number' ? result[1]?.[position] : position;
    params[name] = decode(value ?? '');
  }
  return { route, params };
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch {
    return fail('invalid_path', 'it holds a broken percent escape');
  }
  // No name in the store holds U+0000, and PostgreSQL refuses the question.
  return text.includes('\0') ? fail('invalid_path', 'it holds U+0000') : text;
}
