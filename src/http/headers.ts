/** Connection-level headers (RFC 9110 section 7.6.1): they speak of one hop and are never passed on. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What a provider must not learn about the client or the gateway. */
const NEVER_FORWARDED = new Set([
  'host',
  'content-length',
  'expect',
  'cookie',
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'x-request-start',
  // Credentials: the gateway key is ours, the provider's is set again in the provider's own scheme.
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
]);

const namedInConnection = (headers: Headers): Set<string> | null => {
  const value = headers.get('connection');
  if (!value || value === 'keep-alive' || value === 'close') return null;
  return new Set(value.split(',').map((name) => name.trim().toLowerCase()));
};

/** The client's end-to-end headers, as far as they are meant for a provider. */
export function forwardedHeaders(incoming: Headers): Headers {
  const dropped = namedInConnection(incoming);
  const forwarded = new Headers();
  for (const [name, value] of incoming) {
    if (HOP_BY_HOP.has(name) || NEVER_FORWARDED.has(name) || dropped?.has(name)) continue;
    if (name.startsWith('x-gateway-') || name.startsWith('x-forwarded-')) continue;
    forwarded.append(name, value);
  }
  return forwarded;
}

/** The provider's end-to-end headers, for the client; `set-cookie` lines stay apart. */
export function returnedHeaders(incoming: Headers): Headers {
  const dropped = namedInConnection(incoming);
  const returned = new Headers(incoming);
  for (const name of HOP_BY_HOP) returned.delete(name);
  if (dropped) for (const name of dropped) returned.delete(name);
  return returned;
}

/** A header's value; an empty one counts as absent. */
export const headerOf = (headers: Headers, name: string): string | null => headers.get(name) || null;
