import * as z from 'zod';
import type { FirstOwner } from '../auth/first-owner.ts';
import type { Oidc } from '../auth/oidc.ts';
import type { NewSession, Sessions } from '../auth/sessions.ts';
import type { Users } from '../auth/users.ts';
import { schemaOf } from '../core/schema.ts';
import { SCOPES } from '../core/scopes.ts';
import { headerOf } from '../http/headers.ts';
import { html, page } from '../http/page.ts';
import { asGatewayError, json } from '../http/reply.ts';
import { deleted } from '../http/resource.ts';
import { type AnonymousCall, del, get, post, type Route } from '../http/route.ts';
import { email, password, personName, user } from './users.ts';

const signIn = () => z.strictObject({ email: z.string().min(1).max(320), password: z.string().min(1).max(1_024) });
const changePassword = () =>
  z.strictObject({ current_password: z.string().min(1).max(1_024), new_password: password() });
const returnTo = () =>
  z
    .string()
    .regex(/^\/(?![/\\])[\x21-\x7e]*$/, 'give a path of this gateway, such as /console/')
    .max(500);

const session = () =>
  z.object({
    object: z.literal('session'),
    user: schemaOf(user),
    csrf_token: z.string().describe('To be sent as x-gateway-csrf with every change and every call to a provider.'),
    expires_at: z.string(),
  });
const current = () =>
  session().extend({
    workspace: z.object({ id: z.string(), slug: z.string() }).describe('x-gateway-workspace names another.'),
    scopes: z.array(z.enum(SCOPES)),
  });

export interface SessionParts {
  readonly sessions: Sessions;
  readonly users: Pick<Users, 'self'>;
  readonly oidc: Oidc;
  readonly firstOwner: FirstOwner;
  /** Tells the audit log who came in by a way that is no change of a resource. */
  readonly noteSignIn: (call: AnonymousCall, signedIn: NewSession) => void;
}

const firstOwnerInput = () =>
  z.strictObject({
    token: z.string().min(1).max(200).describe('What stands behind #owner= in the link that a start printed.'),
    email: email(),
    password: password(),
    first_name: personName().optional(),
    last_name: personName().optional(),
  });
const ownSession = () =>
  z.object({
    id: z.string(),
    object: z.literal('user-session'),
    is_current: z.boolean(),
    created_at: z.string(),
    expires_at: z.string(),
  });

const ways = () => z.object({ object: z.literal('sign-in-ways'), password: z.literal(true), oidc: z.boolean() });

export const sessionRoutes = ({ sessions, users, oidc, firstOwner, noteSignIn }: SessionParts): Route[] => {
  const opened = async (made: NewSession) => {
    const answer = json({
      object: 'session',
      user: await users.self(made.user.id),
      csrf_token: made.csrfToken,
      expires_at: new Date(made.expiresAt).toISOString(),
    });
    answer.headers.append('set-cookie', sessions.cookie(made.token));
    return answer;
  };
  return [
    get('/v1/sessions/ways', { scopes: 'public', summary: 'How people sign in here', response: ways }, () => ({
      object: 'sign-in-ways',
      password: true,
      oidc: oidc.isConfigured,
    })),
    post(
      '/v1/sessions',
      {
        scopes: 'public',
        audit: { resource: 'sessions' },
        summary: 'Sign in with email and password',
        body: signIn,
        response: session,
      },
      async (call) => {
        const made = await sessions.signIn(call.body, { address: call.clientAddress, witness: call.witness }, (found) =>
          identify(call, found.organisation_id, found.id),
        );
        return opened(made);
      },
    ),
    post(
      '/v1/sessions/first-owner',
      {
        scopes: 'public',
        audit: { resource: 'users' },
        summary: 'Become the first owner by the link that a start printed, and sign in',
        body: firstOwnerInput,
        response: session,
      },
      async (call) =>
        opened(await firstOwner.accept(call.body, call, (made) => identify(call, made.organisation_id, made.id))),
    ),
    get(
      '/v1/sessions',
      {
        scopes: ['sessions.manage'],
        summary: "One's own sessions",
        response: () => z.object({ object: z.literal('list'), data: z.array(ownSession()) }),
      },
      async ({ principal }) => ({ object: 'list', data: await sessions.list(principal) }),
    ),
    get(
      '/v1/sessions/current',
      { scopes: ['sessions.manage'], summary: 'Who is signed in', response: current },
      async ({ principal, headers }) => {
        const { csrfToken, expiresAt } = await sessions.current(principal, headers);
        return {
          object: 'session',
          user: await users.self(principal.userId!),
          csrf_token: csrfToken,
          expires_at: new Date(expiresAt).toISOString(),
          workspace: { id: principal.workspaceId, slug: principal.workspaceSlug },
          scopes: [...principal.scopes],
        };
      },
    ),
    del(
      '/v1/sessions/current',
      {
        scopes: ['sessions.manage'],
        audit: { resource: 'sessions' },
        summary: 'Sign out',
        response: () => deleted('session'),
      },
      async ({ principal }) => {
        await sessions.end(principal);
        const answer = json({ id: 'current', object: 'session', deleted: true });
        answer.headers.append('set-cookie', sessions.endCookie());
        return answer;
      },
    ),
    del(
      '/v1/sessions/:id',
      {
        scopes: ['sessions.manage'],
        audit: { resource: 'sessions' },
        summary: "End one of one's own sessions",
        response: () => deleted('user-session'),
      },
      async ({ principal, params }) => {
        await sessions.endOne(principal, params.id);
        return { id: params.id, object: 'user-session', deleted: true };
      },
    ),
    post(
      '/v1/sessions/current/password',
      {
        scopes: ['sessions.manage'],
        audit: { resource: 'users', action: 'update' },
        summary: "Change one's own password; other sessions end",
        body: changePassword,
        response: user,
      },
      async ({ principal, body }) => {
        await sessions.changePassword(principal, body);
        return users.self(principal.userId!);
      },
    ),
    get(
      '/v1/sessions/oidc',
      {
        scopes: 'public',
        summary: 'Sign in through the identity provider: goes there',
        query: () => z.strictObject({ return_to: returnTo().optional() }),
      },
      (call) =>
        toldOnPage(call, async () => {
          const { location, cookie } = await oidc.begin(call.query.return_to ?? '/');
          return redirect(location, [cookie]);
        }),
    ),
    get(
      '/v1/sessions/oidc/callback',
      { scopes: 'public', summary: 'Where the identity provider sends people back to' },
      (call) =>
        toldOnPage(call, async () => {
          const made = await oidc.finish(call.search, call.headers);
          noteSignIn(call, made);
          return redirect(made.returnTo, [sessions.cookie(made.token), oidc.endCookie()]);
        }),
    ),
  ];
};

/** Browsers come here with people: what went wrong is told on a page that leads back. */
async function toldOnPage(
  call: Pick<AnonymousCall, 'headers' | 'requestId'>,
  work: () => Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!headerOf(call.headers, 'accept')?.includes('text/html')) throw error;
    const failure = asGatewayError(error, call.requestId);
    if (failure.code === 'internal_error') throw error;
    return page({
      title: 'Signing in did not work',
      status: failure.status,
      body: html`<h1>Signing in did not work</h1>
<p>${failure.message}</p>
<a class="button" href="/console">Back to sign in</a>`,
    });
  }
}

/** So that log and record say who it was that came in. */
function identify(call: AnonymousCall, organisationId: string, userId: string) {
  call.identify({ organisationId, workspaceId: '', keyId: null, userId });
}

function redirect(location: string, cookies: readonly string[]): Response {
  const answer = new Response(null, { status: 302, headers: { location, 'cache-control': 'no-store' } });
  for (const cookie of cookies) answer.headers.append('set-cookie', cookie);
  return answer;
}
