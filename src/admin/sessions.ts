import * as z from 'zod';
import type { Oidc } from '../auth/oidc.ts';
import type { NewSession, Sessions } from '../auth/sessions.ts';
import type { Users } from '../auth/users.ts';
import { schemaOf } from '../core/schema.ts';
import { SCOPES } from '../core/scopes.ts';
import { json } from '../http/reply.ts';
import { deleted } from '../http/resource.ts';
import { type AnonymousCall, del, get, post, type Route } from '../http/route.ts';
import { password, user } from './users.ts';

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
  /** Tells the audit log who came in by a way that is no change of a resource. */
  readonly noteSignIn: (call: AnonymousCall, signedIn: NewSession) => void;
}

export const sessionRoutes = ({ sessions, users, oidc, noteSignIn }: SessionParts): Route[] => [
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
      const answer = json({
        object: 'session',
        user: await users.self(made.user.id),
        csrf_token: made.csrfToken,
        expires_at: new Date(made.expiresAt).toISOString(),
      });
      answer.headers.append('set-cookie', sessions.cookie(made.token));
      return answer;
    },
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
    async ({ query }) => {
      const { location, cookie } = await oidc.begin(query.return_to ?? '/');
      return redirect(location, [cookie]);
    },
  ),
  get(
    '/v1/sessions/oidc/callback',
    { scopes: 'public', summary: 'Where the identity provider sends people back to' },
    async (call) => {
      const made = await oidc.finish(call.search, call.headers);
      noteSignIn(call, made);
      return redirect(made.returnTo, [sessions.cookie(made.token), oidc.endCookie()]);
    },
  ),
];

/** So that log and record say who it was that came in. */
function identify(call: AnonymousCall, organisationId: string, userId: string) {
  call.identify({ organisationId, workspaceId: '', keyId: null, userId });
}

function redirect(location: string, cookies: readonly string[]): Response {
  const answer = new Response(null, { status: 302, headers: { location, 'cache-control': 'no-store' } });
  for (const cookie of cookies) answer.headers.append('set-cookie', cookie);
  return answer;
}
