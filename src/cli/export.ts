import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import type { Settings } from '../settings.ts';
import { readArguments } from './arguments.ts';
import { readState } from './exporting/state.ts';
import { openInstallation } from './installation.ts';

export const EXPORT_USAGE = `gateway export [--out file.yaml]

Writes what the database holds as a file for gateway apply: rules of the organisation, workspaces, virtual keys, configs, API
keys, limits and policies. Secrets are not in it: it refers to variables of the environment, and API keys are there by their hash.

  --out       the file to write, which must not be there yet; without it the text is printed
`;

const options = { out: { type: 'string' } } as const;

export async function exportState(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values } = readArguments(rest, { options, positionals: 0, usage: EXPORT_USAGE });
  if (!settings.databaseUrl && !existsSync(join(settings.dataDir, 'state.db')))
    throw new Error(
      `There is no database in ${settings.dataDir}; set GATEWAY_DATA_DIR or DATABASE_URL as the gateway has it.`,
    );
  const path = values.out === undefined ? null : resolve(values.out);
  if (path !== null && existsSync(path)) throw new Error(`${path} is there already; give --out another name.`);
  const installation = await openInstallation(settings, { isDryRun: true });
  try {
    const { file, variables, leftOut } = await readState(installation);
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
  } finally {
    await installation.close();
  }
}
