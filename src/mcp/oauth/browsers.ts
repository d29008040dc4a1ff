import { randomBytes } from 'node:crypto';
import type { Sessions } from '../../auth/sessions.ts';
import { fail, GatewayError } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Principal } from '../../core/principal.ts';
import type { Sealer } from '../../crypto/seal.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';

/** A user who has signed in, at a browser. */
export interface SignedInUser {
  readonly userId: UserId;
  readonly email: string;
  /** Tells one session from another. */
  readonly session: string;
  readonly principal: Principal;
}

export interface BrowsersDeps {
  readonly sessions: Pick<Sessions, 'identify' | 'sessionToken'>;
  readonly sealer: Sealer;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

const COOKIE = 'gateway_visit';
const TICKET_MS = 15 * 60_000;
const VISIT = new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]{43})(?:;|$)`);

/** Who stands before a page, and proof that a form comes from the page they were shown. */
export function createBrowsers({ sessions, sealer, publicUrl, now }: BrowsersDeps) {
  return {
    async userOf(headers: SentHeaders): Promise<SignedInUser | null> {
      const token = sessions.sessionToken(headers);
      if (token === null) return null;
      try {
        const principal = await sessions.identify(token, {}, { csrf: 'none' });
        return { userId: principal.userId!, email: principal.keyName, session: principal.session!.hash, principal };
      } catch (error) {
        if (error instanceof GatewayError && error.code === 'invalid_api_key') return null;
        throw error;
      }
    },

    /** A name for a browser in which no user has signed in, and the cookie that keeps it. */
    visitOf(headers: SentHeaders): { visit: string; cookie: string } {
      const visit = VISIT.exec(headerOf(headers, 'cookie') ?? '')?.[1] ?? randomBytes(32).toString('base64url');
      const secure = publicUrl().startsWith('https:') ? '; Secure' : '';
      return { visit, cookie: `${COOKIE}=${visit}; Path=/oauth; HttpOnly; SameSite=Lax; Max-Age=3600${secure}` };
    },

    /** What a form brings back, sealed for this purpose and for the user or browser that it was shown to. */
    ticketFor: (purpose: string, holder: string, content: unknown): string =>
      sealer.seal('mcp-oauth', `${purpose} ${holder}`, JSON.stringify({ content, until: now() + TICKET_MS })),

    /** Throws 403 for one that was made for another page, another session or too long ago. */
    openTicket<Content>(purpose: string, holder: string, ticket: string | undefined): Content {
      const { content, until } = opened<Content>(sealer, `${purpose} ${holder}`, ticket);
      return until > now() ? content : fail('page_expired');
    },

    /** The second lock on a form's door: browsers say which page a form is on. */
    checkOrigin(headers: SentHeaders): void {
      const origin = headerOf(headers, 'origin');
      const isOwn = origin === null || origin === new URL(publicUrl()).origin || hostOf(origin) === headers.host;
      if (!isOwn) fail('page_expired');
      if (headerOf(headers, 'sec-fetch-site') === 'cross-site') fail('page_expired');
    },
  };
}

const hostOf = (origin: string): string | undefined => URL.parse(origin)?.host;

export type Browsers = ReturnType<typeof createBrowsers>;

function opened<Content>(sealer: Sealer, context: string, ticket = ''): { content: Content; until: number } {
  try {
    return JSON.parse(sealer.open('mcp-oauth', context, ticket));
  } catch {
    return fail('page_expired');
  }
}
