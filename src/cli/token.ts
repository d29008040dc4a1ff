import type { Settings } from '../settings.ts';
import { readArguments } from './arguments.ts';
import { credentialOf } from './device-login.ts';
import { readLogin } from './login-file.ts';

const USAGE = `gateway token

Prints what "gateway login" calls with, and nothing else: a token, renewed when it ends soon, or the key that was kept. For
programs that ask a command for their credential, such as Codex:

  [model_providers.gateway.auth]
  command = "gateway"
  args = ["token"]
`;

export async function token(_settings: Settings, rest: readonly string[]): Promise<void> {
  readArguments(rest, { options: {}, positionals: 0, usage: USAGE });
  const login = readLogin();
  if (!login) throw new Error('You are not signed in. Sign in with "gateway login --url <address>".');
  console.log(await credentialOf(login));
}
