import type { Oidc } from '../../auth/oidc.ts';
import { organisationName } from '../../auth/organisation.ts';
import type { Sessions } from '../../auth/sessions.ts';
import { fail, GatewayError } from '../../core/errors.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Db } from '../../storage/store.ts';
import type { Browsers } from './browsers.ts';
import { type AskingApplication, signInPage } from './pages.ts';
import { redirect } from './redirect.ts';
import { readParameters } from './request.ts';
import { readForm } from './token-endpoint.ts';

export interface SignInDeps {
  readonly db: Db;
  readonly sessions: Pick<Sessions, 'signIn' | 'cookie'>;
  /** Null: people have passwords only. */
  readonly provider: { readonly oidc: Pick<Oidc, 'begin'>; readonly host: string } | null;
  readonly browsers: Browsers;
}

/** Where a user goes after signing in. */
interface SignInDestination {
  readonly returnTo: string;
  /** Where that may lead in turn. */
  readonly formTargets: readonly string[];
  /** Which asks for it. */
  readonly application?: AskingApplication;
}

/** The pages that send people here. */
const RETURN_TO = /^\/oauth\/(?:authorize\?|device$|device\?)[\x21-\x7e]*$/;
/** On the way through the identity provider it is kept in a cookie, and these have 4 KiB. */
const LONGEST_THROUGH_PROVIDER = 2_500;
const LONGEST_EMAIL = 320;
const LONGEST_PASSWORD = 1_024;
const PURPOSE = 'sign-in';
const REFUSED = new Set(['sign_in_failed', 'too_many_sign_ins', 'sign_in_busy']);

/** Signing in on a page of the gateway's own, with a password or through the identity provider. */
export function createSignIn({ db, sessions, provider, browsers }: SignInDeps) {
  const show = async (
    call: AnonymousCall,
    destination: SignInDestination,
    more: { email?: string; problem?: GatewayError } = {},
  ): Promise<Response> => {
    const { visit, cookie } = browsers.visitOf(call.headers);
    const ticket = browsers.ticketFor(PURPOSE, visit, destination);
    const isShort = destination.returnTo.length <= LONGEST_THROUGH_PROVIDER;
    const link = `/oauth/sign-in/provider?return_to=${encodeURIComponent(destination.returnTo)}`;
    return signInPage({
      ...more,
      ticket,
      cookie,
      formTargets: destination.formTargets,
      organisation: await organisationName(db),
      application: destination.application ?? null,
      provider: provider && isShort ? { host: provider.host, link } : null,
    });
  };
  const returnToIn = ({ search }: AnonymousCall): string => {
    const path = readParameters(search).values.get('return_to') ?? '';
    return RETURN_TO.test(path) ? path : fail('authorization_refused', 'return_to is no page of the gateway');
  };

  return {
    show,

    async submit(call: AnonymousCall): Promise<Response> {
      browsers.checkOrigin(call.headers);
      const form = await readForm(call.request);
      const { visit } = browsers.visitOf(call.headers);
      const destination = browsers.openTicket<SignInDestination>(PURPOSE, visit, form.get('ticket'));
      const email = form.get('email') ?? '';
      const password = form.get('password') ?? '';
      try {
        if (email.length > LONGEST_EMAIL || password.length > LONGEST_PASSWORD) fail('sign_in_failed');
        const from = { address: call.clientAddress, witness: call.witness };
        const made = await sessions.signIn({ email, password }, from, (found) =>
          call.identify({ organisationId: found.organisation_id, workspaceId: '', keyId: null, userId: found.id }),
        );
        return redirect(call, destination.returnTo, { 'set-cookie': sessions.cookie(made.token) });
      } catch (error) {
        if (error instanceof GatewayError && REFUSED.has(error.code))
          return show(call, destination, { email, problem: error });
        throw error;
      }
    },

    async throughProvider(call: AnonymousCall): Promise<Response> {
      const returnTo = returnToIn(call);
      const { oidc } = provider ?? fail('oidc_not_configured');
      const { location, cookie } = await oidc.begin(returnTo);
      return redirect(call, location, { 'set-cookie': cookie });
    },
  };
}

export type SignIn = ReturnType<typeof createSignIn>;
