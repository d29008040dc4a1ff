import { fail } from '../../core/errors.ts';
import { readBytes } from '../../http/input.ts';
import { json } from '../../http/reply.ts';
import type { AnonymousCall } from '../../http/route.ts';
import { resourceIn } from '../server/resources.ts';
import type { Grants, Tokens } from './grants.ts';
import { readParameters } from './request.ts';
import { isVerifier } from './secrets.ts';

export interface TokenEndpointDeps {
  readonly grants: Grants;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

const MOST_BYTES = 64 << 10;

type Form = ReadonlyMap<string, string>;

/** Where clients get, renew and end their tokens. */
export function createTokenEndpoint({ grants, publicUrl, now }: TokenEndpointDeps) {
  const resourceOf = (form: Form): string | null => {
    const given = form.get('resource');
    if (given === undefined) return null;
    return resourceIn(publicUrl(), given)?.uri ?? fail('oauth_invalid_target', 'is none of this server');
  };
  const tokensFor = (form: Form): Promise<Tokens> => {
    const type = needed(form, 'grant_type');
    if (type !== 'authorization_code' && type !== 'refresh_token')
      return fail('oauth_unsupported_grant_type', type.slice(0, 80));
    const clientId = clientOf(form);
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
    async token({ request }: AnonymousCall): Promise<Response> {
      const { accessToken, refreshToken, expiresAt, scope } = await tokensFor(await readForm(request));
      return unstored({
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: Math.max(0, Math.floor((expiresAt - now()) / 1_000)),
        ...(refreshToken !== null && { refresh_token: refreshToken }),
        scope,
      });
    },

    /** RFC 7009: one that is unknown counts as ended. */
    async revoke({ request }: AnonymousCall): Promise<Response> {
      const form = await readForm(request);
      const token = needed(form, 'token');
      if (!(await grants.revoke(token, clientOf(form))))
        fail('oauth_invalid_client', 'the token was issued to another');
      return unstored({});
    },
  };
}

const clientOf = (form: Form): string => form.get('client_id') ?? fail('oauth_invalid_client', 'client_id is missing');

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
