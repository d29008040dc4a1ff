import type { Logins, LoginTokens } from '../../auth/logins/logins.ts';
import { isLoginToken } from '../../auth/logins/tokens.ts';
import { fail } from '../../core/errors.ts';
import { headerOf } from '../../http/headers.ts';
import { readBytes } from '../../http/input.ts';
import { json } from '../../http/reply.ts';
import type { AnonymousCall } from '../../http/route.ts';
import { resourceIn } from '../server/resources.ts';
import type { Apps } from './apps.ts';
import { clientOf } from './client-authentication.ts';
import type { Grants, Tokens } from './grants.ts';
import { DEVICE_GRANT } from './paths.ts';
import { readParameters } from './request.ts';
import { isVerifier } from './secrets.ts';

export interface TokenEndpointDeps {
  readonly grants: Grants;
  readonly apps: Pick<Apps, 'fault'>;
  readonly logins: Pick<Logins, 'redeem' | 'refresh' | 'revoke'>;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

const MOST_BYTES = 64 << 10;

export type Form = ReadonlyMap<string, string>;

/** Where clients get, renew and end their tokens. */
export function createTokenEndpoint({ grants, logins, apps, publicUrl, now }: TokenEndpointDeps) {
  const resourceOf = (form: Form): string | null => {
    const given = form.get('resource');
    if (given === undefined) return null;
    return resourceIn(publicUrl(), given)?.uri ?? fail('oauth_invalid_target', 'is none of this server');
  };
  const tokensFor = async (form: Form, authorization: string | null): Promise<Tokens | LoginTokens> => {
    const type = needed(form, 'grant_type');
    if (type === DEVICE_GRANT) return logins.redeem(needed(form, 'device_code'), form.get('client_id') ?? null);
    if (type === 'refresh_token' && isLoginToken(form.get('refresh_token') ?? ''))
      return logins.refresh(needed(form, 'refresh_token'));
    if (type !== 'authorization_code' && type !== 'refresh_token')
      return fail('oauth_unsupported_grant_type', type.slice(0, 80));
    const clientId = await clientOf(form, authorization, apps);
    const resource = resourceOf(form);
    if (type === 'refresh_token') return grants.refresh({ token: needed(form, 'refresh_token'), clientId, resource });
    const verifier = needed(form, 'code_verifier');
    if (!isVerifier(verifier))
      fail('oauth_invalid_request', 'code_verifier', 'must have 43 to 128 letters, digits, or - . _ ~');
    return grants.redeem({
      code: needed(form, 'code'),
      clientId,
      redirectUri: needed(form, 'redirect_uri'),
      verifier,
      resource,
    });
  };

  return {
    async token({ request, headers }: AnonymousCall): Promise<Response> {
      const tokens = await tokensFor(await readForm(request), headerOf(headers, 'authorization'));
      const { accessToken, refreshToken, expiresAt } = tokens;
      return unstored({
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: Math.max(0, Math.floor((expiresAt - now()) / 1_000)),
        ...(refreshToken !== null && { refresh_token: refreshToken }),
        ...('scope' in tokens && { scope: tokens.scope }),
      });
    },

    /** RFC 7009: one that is unknown counts as ended. */
    async revoke({ request, headers }: AnonymousCall): Promise<Response> {
      const form = await readForm(request);
      const token = needed(form, 'token');
      if (isLoginToken(token)) await logins.revoke(token);
      else if (!(await grants.revoke(token, await clientOf(form, headerOf(headers, 'authorization'), apps))))
        fail('oauth_invalid_client', 'the token was issued to another');
      return unstored({});
    },
  };
}

const needed = (form: Form, name: string): string =>
  form.get(name) ?? fail('oauth_invalid_request', name, 'is missing');

/** The fields of a form; one that is given twice is refused. */
export async function readForm(request: Request): Promise<Form> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/x-www-form-urlencoded\b/i.test(type))
    fail('oauth_invalid_request', 'content-type', 'must be application/x-www-form-urlencoded');
  const { values, repeated } = readParameters(new TextDecoder().decode(await readBytes(request, MOST_BYTES)));
  const [twice] = repeated;
  if (twice !== undefined) fail('oauth_invalid_request', twice.slice(0, 80), 'is given twice');
  return values;
}

/** RFC 6749 section 5.1. */
function unstored(value: unknown): Response {
  const answer = json(value);
  answer.headers.set('cache-control', 'no-store');
  return answer;
}
