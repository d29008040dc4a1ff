import { expect } from 'bun:test';
import { serve } from '../gateway.ts';
import { PASSWORD } from '../people.ts';
import type { TestConsole } from './browser.ts';

/** A page elsewhere. Cookies do not tell ports apart, so to a browser it is of the same site as the gateway: the worst case. */
export const serveElsewhere = () =>
  serve((request) => {
    const { pathname, searchParams } = new URL(request.url);
    const given = (name: string) => (searchParams.get(name) ?? '').replaceAll('&', '&amp;').replaceAll("'", '&#39;');
    const pages: Readonly<Record<string, string>> = {
      '/frame': `<iframe src='${given('src')}'></iframe>`,
      '/form': `<form method=post enctype='${given('as')}' action='${given('to')}'><input name='${given('name')}' value='${given('value')}'></form><script>document.forms[0].submit()</script>`,
    };
    const body = `<!doctype html><title>elsewhere</title>${pages[pathname] ?? ''}`;
    return new Response(body, { headers: { 'content-type': 'text/html' } });
  });

interface Operation {
  readonly 'x-scopes'?: readonly string[];
}

/** Every route of the gateway's own description, with something in the place of its parameters. */
export async function routesOf(
  console: TestConsole,
): Promise<{ method: string; path: string; scopes: readonly string[] }[]> {
  const { paths } = (await console.gateway.api.get('/openapi.json')).json as {
    paths: Record<string, Record<string, Operation>>;
  };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => /^(get|post|put|patch|delete)$/.test(method))
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path: path.replace(/\{[^}]+\}/g, 'x'),
        scopes: operation['x-scopes'] ?? [],
      })),
  );
}

/** How much there is of everything that is listed with a count; calls, figures and the audit log grow by being refused. */
async function countsOfAll(console: TestConsole): Promise<Record<string, number>> {
  const lists = (await routesOf(console)).filter(
    ({ method, path }) =>
      method === 'GET' && path.startsWith('/v1/') && !/\/x\b|\/v1\/(logs|analytics|audit-logs)/.test(path),
  );
  const counted = await Promise.all(
    lists.map(async ({ path }) => [path, (await console.gateway.api.get(path)).json?.total] as const),
  );
  return Object.fromEntries(counted.filter((each): each is readonly [string, number] => typeof each[1] === 'number'));
}

export interface VisitOptions {
  /** In so many of five forms a route is sent something that a browser sends without asking first; other ones for each route. */
  readonly bodiesEach: number;
}

/** Whatever a page elsewhere does with the session of its visitor, it reads nothing and changes nothing. */
export async function visitElsewhere(
  console: TestConsole,
  elsewhere: ReturnType<typeof serveElsewhere>,
  { bodiesEach }: VisitOptions,
): Promise<void> {
  const { url } = console.gateway;
  const { tab, close } = await console.open('/console');
  await tab.getByRole('heading', { name: 'Hello, Olga' }).waitFor();
  const before = await countsOfAll(console);
  expect(Object.keys(before).length).toBeGreaterThan(10);
  await tab.goto(elsewhere.origin);
  const answered: string[] = [];
  tab.on('response', (response) => {
    if (response.url().startsWith(url) && response.ok())
      answered.push(`${response.request().method()} ${response.url().slice(url.length)}`);
  });
  const all = await routesOf(console);
  const changing = all.filter(({ method }) => method !== 'GET');
  expect(changing.length).toBeGreaterThan(100);
  const readable = await tab.evaluate(
    async ({ url, changing, bodiesEach }) => {
      const refused = (work: Promise<unknown>) => work.then(() => false).catch(() => true);
      const read: string[] = [];
      if (!(await refused(fetch(`${url}/v1/sessions/current`, { credentials: 'include' })))) read.push('who is there');
      for (const [place, { method, path }] of changing.entries()) {
        // What a browser sends without asking first, with the cookie; and what it asks for.
        const json = '{"name":"x"}';
        const form = new FormData();
        form.set('name', 'x');
        form.set('file', new Blob([json], { type: 'application/json' }), 'x.json');
        const plain = { credentials: 'include', mode: 'no-cors', method: 'POST', keepalive: true } as const;
        const bodies = [json, form, new URLSearchParams({ name: 'x', [json]: '' }), new Blob([json]), null];
        const isTried = (_: unknown, at: number) =>
          (at - place + changing.length * bodies.length) % bodies.length < bodiesEach;
        if (method === 'POST')
          await Promise.all(
            bodies.filter(isTried).map((body) => fetch(url + path, { ...plain, body }).catch(() => {})),
          );
        const headers = { 'content-type': 'application/json', 'x-gateway-csrf': 'guessed' };
        if (!(await refused(fetch(url + path, { method, credentials: 'include', headers, body: '{}' }))))
          read.push(`${method} ${path}`);
      }
      return read;
    },
    { url, changing, bodiesEach },
  );
  expect(readable).toEqual([]);
  // Any program may ask for a device code. It reads no session, and lets nobody in before a person has typed it.
  const isForAnyone = (each: string) =>
    each.startsWith('GET /v1/sessions/current') || each === 'POST /oauth/device_authorization';
  expect(answered.filter((each) => !isForAnyone(each))).toEqual([]);

  // Whatever a page elsewhere can have asked for by GET, with the cookie, changes nothing.
  await tab.evaluate(
    async ({ url, paths }) => {
      const ask = (path: string) =>
        fetch(url + path, { credentials: 'include', mode: 'no-cors', signal: AbortSignal.timeout(60_000) });
      await Promise.all(paths.map((path) => ask(path).catch(() => {})));
    },
    { url, paths: all.filter(({ method }) => method === 'GET').map(({ path }) => path) },
  );

  // A form goes there as a page of its own, with the cookie, and with JSON in disguise.
  const sent = async (action: string, json: string, as = 'text/plain') => {
    const arrived = tab.waitForResponse((response) => response.url() === url + action);
    const disguise = new URLSearchParams({ to: url + action, as, name: `${json.slice(0, -1)},"x":"`, value: '"}' });
    await tab.goto(`${elsewhere.origin}/form?${disguise}`);
    const response = await arrived;
    return { status: response.status(), cookie: (await response.allHeaders())['set-cookie'] ?? null };
  };
  for (const as of ['text/plain', 'multipart/form-data', 'application/x-www-form-urlencoded'])
    expect([as, (await sent('/v1/api-keys', '{"name":"stolen"}', as)).status]).toEqual([as, 403]);
  // Signing a visitor in as somebody else is refused, too.
  const attacker = JSON.stringify({ email: 'mia@example.com', password: PASSWORD });
  expect(await sent('/v1/sessions', attacker)).toEqual({ status: 415, cookie: null });
  expect(await countsOfAll(console)).toEqual(before);
  await tab.goto(`${url}/console`);
  await tab.getByRole('heading', { name: 'Hello, Olga' }).waitFor();
  await close();
}
