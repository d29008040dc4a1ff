import { BoundedMap } from '../core/bounded-map.ts';
import { fail } from '../core/errors.ts';
import type { SentHeaders } from '../http/headers.ts';
import { address } from './options.ts';
import type { Provider, ProviderOptions } from './provider.ts';

/**
 * Where a call goes: the provider's base, or the custom host in its place (version included), then the client's path
 * after /v1. A provider's `rewrite` also applies behind a custom host, because what stands there speaks the provider's
 * paths: an Azure deployment stays a deployment when it is reached through a private address. The query is kept as it
 * came; a rewrite may only add to it.
 */
export function upstreamUrl(
  provider: Provider,
  options: ProviderOptions,
  customHost: string | null,
  path: string,
  search: string,
): string {
  refuseDetours(path, search);
  const base = customHost ? customBase(customHost) : ownBase(provider, options, path);
  const tail = withoutVersionOf(base, path) + search;
  return base + (provider.rewrite ? provider.rewrite(tail, options) : tail);
}

/** Hosts that were checked before; a URL is too dear to be built for every call. */
const customBases = new BoundedMap<string, string>(1_000);

function customBase(customHost: string): string {
  let base = customBases.get(customHost);
  if (base === undefined) {
    base = address('custom_host', customHost);
    customBases.set(customHost, base);
  }
  return base;
}

function ownBase(provider: Provider, options: ProviderOptions, path: string): string {
  const { baseUrl } = provider;
  if (baseUrl === null) return fail('missing_provider_option', provider.name, 'custom_host');
  return typeof baseUrl === 'string' ? baseUrl : baseUrl(options, path);
}

const VERSION = /\/(?:v\d+[a-z0-9]*|\d{8})$/;

/** `/v1beta/models` on a base that ends in `/v1beta` is `/models`: SDKs name the version themselves. */
function withoutVersionOf(base: string, path: string): string {
  const version = VERSION.exec(base)?.[0];
  if (version === undefined || !path.startsWith(version)) return path;
  const rest = path.slice(version.length);
  return rest === '' || rest.startsWith('/') ? rest : path;
}

/** What a client appends stays below the base, however the next reader decodes it. */
function refuseDetours(path: string, search: string): void {
  if (path !== '' && !path.startsWith('/')) fail('invalid_path', 'it must start with a slash');
  if (!/^[\x21-\x7e]*$/.test(path) || /[?#]/.test(path)) fail('invalid_path', 'it has characters that must be encoded');
  if (search !== '' && !/^\?[\x21-\x7e]*$/.test(search))
    fail('invalid_path', 'its query has characters that must be encoded');
  if (search.includes('#')) fail('invalid_path', 'its query has a fragment');
  if (!/[.\\%]|\/\//.test(path)) return;
  // Some servers read two slashes as one, and then serve another resource than the one that was looked at here.
  if (path.includes('//')) fail('invalid_path', 'it has an empty segment, "//"');
  let plain = path;
  for (let times = 0; ; times++) {
    refuseMisread(plain);
    const next = plain.includes('%') ? decodedOnce(plain, times === 0) : plain;
    if (next === plain) return;
    if (times === MOST_ENCODINGS) fail('invalid_path', 'it is percent-encoded several times over');
    plain = next;
  }
}

/** Servers behind proxies decode once or twice. */
const MOST_ENCODINGS = 3;

/** What one server takes for a name and another for a way out of the folder: Tomcat cuts `;…` off, Windows dots and spaces. */
function refuseMisread(path: string): void {
  if (path.includes('\\')) fail('invalid_path', 'it has a backslash');
  if (/[\0-\x1f\x7f]/.test(path)) fail('invalid_path', 'it has a control character');
  if (/(?:^|\/)\s*\.[.\s]*(?:[;/]|$)/.test(path)) fail('invalid_path', 'it has a "." or ".." segment');
}

/** Only what a client wrote must be whole: behind `%25` may stand anything. */
function decodedOnce(path: string, isAsSent: boolean): string {
  if (isAsSent && /%(?![0-9a-f]{2})/i.test(path)) fail('invalid_path', 'it holds a broken percent escape');
  return path.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      // Among the bytes that are no UTF-8 are the long forms of dots and slashes.
      return isAsSent ? fail('invalid_path', 'its percent escapes are not UTF-8') : escapes;
    }
  });
}

/** Where options may come from: a virtual key's configurations, or the headers of a call with its own credential. */
export type OptionSource = { readonly stored: Readonly<Record<string, unknown>> } | { readonly headers: SentHeaders };

/**
 * The options this provider knows, from one source only: a stored credential goes to the host stored with it, so no
 * header may move it elsewhere or change who it is.
 */
export function readOptions(provider: Provider, source: OptionSource): ProviderOptions {
  const found: Record<string, unknown> = {};
  for (const name of provider.options ?? []) {
    const value = 'stored' in source ? source.stored[name] : source.headers[optionHeader(name)];
    if (value !== undefined && value !== null && value !== '') found[name] = value;
  }
  return found;
}

/** `aws_region` travels as `x-gateway-aws-region`. */
export const optionHeader = (option: string): string => `x-gateway-${option.replaceAll('_', '-')}`;
