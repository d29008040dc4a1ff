import { readFileSync } from 'node:fs';
import type { Settings } from '../settings.ts';
import { UsageError } from './arguments.ts';
import { adminKeyIn } from './data-dir.ts';
import { credentialOf } from './device-login.ts';
import { readLogin } from './login-file.ts';

/** A running gateway, and the key to call it with. */
export interface Remote {
  readonly url: string;
  /** Answers the parsed JSON; throws a sentence for people when there is none. */
  call<Answer>(method: string, path: string, body?: object): Promise<Answer>;
  /** Answers whatever came back; throws a sentence for people when no gateway answers. */
  send(path: string, init: RequestInit): Promise<Response>;
}

/** Where a command finds a gateway that runs. */
export const remoteOptions = {
  url: { type: 'string' },
  'key-file': { type: 'string' },
  'plain-http': { type: 'boolean', default: false },
} as const;

const NO_KEY =
  'The admin key is not known here: set GATEWAY_ADMIN_KEY, or GATEWAY_DATA_DIR as the gateway has it, or sign in with ' +
  '"gateway login --url <address>".';

/**
 * The gateway that a command speaks to: where the user has signed in, else the one of this machine with its admin key. A
 * key that was made on this machine is never sent to another one.
 */
export function remoteOf(settings: Settings, given: string | undefined): Remote {
  const login = readLogin();
  const url = given === undefined ? null : addressOf(given);
  if (login && (url === null || url === login.url)) return remoteAt(login.url, () => credentialOf(login));
  if (url !== null && !settings.adminKey && !LOOPBACK.test(url))
    throw new Error(`No key is known for ${url}. Set GATEWAY_ADMIN_KEY, or sign in with "gateway login --url ${url}".`);
  return localRemote(settings, url ?? undefined);
}

/** The gateway at an address, with the key that a file holds: of arguments others of this machine would see it. */
function remoteWithKeyIn(file: string, given: string): Remote {
  const url = addressOf(given);
  let key: string;
  try {
    key = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new Error(`The key file ${file} cannot be read (${(error as { code?: string }).code ?? 'unknown reason'}).`);
  }
  if (!/^[\x21-\x7e]{1,4096}$/.test(key))
    throw new Error(`The key file ${file} does not hold a key: one line of printable characters, no spaces.`);
  return remoteAt(url, async () => key);
}

/** On the way to another machine, strangers can read what goes over plain HTTP. */
function refuseInClear(given: string) {
  const url = addressOf(given);
  if (url.startsWith('http:') && !LOOPBACK.test(url))
    throw new Error(
      `${url} would get the key and the secrets of the file in clear. Give an https address, or say --plain-http where no stranger listens.`,
    );
}

/** Of commands that open the database themselves unless they are told where a gateway runs: null. */
export function remoteFor(
  settings: Settings,
  { url, 'key-file': keyFile, 'plain-http': plainHttp }: { url?: string; 'key-file'?: string; 'plain-http': boolean },
  usage: string,
): Remote | null {
  if (url === undefined) {
    const given = keyFile === undefined ? (plainHttp ? '--plain-http' : null) : '--key-file';
    if (given) throw new UsageError(`${given} stands beside --url, which says where the gateway is.\n\n${usage}`);
    return null;
  }
  if (!plainHttp) refuseInClear(url);
  return keyFile === undefined ? remoteOf(settings, url) : remoteWithKeyIn(keyFile, url);
}

/** For commands that need an application's key and no more: in a file, in GATEWAY_API_KEY, or as every other command. */
export function remoteForCaller(
  settings: Settings,
  { url, 'key-file': keyFile, 'plain-http': plainHttp }: { url?: string; 'key-file'?: string; 'plain-http': boolean },
): Remote {
  const key = settings.environment.GATEWAY_API_KEY?.trim();
  if (keyFile === undefined && !key) {
    if (url !== undefined && !plainHttp) refuseInClear(url);
    return remoteOf(settings, url);
  }
  const address = url ?? readLogin()?.url ?? ownAddress(settings);
  if (!plainHttp) refuseInClear(address);
  if (keyFile !== undefined) return remoteWithKeyIn(keyFile, address);
  if (!/^[\x21-\x7e]{1,4096}$/.test(key!))
    throw new Error('GATEWAY_API_KEY does not hold a key: printable characters, no spaces.');
  return remoteAt(addressOf(address), async () => key!);
}

/** With TLS, by the name in the certificate. */
export const ownAddress = ({ certificate, publicUrl, port }: Settings): string =>
  certificate ? publicUrl : `http://127.0.0.1:${port}`;

const LOOPBACK = /^https?:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?(?:\/|$)/;

/** The gateway of this machine, or the one at an address, with the operator's key. */
export function localRemote(settings: Settings, given: string | undefined): Remote {
  const url = given === undefined ? ownAddress(settings) : addressOf(given);
  const admin = adminKeyIn(settings.dataDir, settings.adminKey, { mayGenerate: false });
  if (!admin) throw new Error(NO_KEY);
  return remoteAt(url, async () => admin.key.reveal());
}

const remoteAt = (url: string, credential: () => Promise<string>): Remote => ({
  url,
  send: async (path, init) =>
    send(url, path, {
      ...init,
      redirect: 'error',
      headers: { ...(init.headers as Record<string, string>), 'x-gateway-api-key': await credential() },
    }),
  call: async <Answer>(method: string, path: string, body?: object) => {
    const response = await send(url, path, {
      method,
      redirect: 'error',
      headers: { 'x-gateway-api-key': await credential(), 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
    if (!response.ok || !answer) throw new Error(answer?.error?.message ?? `${url} answered ${response.status}.`);
    return answer as Answer;
  },
});

async function send(url: string, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url + path, init);
  } catch (error) {
    throw new Error(`No gateway answers at ${url} (${(error as Error).message}). Start it, or name it with --url.`);
  }
}

/** An address as it is kept: without a path's end. Throws a sentence for people when it is none. */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash)
    throw new Error(`"${text}" is no address of a gateway; give one such as https://gateway.example.com.`);
  return (url.origin + url.pathname).replace(/\/+$/, '');
}
