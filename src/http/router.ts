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
 * Routes in the order in which they are looked for: those that say most about a path come first, so that it does not
 * matter which area adds them. Paths of ours, then what is left for providers, then paths that begin with any name.
 */
export const inOrder = (routes: readonly Route[]): Route[] => routes.toSorted((a, b) => rankOf(a) - rankOf(b));

const rankOf = ({ path }: Route): number => (path.startsWith('/:') ? 2 : path.endsWith('*') ? 1 : 0);

/**
 * Finds the route of a request. A path is passed on to a provider only if no own route claims its area: a misspelt
 * admin path would otherwise carry its secrets to the provider. A path of our own answers 405 to a method it lacks.
 */
export function createRouter(routes: readonly Route[]) {
  const byMethod = smartRouter();
  const claimed = smartRouter();
  const claimedAreas = new Set<string>();
  const own = routes.filter((route) => !route.path.endsWith('*') && !route.isProviders);
  for (const route of routes) byMethod.add(route.method, route.path, route);
  for (const route of own) {
    claimed.add(EVERY_METHOD, route.path, route);
    claimedAreas.add(areaOf(route.path));
  }

  const allowedMethods = (path: string): Method[] => {
    const methods = claimed.match(EVERY_METHOD, path)[0].map(([route]) => route.method);
    if (methods.includes('GET') && !methods.includes('HEAD')) methods.push('HEAD');
    return [...new Set(methods)];
  };

  /** What the caller may have meant: paths that begin as the asked one does, within its area. */
  const neighbours = (method: string, path: string): string[] => {
    const area = areaOf(path);
    for (let parent = parentOf(path); parent.length >= area.length; parent = parentOf(parent)) {
      const known = own.filter((route) => route.method === method && route.path.startsWith(`${parent}/`));
      if (known.length > 0) return known.slice(0, MOST_NEIGHBOURS).map((route) => route.path);
    }
    return [];
  };

  const refuseMethod = (method: string, path: string, allowed: readonly string[]): never => {
    throw new GatewayError('method_not_allowed', [method, path, allowed.join(', ')], { allow: allowed.join(', ') });
  };

  // A path without parameters has one match for ever, and most calls go to a few of those.
  const known = new Map<string, Map<string, Match>>();
  const remember = (method: string, path: string, match: Match): Match => {
    if (match.route.path !== path) return match;
    const ofMethod = known.get(method) ?? new Map<string, Match>();
    known.set(method, ofMethod.set(path, match));
    return match;
  };

  return (method: string, path: string): Match => {
    const before = known.get(method)?.get(path);
    if (before) return before;
    const found = first(byMethod, method, path);
    // OPTIONS is answered by the few routes that browsers ask first.
    if (!METHODS.has(method) && !found) {
      const own = allowedMethods(path);
      refuseMethod(method, path, own.length > 0 ? own : [...METHODS]);
    }
    if (found && !found.route.path.endsWith('*')) return remember(method, path, found);
    // Most calls are for a provider: those are told apart by a look at one segment.
    if (found && !claimedAreas.has(areaOf(path))) return found;
    const allowed = allowedMethods(path);
    if (allowed.length === 0) fail('route_not_found', method, path, neighbours(method, path));
    const asGet = method === 'HEAD' ? first(byMethod, 'GET', path) : null;
    return asGet && !asGet.route.path.endsWith('*') ? asGet : refuseMethod(method, path, allowed);
  };
}

const MOST_NEIGHBOURS = 20;

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

/** `/v1/api-keys/x` → `/v1/api-keys`, however it is spelt. */
function areaOf(spelt: string): string {
  const path = /%|\/\//.test(spelt) ? plainly(spelt) : spelt;
  const end = path.indexOf('/', path.startsWith('/v1/') ? 4 : 1);
  return end < 0 ? path : path.slice(0, end);
}

function plainly(path: string): string {
  try {
    return decodeURIComponent(path).replace(/\/{2,}/g, '/');
  } catch {
    return fail('invalid_path', 'it holds a broken percent escape');
  }
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
