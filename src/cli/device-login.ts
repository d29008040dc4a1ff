import { hostname } from 'node:os';
import { type Login, loginFile, readLogin, type Tokens, writeLogin } from './login-file.ts';

/** Signing in with a browser: this program shows a code, and a person lets it in (RFC 8628). */

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** Between two calls of a script the token must not end. */
const MARGIN_MS = 120_000;

interface Asked {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

interface Issued {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
}

interface Answer<Body> {
  readonly status: number;
  readonly body: Partial<Body> & { readonly error?: unknown; readonly error_description?: string };
}

async function ask<Body>(url: string, path: string, form: Record<string, string>): Promise<Answer<Body>> {
  let response: Response;
  try {
    response = await fetch(url + path, { method: 'POST', redirect: 'error', body: new URLSearchParams(form) });
  } catch (error) {
    throw new Error(`No gateway answers at ${url} (${(error as Error).message}).`);
  }
  const body = (await response.json().catch(() => null)) as Answer<Body>['body'] | null;
  if (!body) throw new Error(`What answers at ${url} is no gateway.`);
  return { status: response.status, body };
}

const tokensIn = ({ access_token, refresh_token, expires_in }: Issued): Tokens => ({
  access: access_token,
  refresh: refresh_token,
  expires_at: Date.now() + expires_in * 1_000,
});

/** Waits until a person has let this program in. */
export async function signInByBrowser(url: string, say: (line: string) => void): Promise<Tokens> {
  const client_id = `gateway on ${hostname()}`.slice(0, 80);
  const { status, body } = await ask<Asked>(url, '/oauth/device_authorization', { client_id });
  const { device_code, user_code, verification_uri, verification_uri_complete, interval = 5 } = body;
  if (status !== 200 || !device_code || !verification_uri)
    throw new Error(body.error_description ?? `${url} does not let programs in by a code (it answered ${status}).`);
  say(`Open ${verification_uri_complete} in a browser,`);
  say(`or ${verification_uri} and type ${user_code}. Waiting …`);
  for (let pause = interval; ; ) {
    await Bun.sleep(pause * 1_000);
    const answer = await ask<Issued>(url, '/oauth/token', { grant_type: DEVICE_GRANT, device_code, client_id });
    if (answer.status === 200) return tokensIn(answer.body as Issued);
    if (answer.body.error === 'slow_down') pause += 5;
    else if (answer.body.error !== 'authorization_pending')
      throw new Error(answer.body.error_description ?? `${url} answered ${answer.status}.`);
  }
}

/**
 * What a login calls with, renewed when it ends soon. Two programs that renew at the same moment get the same tokens, so
 * that neither shuts the other out.
 */
export async function credentialOf(login: Login): Promise<string> {
  if (login.key !== undefined) return login.key;
  const { url } = login;
  // Another program may have renewed it meanwhile.
  const kept = readLogin();
  const tokens = kept?.url === url && kept.tokens ? kept.tokens : login.tokens;
  if (tokens.expires_at - Date.now() > MARGIN_MS) return tokens.access;
  const { status, body } = await ask<Issued>(url, '/oauth/token', {
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh,
  });
  if (status !== 200)
    throw new Error(
      `${body.error_description ?? `${url} answered ${status}.`} ("gateway login --url ${url}"; kept in ${loginFile()})`,
    );
  const renewed = tokensIn(body as Issued);
  writeLogin({ url, tokens: renewed });
  return renewed.access;
}

/** Ends it at the gateway, too; one that cannot be reached ends it by itself some weeks later. */
export async function endLogin({ url, tokens }: Login): Promise<void> {
  if (tokens) await ask(url, '/oauth/revoke', { token: tokens.refresh }).catch(() => {});
}
