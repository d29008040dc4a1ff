import type { DeviceCodes } from '../../auth/logins/device-codes.ts';
import type { Logins } from '../../auth/logins/logins.ts';
import { shownUserCode } from '../../auth/logins/tokens.ts';
import type { Sessions } from '../../auth/sessions.ts';
import { fail, GatewayError } from '../../core/errors.ts';
import { readBytes } from '../../http/input.ts';
import { json } from '../../http/reply.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Browsers, SignedInUser } from './browsers.ts';
import { shownName } from './client.ts';
import { allowPage, askCodePage, decidedPage, noPlacePage } from './device-pages.ts';
import { DEVICE_PAGE } from './paths.ts';
import { redirect } from './redirect.ts';
import { readParameters } from './request.ts';
import type { SignIn } from './sign-in.ts';
import { type Form, readForm } from './token-endpoint.ts';

export interface DeviceDeps {
  readonly codes: Pick<DeviceCodes, 'begin' | 'find' | 'deny'>;
  readonly logins: Pick<Logins, 'places' | 'allow'>;
  readonly sessions: Pick<Sessions, 'end' | 'endCookie'>;
  readonly browsers: Browsers;
  readonly signIn: Pick<SignIn, 'show'>;
  readonly publicUrl: () => string;
  readonly refreshDays: number;
}

/** What a form brings back. */
interface Asked {
  readonly hash: string;
  readonly userCode: string;
  readonly clientName: string;
}

const PURPOSE = 'device';
const LONGEST_CLIENT = 80;

/** How a program that has no browser is let in (RFC 8628): it shows a code, and a person types it into this page. */
export function createDevice(deps: DeviceDeps) {
  const { codes, logins, browsers, signIn, publicUrl } = deps;
  const pageFor = (userCode: string | null): string =>
    userCode === null ? DEVICE_PAGE : `${DEVICE_PAGE}?user_code=${encodeURIComponent(userCode)}`;

  const ask = async (call: AnonymousCall, user: SignedInUser, typed: string): Promise<Response> => {
    const row = await codes.find(typed, { userId: user.userId, address: call.clientAddress });
    const userCode = shownUserCode(row.user_code);
    const clientName = shownName({ redirect_uris: [], client_name: row.client_id ?? '' }, 'A program without a name');
    const asked: Asked = { hash: row.hash, userCode, clientName };
    const view = { ticket: browsers.ticketFor(PURPOSE, user.session, asked), email: user.email };
    const places = await logins.places(user.userId);
    if (places.length === 0) return noPlacePage(view);
    return allowPage({ ...view, userCode, clientName, places, refreshDays: deps.refreshDays });
  };

  return {
    /** What a program asks first. */
    async begin({ request }: AnonymousCall): Promise<Response> {
      const form = await readPossibleForm(request);
      const clientId = form.get('client_id') ?? null;
      if (clientId !== null && clientId.length > LONGEST_CLIENT)
        fail('oauth_invalid_request', 'client_id', `has more than ${LONGEST_CLIENT} characters`);
      const { deviceCode, userCode, seconds, pauseSeconds } = await codes.begin(clientId);
      const shown = shownUserCode(userCode);
      const answer = json({
        device_code: deviceCode,
        user_code: shown,
        verification_uri: `${publicUrl()}/device`,
        verification_uri_complete: `${publicUrl()}/device?user_code=${shown}`,
        expires_in: seconds,
        interval: pauseSeconds,
      });
      answer.headers.set('cache-control', 'no-store');
      return answer;
    },

    /** The address is short to type; the page lies where its cookies are. */
    enter: async (call: AnonymousCall): Promise<Response> => redirect(call, pageFor(codeIn(call))),

    async show(call: AnonymousCall): Promise<Response> {
      const done = readParameters(call.search).values.get('done');
      if (done === 'allowed' || done === 'denied') return decidedPage(done);
      const typed = codeIn(call);
      const user = await browsers.userOf(call.headers);
      if (!user) return signIn.show(call, { returnTo: pageFor(typed), formTargets: [] });
      if (typed === null) return askCodePage({ email: user.email });
      try {
        return await ask(call, user, typed);
      } catch (error) {
        if (error instanceof GatewayError && error.code === 'device_code_unknown')
          return askCodePage({ email: user.email, problem: error });
        throw error;
      }
    },

    async decide(call: AnonymousCall): Promise<Response> {
      browsers.checkOrigin(call.headers);
      const user = (await browsers.userOf(call.headers)) ?? fail('page_expired');
      const { organisationId } = user.principal;
      const form = await readForm(call.request);
      const { hash, userCode, clientName } = browsers.openTicket<Asked>(PURPOSE, user.session, form.get('ticket'));
      const workspaceId = form.get('workspace') ?? '';
      call.identify({ organisationId, workspaceId: '', keyId: null, userId: user.userId });
      switch (form.get('decision')) {
        case 'allow':
          await logins.allow(
            { codeHash: hash, clientName, userId: user.userId, workspaceId },
            { witness: call.witness },
          );
          return redirect(call, `${DEVICE_PAGE}?done=allowed`);
        case 'deny':
          await codes.deny(hash);
          return redirect(call, `${DEVICE_PAGE}?done=denied`);
        case 'switch':
          await deps.sessions.end({ ...user.principal, witness: call.witness });
          return redirect(call, pageFor(userCode), { 'set-cookie': deps.sessions.endCookie() });
        default:
          return fail('login_refused', 'decision must be allow or deny');
      }
    },
  };
}

function codeIn({ search }: AnonymousCall): string | null {
  return readParameters(search).values.get('user_code')?.slice(0, LONGEST_CLIENT) ?? null;
}

/** Some programs send nothing at all. */
async function readPossibleForm(request: Request): Promise<Form> {
  if (request.headers.has('content-type')) return readForm(request);
  const bytes = await readBytes(request, 0);
  return bytes.length === 0 ? new Map() : fail('oauth_invalid_request', 'content-type', 'is missing');
}
