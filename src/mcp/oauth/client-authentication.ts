import { fail, GatewayError } from '../../core/errors.ts';
import { type Apps, isAppId } from './apps.ts';
import type { Form } from './token-endpoint.ts';

/** What a client says that it is, and how it proves it. */
interface Shown {
  readonly id: string;
  readonly secret: string | null;
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;

/**
 * The client that asks at the token endpoint (RFC 6749 section 2.3): one with a secret shows it, in the header or in the
 * form; one without shows none, and PKCE proves that it is the same that began.
 */
export async function clientOf(form: Form, authorization: string | null, apps: Pick<Apps, 'fault'>): Promise<string> {
  try {
    const { id, secret } = shownIn(form, authorization);
    const fault = isAppId(id)
      ? await apps.fault(id, secret)
      : secret !== null
        ? 'it has no secret, and sent one'
        : null;
    return fault === null ? id : fail('oauth_invalid_client', fault);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'oauth_invalid_client') throw error;
    throw authorization === null ? error : error.with({ 'www-authenticate': 'Basic realm="gateway"' });
  }
}

function shownIn(form: Form, authorization: string | null): Shown {
  const [named, secret] = [form.get('client_id'), form.get('client_secret') ?? null];
  if (authorization === null) return { id: named ?? fail('oauth_invalid_client', 'client_id is missing'), secret };
  const basic = readBasic(authorization);
  if (secret !== null && basic.secret !== null)
    fail('oauth_invalid_request', 'client_secret', 'is given twice, in the header Authorization and in the form');
  if (named !== undefined && named !== basic.id)
    fail('oauth_invalid_client', 'client_id is not the one of the header Authorization');
  return { id: basic.id, secret: basic.secret ?? secret };
}

/** Both parts are encoded like those of a form (RFC 6749 section 2.3.1). An empty secret is none. */
function readBasic(authorization: string): Shown {
  const text = Buffer.from(BASIC.exec(authorization)?.[1] ?? '', 'base64').toString();
  const [, id, secret] = /^([^:]+):(.*)$/s.exec(text) ?? [];
  if (id === undefined || secret === undefined)
    return fail('oauth_invalid_client', 'the header Authorization must be Basic, with id and secret');
  return { id: decoded(id), secret: secret === '' ? null : decoded(secret) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return fail('oauth_invalid_client', 'id and secret in the header Authorization must be form-encoded');
  }
}
