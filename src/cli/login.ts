import type { Settings } from '../settings.ts';
import { readArguments, UsageError } from './arguments.ts';
import { loginFile, readLogin, removeLogin, writeLogin } from './login-file.ts';
import { addressOf } from './remote.ts';

const USAGE = `gateway login --url <address>

Keeps the address of a gateway and a key for it, for "gateway keys" and "gateway logs". Asks for the key, or reads it from
its input:

  gateway login --url https://gateway.example.com < key-file

  --url <address>   where the gateway is; http://127.0.0.1 with its PORT unless given
`;

const LOGOUT_USAGE = `gateway logout

Forgets what "gateway login" has kept.
`;

export async function login(settings: Settings, rest: readonly string[]): Promise<void> {
  const options = { url: { type: 'string' } } as const;
  const { values } = readArguments(rest, { options, positionals: 0, usage: USAGE });
  const url = addressOf(values.url ?? `http://127.0.0.1:${settings.port}`);
  const key = (process.stdin.isTTY ? prompt('Key:') : await Bun.stdin.text())?.trim();
  if (!key) throw new UsageError(`No key was given.\n\n${USAGE}`);
  await refuseWrongKey(url, key);
  writeLogin({ url, key });
  console.log(`Signed in at ${url}; kept in ${loginFile()}.`);
}

export async function logout(_settings: Settings, rest: readonly string[]): Promise<void> {
  readArguments(rest, { options: {}, positionals: 0, usage: LOGOUT_USAGE });
  const { url } = readLogin() ?? {};
  removeLogin();
  console.log(url ? `Signed out of ${url}.` : 'You were not signed in.');
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
