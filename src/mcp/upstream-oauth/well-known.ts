/** Where OAuth keeps its documents, and what a challenge says. */

const pathOf = ({ pathname }: URL): string => (pathname === '/' ? '' : pathname.replace(/\/$/, ''));

/** RFC 9728 section 3.1: first that of the very resource, then that of its host. */
export function resourceMetadataUrls(serverUrl: string): string[] {
  const url = new URL(serverUrl);
  const wellKnown = `${url.origin}/.well-known/oauth-protected-resource`;
  return [...new Set([`${wellKnown}${pathOf(url)}`, wellKnown])];
}

/** RFC 8414 section 3.1, and both ways in which OpenID providers with a path place theirs. */
export function issuerMetadataUrls(issuer: string): string[] {
  const url = new URL(issuer);
  const path = pathOf(url);
  const oauth = `${url.origin}/.well-known/oauth-authorization-server${path}`;
  const openid = `${url.origin}/.well-known/openid-configuration${path}`;
  return path === '' ? [oauth, openid] : [oauth, openid, `${url.origin}${path}/.well-known/openid-configuration`];
}

export interface Challenge {
  readonly resourceMetadata: string | null;
  readonly scope: string | null;
  readonly error: string | null;
}

const PARAMETER = /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/** The Bearer challenge (RFC 6750 section 3) of a refusal, as far as a client acts on it. */
export function challengeIn(header: string | null): Challenge {
  const said = new Map<string, string>();
  const start = header === null ? -1 : header.search(/(^|[\s,])bearer(\s|$)/i);
  for (const [, name, quoted, plain] of start < 0 ? [] : header!.slice(start).matchAll(PARAMETER)) {
    const value = quoted?.replace(/\\(.)/g, '$1') ?? plain!;
    if (!said.has(name!.toLowerCase())) said.set(name!.toLowerCase(), value);
  }
  return {
    resourceMetadata: said.get('resource_metadata') ?? null,
    scope: said.get('scope') ?? null,
    error: said.get('error') ?? null,
  };
}

/** Whether a document about `resource` speaks of the server at `serverUrl`: the same, or a path above it. */
export function coversServer(resource: string, serverUrl: string): boolean {
  const above = URL.parse(resource);
  const url = new URL(serverUrl);
  if (!above || above.origin !== url.origin || above.hash !== '') return false;
  return `${pathOf(url)}/`.startsWith(`${pathOf(above)}/`);
}
