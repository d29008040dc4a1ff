import { timingSafeEqual } from 'node:crypto';
import type { Sessions } from '../../auth/sessions.ts';
import { fail, GatewayError } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import type { Sealer } from '../../crypto/seal.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';
import { readBytes } from '../../http/input.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { McpServer } from '../server/server.ts';

export interface BrowsersDeps {
  readonly sessions: Pick<Sessions, 'identify' | 'sessionToken'>;
  readonly sealer: Sealer;
}

const MOST_FORM_BYTES = 16 << 10;

/** Browsers that come to connect: who they are, and whether a form is really from our own page. */
export function createBrowsers({ sessions, sealer }: BrowsersDeps) {
  const csrfOf = ({ session }: Principal, slug: string) => sealer.sign('session', `connect ${session!.hash} ${slug}`);
  return {
    /**
     * The signed-in user, in the workspace of the server; null: no user has signed in. A server of another workspace is
     * none.
     */
    async principal(headers: SentHeaders, server: McpServer | null): Promise<Principal | null> {
      const token = sessions.sessionToken(headers);
      if (token === null) return null;
      const place: SentHeaders = server ? { 'x-gateway-workspace': server.workspaceId } : {};
      try {
        const who = await sessions.identify(token, place, { csrf: 'none' });
        const isOurs = !server || who.organisationId === server.organisationId;
        return isOurs ? who : fail('mcp_server_not_found', server.slug);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        if (error.code === 'invalid_api_key') return null;
        if (error.code === 'not_a_member' && server) fail('mcp_server_not_found', server.slug);
        throw error;
      }
    },

    csrfOf,

    checkCsrf(who: Principal, slug: string, given: string) {
      const expected = csrfOf(who, slug);
      const isSame = given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
      if (!isSame) fail('mcp_connect_refused', 'the page was out of date; load it again');
    },

    /** The fields of a form that one of our own pages sent: pages elsewhere cannot sign a user in, or out, or on. */
    async form({ request, headers }: AnonymousCall): Promise<(name: string) => string> {
      const origin = headerOf(headers, 'origin');
      const site = headerOf(headers, 'sec-fetch-site') ?? 'same-origin';
      if (origin === null || URL.parse(origin)?.host !== headers.host || site !== 'same-origin')
        fail('untrusted_origin', 'origin', 'forms come from our own pages');
      const type = headerOf(headers, 'content-type') ?? '';
      if (!/^application\/x-www-form-urlencoded\b/i.test(type))
        fail('unsupported_media_type', type, 'application/x-www-form-urlencoded');
      const bytes = await readBytes(request, MOST_FORM_BYTES);
      const fields = new URLSearchParams(new TextDecoder().decode(bytes));
      return (name) => fields.get(name) ?? '';
    },
  };
}

export type Browsers = ReturnType<typeof createBrowsers>;
