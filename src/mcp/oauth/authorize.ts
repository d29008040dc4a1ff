import type { Sessions } from '../../auth/sessions.ts';
import { fail } from '../../core/errors.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Db } from '../../storage/store.ts';
import type { McpServers } from '../server/registry.ts';
import { type Place, placesOf } from './access.ts';
import type { Client } from './client.ts';
import type { Clients } from './clients.ts';
import type { Grants } from './grants.ts';
import { consentPage, noAccessPage } from './pages.ts';
import { redirect } from './redirect.ts';
import { isClaimed, isRegistered, policySourceOf, redirectFault, withParameters } from './redirect-uris.ts';
import { type AuthorizationRequest, type Fault, type Parameters, readParameters, readRequest } from './request.ts';
import type { SignIn } from './sign-in.ts';
import { readForm } from './token-endpoint.ts';
import type { Visitor, Visitors } from './visitors.ts';

export interface AuthorizeDeps {
  readonly db: Db;
  readonly clients: Pick<Clients, 'find'>;
  readonly grants: Pick<Grants, 'begin' | 'remembered'>;
  readonly servers: Pick<McpServers, 'find'>;
  readonly sessions: Pick<Sessions, 'end' | 'endCookie'>;
  readonly visitors: Visitors;
  readonly signIn: Pick<SignIn, 'show'>;
  readonly publicUrl: () => string;
  readonly refreshDays: number;
}

/** What a consent form brings back. */
interface Asked {
  readonly request: AuthorizationRequest;
  readonly client: Pick<Client, 'id' | 'name' | 'isRenewable'>;
  /** The query it began with, to begin again with. */
  readonly search: string;
}

/** Where an answer goes. */
type Returning = Pick<AuthorizationRequest, 'redirectUri' | 'state'>;

/** What the user may let the client use. */
interface Reach {
  readonly server: { readonly id: string; readonly name: string; readonly workspace: string } | null;
  readonly places: readonly Place[];
}

/** What the user lets the client use. */
interface Choice extends Pick<Reach, 'server'> {
  readonly place: Place;
}

const LONGEST_QUERY = 8_192;
const PURPOSE = 'consent';
const DENIED: Fault = { error: 'access_denied', description: 'The user did not allow it' };

/** How a client gets a code: the request is checked, the user signs in, and consents. */
export function createAuthorize(deps: AuthorizeDeps) {
  const { clients, grants, visitors, signIn, publicUrl } = deps;

  const answer = (call: AnonymousCall, to: Returning, said: Readonly<Record<string, string>>): Response =>
    redirect(call, withParameters(to.redirectUri, { ...said, state: to.state, iss: publicUrl() }));
  const answerFault = (call: AnonymousCall, to: Returning, { error, description }: Fault): Response =>
    answer(call, to, { error, error_description: description.replace(/[^\x20-\x7e]|["\\]/g, "'") });

  /** Nothing when there is no such server, or none for this user: they look alike. */
  const reachOf = async ({ slug }: AuthorizationRequest['resource'], userId: string): Promise<Reach | null> => {
    const places = await placesOf(deps.db, userId);
    if (slug === null) return places.length > 0 ? { server: null, places } : null;
    const server = await deps.servers.find(slug);
    const place = server && places.find(({ id }) => id === server.workspaceId);
    return place ? { server: { id: server.id, name: server.name, workspace: place.name }, places: [place] } : null;
  };

  /** The workspace for which the user has allowed the same before, and still may. */
  const remembered = async (asked: Asked, { userId }: Visitor, { server, places }: Reach): Promise<Choice | null> => {
    const { request, client } = asked;
    const { redirectUri, scope, resource, asksAnew } = request;
    if (asksAnew || !isClaimed(redirectUri)) return null;
    const found = await grants.remembered({ userId, client, resource: resource.uri, scope, redirectUri });
    const place = places.find(({ id }) => id === found);
    return place ? { place, server } : null;
  };

  const allow = async (
    call: AnonymousCall,
    { request, client }: Asked,
    { userId }: Visitor,
    { place, server }: Choice,
  ): Promise<Response> => {
    const { redirectUri, scope, challenge, resource } = request;
    const code = await grants.begin(
      {
        userId,
        workspaceId: place.id,
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

  const ask = async (call: AnonymousCall, asked: Asked, client: Client, visitor: Visitor): Promise<Response> => {
    const { redirectUri, resource } = asked.request;
    const reach = await reachOf(resource, visitor.userId);
    const ticket = visitors.ticketFor(PURPOSE, visitor.session, asked);
    const view = { ticket, client, redirectUri, email: visitor.email, resource: resource.uri };
    if (!reach) return noAccessPage(view);
    const choice = await remembered(asked, visitor, reach);
    if (choice) return allow(call, asked, visitor, choice);
    return consentPage({
      ...view,
      server: reach.server,
      places: reach.server ? [] : reach.places,
      isRenewable: client.isRenewable,
      refreshDays: deps.refreshDays,
    });
  };

  /** The workspace of the server, or the one that was chosen. */
  const choiceOf = async ({ request }: Asked, { userId }: Visitor, named: string | undefined): Promise<Choice> => {
    const reach = await reachOf(request.resource, userId);
    const place = reach?.server ? reach.places[0] : reach?.places.find(({ id }) => id === named);
    if (!reach || !place)
      return fail('authorization_refused', 'you may not call this server, or chose no workspace for it');
    return { place, server: reach.server };
  };

  return {
    async begin(call: AnonymousCall): Promise<Response> {
      const { search } = call;
      if (search.length > LONGEST_QUERY) fail('authorization_refused', `it is longer than ${LONGEST_QUERY} characters`);
      const parameters = readParameters(search);
      const { clientId, redirectUri } = placeIn(parameters);
      const visitor = await visitors.visitorOf(call.headers);
      const client = await clients.find(clientId, { mayFetch: visitor !== null });
      const journey = { returnTo: `/oauth/authorize${search}`, formTargets: [policySourceOf(redirectUri)] };
      if (!client) return signIn.show(call, journey);
      if (!isRegistered(redirectUri, client.redirectUris))
        fail(
          'authorization_refused',
          `its redirect_uri ${redirectUri.slice(0, 200)} is none of those it has registered`,
        );
      // RFC 9700 section 4.11.2: whoever is sent on, be it with an error, has signed in. We are nobody's signpost.
      if (!visitor) return signIn.show(call, journey);
      const request = readRequest(parameters, { clientId, redirectUri, publicUrl: publicUrl() });
      if ('error' in request)
        return answerFault(call, { redirectUri, state: parameters.values.get('state') ?? null }, request);
      const { id, name, isRenewable } = client;
      return ask(call, { request, client: { id, name, isRenewable }, search }, client, visitor);
    },

    async decide(call: AnonymousCall): Promise<Response> {
      visitors.checkOrigin(call.headers);
      const visitor = (await visitors.visitorOf(call.headers)) ?? fail('page_expired');
      const { organisationId, workspaceId } = visitor.principal;
      call.identify({ organisationId, workspaceId, keyId: null, userId: visitor.userId });
      const form = await readForm(call.request);
      const asked = visitors.openTicket<Asked>(PURPOSE, visitor.session, form.get('ticket'));
      switch (form.get('decision')) {
        case 'allow':
          return allow(call, asked, visitor, await choiceOf(asked, visitor, form.get('workspace')));
        case 'deny':
          return answerFault(call, asked.request, DENIED);
        case 'switch':
          await deps.sessions.end({ ...visitor.principal, witness: call.witness });
          return redirect(call, `/oauth/authorize${asked.search}`, { 'set-cookie': deps.sessions.endCookie() });
        default:
          return fail('authorization_refused', 'decision must be allow or deny');
      }
    },
  };
}

/** Client and address: whatever is wrong with them is told to the user, and nobody is sent anywhere. */
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
