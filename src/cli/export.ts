import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { type ExportedState, readState } from '../desired/state.ts';
import type { Settings } from '../settings.ts';
import { readArguments } from './arguments.ts';
import { openInstallation } from './installation.ts';
import { type Remote, remoteFor, remoteOptions } from './remote.ts';

export const EXPORT_USAGE = `gateway export [--out file.yaml] [--url <address> [--key-file <file>] [--plain-http]]

Writes what the database holds as a file for gateway apply: rules of the organisation, workspaces, virtual keys, configs, API
keys, limits and policies. Secrets are not in it: it refers to variables of the environment, and API keys are there by their hash.

  --out               the file to write, which must not be there yet; without it the text is printed
  --url <address>     over HTTP, from a gateway that runs. Without it, the database itself is opened.
  --key-file <file>   the file that holds the key for it; else GATEWAY_ADMIN_KEY, or where you have signed in
  --plain-http        with --url: send the key in clear to another machine
`;

const options = { out: { type: 'string' }, ...remoteOptions } as const;

export async function exportState(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values } = readArguments(rest, { options, positionals: 0, usage: EXPORT_USAGE });
  const remote = remoteFor(settings, values, EXPORT_USAGE);
  const path = values.out === undefined ? null : resolve(values.out);
  if (path !== null && existsSync(path)) throw new Error(`${path} is there already; give --out another name.`);
  const { file, variables, leftOut } = remote ? await askFor(remote) : await readHere(settings);
  const text = stringify(file, { lineWidth: 0 });
  if (path === null) process.stdout.write(text);
  else writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
  const lines = [
    ...(path === null ? [] : [`Written to ${path}.`]),
    ...leftOut.map((what) => `Left out: ${what}.`),
    ...(variables.length > 0
      ? [`gateway apply reads these secrets from its environment: ${variables.join(', ')}.`]
      : []),
  ];
  if (lines.length > 0) console.error(lines.join('\n'));
}

async function askFor({ call }: Remote): Promise<ExportedState> {
  const { file, variables, left_out } = await call<Omit<ExportedState, 'leftOut'> & { left_out: string[] }>(
    'GET',
    '/v1/admin/export',
  );
  return { file, variables, leftOut: left_out };
}

async function readHere(settings: Settings): Promise<ExportedState> {
  if (!settings.databaseUrl && !existsSync(join(settings.dataDir, 'state.db')))
    throw new Error(
      `There is no database in ${settings.dataDir}; set GATEWAY_DATA_DIR or DATABASE_URL as the gateway has it, or name a running gateway with --url.`,
    );
  const installation = await openInstallation(settings, { isDryRun: true });
  try {
    return await readState(installation);
  } finally {
    await installation.close();
  }
}
