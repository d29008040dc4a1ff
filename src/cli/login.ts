import type { Settings } from '../settings.ts';
import { readArguments, UsageError } from './arguments.ts';
import { endLogin, signInByBrowser } from './device-login.ts';
import { loginFile, readLogin, removeLogin, writeLogin } from './login-file.ts';
import { addressOf, ownAddress } from './remote.ts';

const USAGE = `gateway login --url <address> [--browser | --key]

Signs in at a gateway, for "gateway token", "gateway keys" and "gateway logs". At a terminal it shows a code, and you let it in
with a browser. With an input that is no terminal, or with --key, it keeps a key instead:

  gateway login --url https://gateway.example.com < key-file

  --url <address>   where the gateway is; http://127.0.0.1 with its PORT unless given
  --browser         sign in with a browser, also where the input is no terminal
  --key             keep a key: asks for it, or reads it from the input
`;

const LOGOUT_USAGE = `gateway logout

Forgets what "gateway login" has kept, and ends it at the gateway.
`;

export async function login(settings: Settings, rest: readonly string[]): Promise<void> {
  const options = { url: { type: 'string' }, browser: { type: 'boolean' }, key: { type: 'boolean' } } as const;
  const { values } = readArguments(rest, { options, positionals: 0, usage: USAGE });
  const url = addressOf(values.url ?? ownAddress(settings));
  if (values.browser && values.key) throw new UsageError(`Give --browser or --key, not both.\n\n${USAGE}`);
  if (values.browser || (process.stdin.isTTY && !values.key)) {
    const tokens = await signInByBrowser(url, (line) => console.error(line));
    writeLogin({ url, tokens });
    console.log(`Signed in at ${url}; kept in ${loginFile()}.`);
    return;
  }
  const key = (process.stdin.isTTY ? prompt('Key:') : await Bun.stdin.text())?.trim();
  if (!key) throw new UsageError(`No key was given.\n\n${USAGE}`);
  await refuseWrongKey(url, key);
  writeLogin({ url, key });
  console.log(`Signed in at ${url}; kept in ${loginFile()}.`);
}

export async function logout(_settings: Settings, rest: readonly string[]): Promise<void> {
  readArguments(rest, { options: {}, positionals: 0, usage: LOGOUT_USAGE });
  const login = readLogin();
  removeLogin();
  if (login) await endLogin(login);
  console.log(login ? `Signed out of ${login.url}.` : 'You were not signed in.');
}

/** A key that may do nothing else is told that it may not, and not that it is unknown. */
async function refuseWrongKey(url: string, key: string): Promise<void> {
  let response: Response;
  try {
    response = await fetch(`${url}/v1/logs?limit=1`, { redirect: 'error', headers: { 'x-gateway-api-key': key } });
  } catch (error) {
    throw new Error(`No gateway answers at ${url} (${(error as Error).message}).`);
  }
  if (response.status === 401) throw new Error(`${url} does not know this key.`);
  if (!response.headers.has('x-gateway-request-id')) throw new Error(`What answers at ${url} is no gateway.`);
}
