import { basename, dirname, extname, resolve } from 'node:path';
import { DEFAULT_WORKSPACE } from '../auth/workspaces.ts';
import { createFindings } from '../desired/reading/findings.ts';
import { readSource } from '../desired/reading/source.ts';
import type { Settings } from '../settings.ts';
import { readArguments, UsageError } from './arguments.ts';
import { importAll } from './import-end.ts';
import { readPortkey } from './portkey/portkey.ts';
import { refuseFaults } from './report.ts';

export const PORTKEY_USAGE = `gateway import portkey --file export.json [--workspace slug] [--virtual-keys-only] [--skip-faults]
                       [--dry-run]

Takes over Portkey's configs and virtual keys: {"virtual_keys": […], "configs": […]}, a list of configs, or one config.
Exports hold no secrets; write the key of each virtual key as env:NAME or file:PATH. Credentials inside configs become
virtual keys.

  --file               the export
  --workspace          where they go; default: default
  --virtual-keys-only  leave the configs out
  --skip-faults        take over what is right, and list the rest with its reasons
  --dry-run            show what would be done and change nothing
`;

const options = {
  file: { type: 'string' },
  workspace: { type: 'string', default: DEFAULT_WORKSPACE },
  'virtual-keys-only': { type: 'boolean', default: false },
  'skip-faults': { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
} as const;

export async function importPortkey(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values } = readArguments(rest, { options, positionals: 0, usage: PORTKEY_USAGE });
  if (!values.file) throw new UsageError(`--file is missing.\n\n${PORTKEY_USAGE}`);
  const reading = createFindings();
  const path = resolve(values.file);
  const source = readSource(path, reading);
  if (refuseFaults(reading) || !source) return;
  const { environment } = settings;
  const file = { source, environment, folder: dirname(path), fallback: basename(path, extname(path)) };
  const { desired, findings } = await readPortkey(file, settings, {
    workspace: values.workspace,
    skipsFaults: values['skip-faults'],
    virtualKeysOnly: values['virtual-keys-only'],
  });
  const isDryRun = values['dry-run'];
  await importAll(
    settings,
    desired,
    { ...findings, notes: [...reading.notes, ...findings.notes] },
    { from: 'portkey', isDryRun, place: source.placeOf([]) },
  );
}
