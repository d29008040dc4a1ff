import type { Sessions } from '../../auth/sessions.ts';
import { fail } from '../../core/errors.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Db } from '../../storage/store.ts';
import { serversOpenTo, type WorkspaceChoice, workspacesOpenTo } from '../caller/access.ts';
import type { McpServers } from '../server/registry.ts';
import type { Browsers, SignedInUser } from './browsers.ts';
import type { Client } from './client.ts';
import type { Clients } from './clients.ts';
import type { Grants } from './grants.ts';
import { consentPage, noAccessPage } from './pages.ts';
import { redirect } from './redirect.ts';
import {
  destinationOf,
  isClaimed,
  isRegistered,
  policySourceOf,
  redirectFault,
  withParameters,
} from './redirect-uris.ts';
import { type AuthorizationRequest, type Fault, type Parameters, readParameters, readRequest } from './request.ts';
import type { SignIn } from './sign-in.ts';
import { readForm } from './token-endpoint.ts';

export interface AuthorizeDeps {
  readonly db: Db;
  readonly clients: Pick<Clients, 'find'>;
  readonly grants: Pick<Grants, 'begin' | 'remembered'>;
  readonly servers: Pick<McpServers, 'find'>;
  readonly sessions: Pick<Sessions, 'end' | 'endCookie'>;
  readonly browsers: Browsers;
  readonly signIn: Pick<SignIn, 'show'>;
  readonly publicUrl: () => string;
  readonly refreshDays: number;
}

/** What a consent form brings back. */
interface ConsentRequest {
  readonly request: AuthorizationRequest;
  readonly client: Pick<Client, 'id' | 'name' | 'isRenewable'>;
  /** The query it began with, to begin again with. */
  readonly search: string;
}

/** Where an answer goes. */
type ClientReturn = Pick<AuthorizationRequest, 'redirectUri' | 'state'>;

/** What the user may let the client use. */
interface Grantable {
  readonly server: { readonly id: string; readonly name: string; readonly workspace: string } | null;
  readonly workspaces: readonly WorkspaceChoice[];
}

/** What the user lets the client use. */
interface Choice extends Pick<Grantable, 'server'> {
  readonly workspace: WorkspaceChoice;
}

const LONGEST_QUERY = 8_192;
const PURPOSE = 'consent';
/** Of so many workspaces the servers are named. */
const MOST_SHOWN = 20;
const DENIED: Fault = { error: 'access_denied', description: 'The user did not allow it' };

/** How a client gets a code: the request is checked, the user signs in, and consents. */
export function createAuthorize(deps: AuthorizeDeps) {
  const { clients, grants, browsers, signIn, publicUrl } = deps;

  const answer = (call: AnonymousCall, to: ClientReturn, said: Readonly<Record<string, string>>): Response =>
    redirect(call, withParameters(to.redirectUri, { ...said, state: to.state, iss: publicUrl() }));
  const answerFault = (call: AnonymousCall, to: ClientReturn, { error, description }: Fault): Response =>
    answer(call, to, { error, error_description: description.replace(/[^\x20-\x7e]|["\\]/g, "'") });

  /** Nothing when there is no such server, or none for this user: they look alike. */
  const grantableBy = async ({ slug }: AuthorizationRequest['resource'], userId: string): Promise<Grantable | null> => {
    const workspaces = await workspacesOpenTo(deps.db, userId);
    if (slug === null) return workspaces.length > 0 ? { server: null, workspaces } : null;
    const server = await deps.servers.find(slug);
    const workspace = server && workspaces.find(({ id }) => id === server.workspaceId);
    return workspace
      ? { server: { id: server.id, name: server.name, workspace: workspace.name }, workspaces: [workspace] }
      : null;
  };

  /** The workspace for which the user has allowed the same before, and still may. */
  const remembered = async (
    asked: ConsentRequest,
    { userId }: SignedInUser,
    { server, workspaces }: Grantable,
  ): Promise<Choice | null> => {
    const { request, client } = asked;
    const { redirectUri, scope, resource, asksAnew } = request;
    if (asksAnew || !isClaimed(redirectUri)) return null;
    const found = await grants.remembered({ userId, client, resource: resource.uri, scope, redirectUri });
    const workspace = workspaces.find(({ id }) => id === found);
    return workspace ? { workspace, server } : null;
  };

  const allow = async (
    call: AnonymousCall,
    { request, client }: ConsentRequest,
    { userId }: SignedInUser,
    { workspace, server }: Choice,
  ): Promise<Response> => {
    const { redirectUri, scope, challenge, resource } = request;
    const code = await grants.begin(
      {
        userId,
        workspaceId: workspace.id,
        serverId: server?.id ?? null,
        client,
        resource: resource.uri,
        scope,
        redirectUri,
        challenge,
        isRemembered: isClaimed(redirectUri),
      },
      { witness: call.witness },
    );
    return answer(call, request, { code });
  };

  const ask = async (
    call: AnonymousCall,
    asked: ConsentRequest,
    client: Client,
    user: SignedInUser,
  ): Promise<Response> => {
    const { redirectUri, resource } = asked.request;
    const grantable = await grantableBy(resource, user.userId);
    const ticket = browsers.ticketFor(PURPOSE, user.session, asked);
    const view = { ticket, client, redirectUri, email: user.email, resource: resource.uri };
    if (!grantable) return noAccessPage(view);
    const choice = await remembered(asked, user, grantable);
    if (choice) return allow(call, asked, user, choice);
    const choices = grantable.server ? [] : grantable.workspaces;
    const servers = await Promise.all(
      choices.slice(0, MOST_SHOWN).map(({ id }) => serversOpenTo(deps.db, user.userId, id)),
    );
    return consentPage({
      ...view,
      server: grantable.server,
      workspaces: choices.map((each, index) => ({ ...each, servers: servers[index] ?? null })),
      isRenewable: client.isRenewable,
      refreshDays: deps.refreshDays,
    });
  };

  /** The workspace of the server, or the one that was chosen. */
  const choiceOf = async (
    { request }: ConsentRequest,
    { userId }: SignedInUser,
    named: string | undefined,
  ): Promise<Choice> => {
    const grantable = await grantableBy(request.resource, userId);
    const workspace = grantable?.server
      ? grantable.workspaces[0]
      : grantable?.workspaces.find(({ id }) => id === named);
    if (!grantable || !workspace)
      return fail('authorization_refused', 'you may not call this server, or chose no workspace for it');
    return { workspace, server: grantable.server };
  };

  return {
    async begin(call: AnonymousCall): Promise<Response> {
      const { search } = call;
      if (search.length > LONGEST_QUERY) fail('authorization_refused', `it is longer than ${LONGEST_QUERY} characters`);
      const parameters = readParameters(search);
      const { clientId, redirectUri } = placeIn(parameters);
      const user = await browsers.userOf(call.headers);
      const client = await clients.find(clientId, { mayFetch: user !== null });
      const destination = {
        returnTo: `/oauth/authorize${search}`,
        formTargets: [policySourceOf(redirectUri)],
        application: {
          name: client?.name ?? null,
          host: hostOf(clientId),
          isVouchedFor: client?.origin === 'administrator',
          sendsTo: destinationOf(redirectUri),
        },
      };
      if (!client) return signIn.show(call, destination);
      if (!isRegistered(redirectUri, client.redirectUris))
        fail(
          'authorization_refused',
          `its redirect_uri ${redirectUri.slice(0, 200)} is none of those it has registered`,
        );
      // RFC 9700 section 4.11.2: only a user who has signed in is sent on, even with an error, so we are no open
      // redirector.
      if (!user) return signIn.show(call, destination);
      if (client.organisationId !== undefined && client.organisationId !== user.principal.organisationId)
        fail('authorization_refused', 'its client_id is unknown here');
      const request = readRequest(parameters, { clientId, redirectUri, publicUrl: publicUrl() });
      if ('error' in request)
        return answerFault(call, { redirectUri, state: parameters.values.get('state') ?? null }, request);
      const { id, name, isRenewable } = client;
      return ask(call, { request, client: { id, name, isRenewable }, search }, client, user);
    },

    async decide(call: AnonymousCall): Promise<Response> {
      browsers.checkOrigin(call.headers);
      const user = (await browsers.userOf(call.headers)) ?? fail('page_expired');
      const { organisationId, workspaceId } = user.principal;
      call.identify({ organisationId, workspaceId, keyId: null, userId: user.userId });
      const form = await readForm(call.request);
      const asked = browsers.openTicket<ConsentRequest>(PURPOSE, user.session, form.get('ticket'));
      switch (form.get('decision')) {
        case 'allow':
          return allow(call, asked, user, await choiceOf(asked, user, form.get('workspace')));
        case 'deny':
          return answerFault(call, asked.request, DENIED);
        case 'switch':
          await deps.sessions.end({ ...user.principal, witness: call.witness });
          return redirect(call, `/oauth/authorize${asked.search}`, { 'set-cookie': deps.sessions.endCookie() });
        default:
          return fail('authorization_refused', 'decision must be allow or deny');
      }
    },
  };
}

/** Of a client that is known by its document; others have no host that could be checked. */
const hostOf = (clientId: string): string | null => URL.parse(clientId)?.host || null;

/** Client and address: if either is wrong, the user is told, and the browser is not sent anywhere. */
function placeIn({ values, repeated }: Parameters): { clientId: string; redirectUri: string } {
  for (const name of ['client_id', 'redirect_uri']) {
    if (!values.has(name)) fail('authorization_refused', `${name} is missing`);
    if (repeated.has(name)) fail('authorization_refused', `${name} is given twice`);
  }
  const redirectUri = values.get('redirect_uri')!;
  const fault = redirectFault(redirectUri);
  if (fault) fail('authorization_refused', `its redirect_uri ${fault}`);
  return { clientId: values.get('client_id')!, redirectUri };
}
