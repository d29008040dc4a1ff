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

const namedInConnection = (value: string | null | undefined): Set<string> | null => {
  if (!value || value === 'keep-alive' || value === 'close') return null;
  return new Set(value.split(',').map((name) => name.trim().toLowerCase()));
};

/** Names that were looked at before: a handful of clients send the same ones over and over. */
const verdicts = new Map<string, boolean>();

function isForwarded(name: string): boolean {
  let verdict = verdicts.get(name);
  if (verdict === undefined) {
    verdict = !(
      HOP_BY_HOP.has(name) ||
      NEVER_FORWARDED.has(name) ||
      name.startsWith('x-gateway-') ||
      name.startsWith('x-forwarded-')
    );
    if (verdicts.size > 1_000) verdicts.clear();
    verdicts.set(name, verdict);
  }
  return verdict;
}

/** The client's end-to-end headers, as far as they are meant for a provider. */
export function forwardedHeaders(incoming: Headers): Headers {
  // Bun's toJSON is one native call; iterating costs one for each header.
  const sent = incoming.toJSON() as Record<string, string>;
  const dropped = namedInConnection(sent.connection);
  const forwarded: Record<string, string> = {};
  for (const name in sent) {
    if (isForwarded(name) && !dropped?.has(name)) forwarded[name] = sent[name]!;
  }
  return new Headers(forwarded);
}

/** The provider's end-to-end headers, for the client; `set-cookie` lines stay apart. */
export function returnedHeaders(incoming: Headers): Headers {
  const dropped = namedInConnection(incoming.get('connection'));
  const returned = new Headers(incoming);
  for (const name of HOP_BY_HOP) returned.delete(name);
  if (dropped) for (const name of dropped) returned.delete(name);
  return returned;
}

/** A header's value; an empty one counts as absent. */
export const headerOf = (headers: Headers, name: string): string | null => headers.get(name) || null;
