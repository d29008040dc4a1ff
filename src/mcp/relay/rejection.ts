import type { SentHeaders } from '../../http/headers.ts';
import { isProtected, normalised } from '../server/header-names.ts';
import type { McpServer } from '../server/server.ts';

/** What a client gets to see of the headers with which an MCP server refuses a call, beyond those of every answer. */
export function rejectionHeaders(
  server: McpServer,
  received: SentHeaders,
  { status, metadata }: { readonly status: number; readonly metadata: () => string },
): Record<string, string> {
  const kept: Record<string, string> = {};
  // A server that sends back what it was sent would show the client a credential or a signed identity.
  const sent = new Set(
    [
      server.tokenHeader,
      server.identity?.header ?? '',
      ...Object.keys(server.headers),
      ...Object.keys(server.passthroughHeaders),
    ].map(normalised),
  );
  for (const name in received) {
    const plain = normalised(name);
    if (REASONS.test(name) && !ACTING.test(name) && !isProtected(plain) && !sent.has(plain))
      kept[name] = received[name]!;
  }
  const challenge =
    judgesCaller(server) && (status === 401 || status === 403) ? received['www-authenticate'] : undefined;
  const safe = challenge === undefined ? null : safeChallenge(challenge, metadata());
  if (safe !== null) kept['www-authenticate'] = safe;
  return kept;
}

/** Where servers say why: headers of their own, and those of limits. */
const REASONS = /^(?:x-|ratelimit|error)/;
/** What proxies in front of the gateway, or browsers, would act on. */
const ACTING = /^x-(?:accel-|sendfile|lighttpd-|frame-options|xss-|permitted-|dns-|robots-)/;

/** Whether a refusal is about the caller, and not about a credential that the gateway holds and alone can renew. */
const judgesCaller = ({ identity, authType }: McpServer): boolean => identity !== null || authType === 'none';

/** Elements of a header between its commas (RFC 9110 section 5.6.1); a comma in quotes is none. */
const ELEMENT = /(?:"(?:\\.|[^"\\])*"|[^",])+/g;
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** A scheme, a parameter, or the one before the other. */
const PART = new RegExp(`^(?:(${TOKEN})(?:\\s+|$))?(?:(${TOKEN})\\s*=\\s*("(?:\\\\.|[^"\\\\])*"|${TOKEN}))?$`);
/** A browser answers these by asking its user for a password, or sends one that it knows. */
const PROMPTING = new Set(['basic', 'digest', 'negotiate', 'ntlm', 'kerberos', 'hoba', 'mutual', 'scram-sha-256']);
/** What tells a client why, and what it would need. Addresses are not among them. */
const SAID = new Set(['realm', 'scope', 'error', 'error_description', 'acr_values', 'max_age', 'algs']);

/**
 * The server's challenge, as far as it can lead a client nowhere else: a client that followed the server's
 * `resource_metadata` would show tokens of the gateway, and its user's consent, to whatever authorization server is named
 * there. In its place stands the gateway's own document on that server. Null: nothing is left, or it cannot be read.
 */
export function safeChallenge(header: string, metadata: string): string | null {
  const challenges: { readonly scheme: string; readonly parameters: string[] }[] = [];
  let isSkipping = true;
  for (const [element] of header.matchAll(ELEMENT)) {
    const text = element.trim();
    if (text === '') continue;
    const [, scheme, name, value] = PART.exec(text) ?? [];
    if (scheme === undefined && name === undefined) return null;
    if (scheme !== undefined) {
      isSkipping = PROMPTING.has(scheme.toLowerCase());
      if (!isSkipping) challenges.push({ scheme, parameters: [] });
    }
    if (isSkipping || name === undefined) continue;
    const { parameters } = challenges.at(-1)!;
    if (name.toLowerCase() === 'resource_metadata') parameters.push(`${name}="${metadata}"`);
    else if (SAID.has(name.toLowerCase())) parameters.push(`${name}=${value}`);
  }
  const written = challenges.map(({ scheme, parameters }) => [scheme, parameters.join(', ')].filter(Boolean).join(' '));
  return written.length === 0 ? null : written.join(', ');
}
