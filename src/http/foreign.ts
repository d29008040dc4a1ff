/**
 * What a provider, an MCP server or an upload says is foreign content, and it comes from the address of our own pages. A
 * browser that renders it all the same gives it no origin, runs no script of it, loads nothing for it and frames it
 * nowhere: it can neither use a session nor read one.
 */
export const FOREIGN_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
} as const;

/** Headers with which an answer speaks for the whole address it came from, and that address is ours. */
const FOR_THE_ORIGIN = new Set([
  'set-cookie',
  'set-cookie2',
  'clear-site-data',
  'strict-transport-security',
  'public-key-pins',
  'alt-svc',
  'service-worker-allowed',
  'origin-agent-cluster',
  'nel',
  'report-to',
  'reporting-endpoints',
]);

/** Whether an answer may carry it to a client. Which pages may read us is ours to say, too. */
export const speaksForOrigin = (name: string): boolean =>
  FOR_THE_ORIGIN.has(name) || name.startsWith('access-control-') || name in FOREIGN_HEADERS;
