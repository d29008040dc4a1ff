import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** What a person got who signed in with a browser. */
export interface Tokens {
  readonly access: string;
  readonly refresh: string;
  readonly expires_at: number;
}

/** Where commands of this user go, and with what: a key, or tokens. */
export type Login = { readonly url: string } & (
  | { readonly key: string; readonly tokens?: undefined }
  | { readonly tokens: Tokens; readonly key?: undefined }
);

export const loginFile = (): string =>
  join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'gateway', 'login.json');

/** Null: this user has not signed in. */
export function readLogin(): Login | null {
  let text: string;
  try {
    text = readFileSync(loginFile(), 'utf8');
  } catch {
    return null;
  }
  try {
    const { url, key, tokens } = JSON.parse(text) as Partial<Login>;
    if (typeof url === 'string' && typeof key === 'string') return { url, key };
    if (typeof url === 'string' && tokens && typeof tokens.access === 'string' && typeof tokens.refresh === 'string')
      return { url, tokens };
  } catch {
    // Said below.
  }
  throw new Error(`${loginFile()} is damaged; sign in again with "gateway login", or delete it.`);
}

/** Only its owner may read it. It takes the place of an older one in one step. */
export function writeLogin(login: Login): void {
  const file = loginFile();
  const made = `${file}.${process.pid}`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(made, `${JSON.stringify(login)}\n`, { mode: 0o600 });
  chmodSync(made, 0o600);
  renameSync(made, file);
}

export const removeLogin = (): void => rmSync(loginFile(), { force: true });
