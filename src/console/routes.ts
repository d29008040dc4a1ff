import { gunzipSync } from 'node:zlib';
import { mayBeSignedIn } from '../auth/sessions.ts';
import { fail } from '../core/errors.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import { get, type Route } from '../http/route.ts';
import type { Assets, Encoding } from './assets.ts';

export const CONSOLE = '/console';
const ASSETS = `${CONSOLE}/assets/`;
const A_YEAR = 'public, max-age=31536000, immutable';

/** Scripts and styles are our own files, never a part of the page: what people put into a log cannot become one. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const SAFE = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};
const SAFE_PAGE = {
  ...SAFE,
  'content-security-policy': POLICY,
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/** Every path below `/console` that is no file is the page: the router inside it knows the rest. */
export function consoleRoutes(assets: () => Promise<Assets>): Route[] {
  const page = get(
    `${CONSOLE}/*`,
    { scopes: 'public', summary: 'The console, a page for browsers, and its files' },
    async ({ path, headers }) => {
      const built = await assets();
      if (!path.startsWith(ASSETS)) return pageOf(built, path.slice(CONSOLE.length), headers);
      const name = path.slice(ASSETS.length);
      // Here, a page would be without its policy, and in any frame.
      const type = (name.endsWith('.html') ? null : built.typeOf(name)) ?? fail('route_not_found', 'GET', path, []);
      return sent(built, name, headers, { ...SAFE, 'content-type': type, 'cache-control': A_YEAR });
    },
  );
  return [page, { ...page, method: 'HEAD' }];
}

/** The same page for all: it differs in the scripts that the browser is told to fetch at once. */
function pageOf(built: Assets, path: string, headers: SentHeaders): Promise<Response> | Response {
  const { file, etag } = built.beginning(path, !mayBeSignedIn(headers));
  const common = { ...SAFE_PAGE, 'cache-control': 'no-cache', etag, vary: 'accept-encoding, cookie' };
  if (headerOf(headers, 'if-none-match')?.includes(etag)) return new Response(null, { status: 304, headers: common });
  return sent(built, file, headers, { ...common, 'content-type': built.typeOf(file)! });
}

async function sent(
  built: Assets,
  name: string,
  headers: SentHeaders,
  own: Readonly<Record<string, string>>,
): Promise<Response> {
  const encoding = encodingFor(headerOf(headers, 'accept-encoding') ?? '');
  const always = { vary: 'accept-encoding', ...own };
  if (encoding)
    return new Response(await built.open(name, encoding).arrayBuffer(), {
      headers: { ...always, 'content-encoding': encoding },
    });
  return new Response(gunzipSync(await built.open(name, 'gzip').arrayBuffer()), { headers: always });
}

/** Null: the client takes neither, as hardly any does. */
function encodingFor(accepted: string): Encoding | null {
  const names = accepted.split(',').flatMap((each) => {
    const [name = '', weight] = each
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/);
    return weight !== undefined && /^q=0(\.0+)?$/.test(weight) ? [] : [name];
  });
  return names.includes('br') ? 'br' : names.includes('gzip') ? 'gzip' : null;
}
