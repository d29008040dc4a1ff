import { basename, dirname, extname, resolve } from 'node:path';
import { DEFAULT_WORKSPACE } from '../auth/workspaces.ts';
import type { Settings } from '../settings.ts';
import { refuseTwice } from './applying/file.ts';
import { readArguments, UsageError } from './arguments.ts';
import { type Desired, nothing } from './desired/desired.ts';
import { importAll } from './import-end.ts';
import { readConfig } from './portkey/configs.ts';
import { readVirtualKey } from './portkey/virtual-keys.ts';
import { createFindings } from './reading/findings.ts';
import { type Path, readSource } from './reading/source.ts';
import { refuseFaults } from './report.ts';

export const PORTKEY_USAGE = `gateway import portkey --file export.json [--workspace slug] [--virtual-keys-only] [--dry-run]

Takes over Portkey's configs and virtual keys: {"virtual_keys": […], "configs": […]}, a list of configs, or one config.
Exports hold no secrets; write the key of each virtual key as env:NAME or file:PATH.

  --file               the export
  --workspace          where they go; default: default
  --virtual-keys-only  leave the configs out
  --dry-run            show what would be done and change nothing
`;

const options = {
  file: { type: 'string' },
  workspace: { type: 'string', default: DEFAULT_WORKSPACE },
  'virtual-keys-only': { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
} as const;

export async function importPortkey(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values } = readArguments(rest, { options, positionals: 0, usage: PORTKEY_USAGE });
  if (!values.file) throw new UsageError(`--file is missing.\n\n${PORTKEY_USAGE}`);
  const findings = createFindings();
  const path = resolve(values.file);
  const source = readSource(path, findings);
  if (!source) return void refuseFaults(findings);
  const { environment } = settings;
  const { workspace } = values;
  const { virtualKeys, configs } = partsOf(source.value);
  const reading = { source, findings, workspace, environment, folder: dirname(path) };
  const fallback = basename(path, extname(path));
  const wanted = values['virtual-keys-only'] ? [] : configs;
  const desired: Desired = {
    ...nothing,
    virtualKeys: virtualKeys.flatMap(({ value, path: at }) => readVirtualKey(value, at, reading) ?? []),
    configs: wanted.flatMap(({ value, path: at }) => readConfig(value, at, { ...reading, fallback }) ?? []),
  };
  refuseTwice(desired.virtualKeys, findings, ({ slug }) => slug, 'virtual key');
  refuseTwice(desired.configs, findings, ({ slug }) => slug, 'config');
  const isDryRun = values['dry-run'];
  await importAll(settings, desired, findings, { from: 'portkey', isDryRun, place: source.placeOf([]) });
}

interface Part {
  readonly value: unknown;
  readonly path: Path;
}

/** The API's own lists (`{"data": […]}`) are taken as they are. */
function partsOf(value: unknown): { virtualKeys: Part[]; configs: Part[] } {
  const list = (entries: unknown, path: Path): Part[] => {
    if (Array.isArray(entries)) return entries.map((each, index) => ({ value: each, path: [...path, index] }));
    const { data } = (entries ?? {}) as { data?: unknown };
    return Array.isArray(data) ? list(data, [...path, 'data']) : [];
  };
  if (Array.isArray(value)) return { virtualKeys: [], configs: list(value, []) };
  const whole = (value ?? {}) as { virtual_keys?: unknown; configs?: unknown; data?: unknown };
  if (whole.virtual_keys !== undefined || whole.configs !== undefined)
    return { virtualKeys: list(whole.virtual_keys, ['virtual_keys']), configs: list(whole.configs, ['configs']) };
  if (whole.data !== undefined) return { virtualKeys: [], configs: list(whole, []) };
  return { virtualKeys: [], configs: [{ value, path: [] }] };
}
