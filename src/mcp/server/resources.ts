import { isServerSlug } from './server.ts';
import { endpointOf } from './shown.ts';

/** The one scope that tokens have. */
export const SCOPE = 'mcp';

/** What a token is good for (RFC 8707): one MCP server, or all servers of a workspace behind one address. */
export interface Resource {
  /** As it stands in tokens and metadata. */
  readonly uri: string;
  /** Null: the address for all servers. */
  readonly slug: string | null;
}

export const serverResource = (publicUrl: string, slug: string): Resource => ({
  uri: endpointOf(publicUrl, slug),
  slug,
});
export const commonResource = (publicUrl: string): Resource => ({ uri: `${publicUrl}/mcp`, slug: null });

/** The resource that an address names, however it spells host and last slash; null when it is none of ours. */
export function resourceIn(publicUrl: string, text: string): Resource | null {
  const url = URL.parse(text);
  if (!url || text.includes('#') || url.search !== '' || url.username !== '' || url.password !== '') return null;
  const own = new URL(publicUrl);
  const base = own.pathname.replace(/\/+$/, '');
  if (url.origin !== own.origin || !url.pathname.startsWith(`${base}/`)) return null;
  const path = url.pathname.slice(base.length).replace(/\/$/, '');
  if (path === '/mcp') return commonResource(publicUrl);
  const slug = /^\/([^/]+)\/mcp$/.exec(path)?.[1];
  return slug !== undefined && isServerSlug(slug) ? serverResource(publicUrl, slug) : null;
}
