import { organisationName } from '../../auth/organisation.ts';
import type { Sessions } from '../../auth/sessions.ts';
import { fail, GatewayError } from '../../core/errors.ts';
import type { Principal, Witnessed } from '../../core/principal.ts';
import type { NowOrLater } from '../../core/runtime/now-or-later.ts';
import { asGatewayError } from '../../http/reply.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Store } from '../../storage/store.ts';
import type { Origins } from '../caller/origin.ts';
import type { McpServer } from '../server/server.ts';
import { type BrowsersDeps, createBrowsers } from './browsers.ts';
import type { Connecting, SignedInBrowser } from './connecting.ts';
import type { OwnConnections } from './own-connections.ts';
import { connectPage, departurePage, indexPage, problemPage, type SignInView, signInPage } from './pages.ts';
import type { StepUps } from './step-ups.ts';
import type { AccountHolder, Vault } from './vault.ts';

/** What is known of servers. */
export interface ConnectableServers {
  find(slug: string): NowOrLater<McpServer | null>;
  byId(id: string): Promise<McpServer | null>;
}

export interface ConnectPagesDeps extends BrowsersDeps {
  readonly store: Store;
  readonly ownConnections: Pick<OwnConnections, 'of'>;
  readonly sessions: Sessions;
  readonly hasIdentityProvider: boolean;
  readonly servers: ConnectableServers;
  readonly origins: Pick<Origins, 'check'>;
  readonly vault: Pick<Vault, 'find'>;
  readonly connecting: Connecting;
  readonly stepUps: Pick<StepUps, 'open'>;
  readonly disconnect: (holder: AccountHolder, who?: Witnessed) => Promise<boolean>;
  readonly connected: (connected: Connected) => void;
  readonly now: () => number;
}

/** A user has connected an account of theirs at a server. */
export interface Connected {
  readonly server: McpServer;
  readonly userId: string;
  readonly at: number;
}

const LONGEST_EMAIL = 320;
const LONGEST_PASSWORD = 1_024;
const INDEX = '/connect';
const pathOf = (slug: string, more: string | null = null) =>
  `${INDEX}${slug === '' ? '' : `/${encodeURIComponent(slug)}`}${more === null ? '' : `?more=${more}`}`;

/** What a server has asked for on the way here: it stays in the address until the user leaves for the server. */
function moreIn(search: string): string | null {
  const more = new URLSearchParams(search).get('more');
  return more !== null && /^[\w.-]{1,1024}$/.test(more) ? more : null;
}

/** The pages on which users connect their accounts, and leave again. */
export function createConnectPages(deps: ConnectPagesDeps) {
  const { sessions, servers, origins, vault, connecting } = deps;
  const browsers = createBrowsers(deps);
  const signInView = async (slug: string, more: string | null): Promise<SignInView> => ({
    organisation: await organisationName(deps.store.db),
    action: slug === '' ? INDEX : `${pathOf(slug)}/sign-in${more === null ? '' : `?more=${more}`}`,
    provider: deps.hasIdentityProvider ? `/v1/sessions/oidc?return_to=${encodeURIComponent(pathOf(slug, more))}` : null,
  });

  /** Pages for people: what fails is told on a page, too. */
  const shown =
    (work: (call: AnonymousCall, slug: string) => Promise<Response>) =>
    async (call: AnonymousCall): Promise<Response> => {
      const slug = call.params.server ?? '';
      try {
        origins.check(call.headers);
        return await work(call, slug);
      } catch (error) {
        const failure = asGatewayError(error, call.requestId);
        if (failure.code === 'internal_error') throw error;
        return problemPage(failure.status, failure.message, pathOf(slug));
      }
    };

  /** Which user visits which server; null: no user has signed in, and then whether the server exists is not told. */
  const visit = async (call: AnonymousCall, slug: string) => {
    const server = await servers.find(slug);
    const who = await browsers.principal(call.headers, server);
    if (!who) return null;
    // A user who has signed in has no key.
    call.identify({ ...who, keyId: null });
    return { who, server: connectable(server, slug, who), browser: browserOf(who) };
  };

  const begin = shown(async (call, slug) => {
    const field = await browsers.form(call);
    const found = await visit(call, slug);
    const more = moreIn(call.search);
    if (!found) return signInPage(await signInView(slug, more));
    browsers.checkCsrf(found.who, slug, field('csrf'));
    const { server, browser } = found;
    const challenged = deps.stepUps.open({ serverId: server.id, userId: browser.userId }, more);
    return departurePage(await connecting.begin(server, browser, challenged));
  });

  const show = shown(async (call, slug) => {
    const found = await visit(call, slug);
    const more = moreIn(call.search);
    if (!found) return signInPage(await signInView(slug, more));
    const { who, server } = found;
    const kept = await vault.find({ serverId: server.id, userId: who.userId! });
    const isOfServer = kept?.grant.url === server.url;
    return connectPage({
      path: pathOf(slug),
      more: more === null ? '' : `?more=${more}`,
      csrf: browsers.csrfOf(who, slug),
      email: who.keyName,
      server,
      connection: kept && isOfServer ? { ...kept.grant, at: kept.connectedAt } : null,
    });
  });

  const signIn = shown(async (call, slug) => {
    const field = await browsers.form(call);
    const [email, password] = [field('email'), field('password')];
    try {
      if (email.length > LONGEST_EMAIL || password.length > LONGEST_PASSWORD) fail('sign_in_failed');
      const from = { address: call.clientAddress, witness: call.witness };
      const made = await sessions.signIn({ email, password }, from, (found) =>
        call.identify({ organisationId: found.organisation_id, workspaceId: '', keyId: null, userId: found.id }),
      );
      return redirect(pathOf(slug, moreIn(call.search)), sessions.cookie(made.token));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return signInPage({
        ...(await signInView(slug, moreIn(call.search))),
        email: email.slice(0, LONGEST_EMAIL),
        problem: error,
      });
    }
  });

  const leave = shown(async (call, slug) => {
    const field = await browsers.form(call);
    const found = await visit(call, slug);
    if (!found) return signInPage(await signInView(slug, null));
    browsers.checkCsrf(found.who, slug, field('csrf'));
    await deps.disconnect({ serverId: found.server.id, userId: found.browser.userId }, { witness: call.witness });
    return redirect(pathOf(slug));
  });

  const comeBack = shown(async (call) => {
    const who = await browsers.principal(call.headers, null);
    if (!who) return fail('mcp_connect_refused', 'no user has signed in to the gateway in this browser');
    const browser = browserOf(who);
    const { serverId, returned } = await connecting.take(call.search, browser);
    const server = (await servers.byId(serverId)) ?? fail('mcp_server_not_found', serverId);
    // Only now is it known in which workspace they must be a member.
    const there = (await browsers.principal(call.headers, server)) ?? fail('mcp_server_not_found', server.slug);
    await connecting.finish(connectable(server, server.slug, there), browser, returned);
    deps.connected({ server, userId: browser.userId, at: deps.now() });
    return redirect(pathOf(server.slug));
  });

  const index = shown(async (call) => {
    const who = await browsers.principal(call.headers, null);
    if (!who) return signInPage(await signInView('', null));
    call.identify({ ...who, keyId: null });
    const servers = await deps.ownConnections.of(who.userId!);
    return indexPage({ email: who.keyName, servers: servers.filter(({ may_call }) => may_call) });
  });

  return { index, show, begin, signIn, leave, comeBack };
}

export type ConnectPages = ReturnType<typeof createConnectPages>;

const browserOf = ({ userId, session }: Principal): SignedInBrowser => ({
  userId: userId!,
  sessionHash: session!.hash,
});

function connectable(server: McpServer | null, slug: string, { scopes }: Principal): McpServer {
  if (!server) return fail('mcp_server_not_found', slug.slice(0, 80));
  if (!scopes.has('mcp.invoke')) fail('insufficient_scope', 'mcp.invoke');
  if (server.authType !== 'oauth_auto')
    fail('mcp_connect_refused', `${server.slug} is used without an account of yours`);
  return server;
}

function redirect(location: string, cookie?: string): Response {
  const answer = new Response(null, { status: 303, headers: { location, 'cache-control': 'no-store' } });
  if (cookie !== undefined) answer.headers.append('set-cookie', cookie);
  return answer;
}
