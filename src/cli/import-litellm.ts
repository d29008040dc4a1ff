import { dirname, resolve } from 'node:path';
import { DEFAULT_WORKSPACE } from '../auth/workspaces.ts';
import { readEnvFile } from '../desired/reading/env-file.ts';
import { createFindings } from '../desired/reading/findings.ts';
import { readSource } from '../desired/reading/source.ts';
import type { Settings } from '../settings.ts';
import { readArguments, UsageError } from './arguments.ts';
import { importAll } from './import-end.ts';
import { withIncludes } from './litellm/includes.ts';
import { readLitellm } from './litellm/litellm.ts';
import type { Model } from './litellm/models.ts';
import { refuseFaults } from './report.ts';

export const LITELLM_USAGE = `gateway import litellm --config config.yaml [--keys export] [--teams export] [--env-file .env]
                       [--workspace slug] [--skip-faults] [--dry-run]

Takes over the models of a LiteLLM proxy as virtual keys and one config, and its keys by their hashes: clients keep
their sk-… keys and the names of their models.

  --config               the proxy's config.yaml
  --keys                 rows of LiteLLM_VerificationToken as .json, .jsonl or .csv
  --teams                rows of LiteLLM_TeamTable in the same forms: the models of a team hold for its keys
  --env-file             variables that os.environ/… in the config stands for; the gateway's own settings are not read there
  --workspace            where they go; default: default
  --default-virtual-key  the virtual key of imported keys whose models lie behind several
  --skip-faults          take over what is right, and list the rest with its reasons
  --dry-run              show what would be done and change nothing
`;

const options = {
  config: { type: 'string' },
  keys: { type: 'string' },
  teams: { type: 'string' },
  'env-file': { type: 'string' },
  workspace: { type: 'string', default: DEFAULT_WORKSPACE },
  'default-virtual-key': { type: 'string' },
  'skip-faults': { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
} as const;

export async function importLitellm(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values } = readArguments(rest, { options, positionals: 0, usage: LITELLM_USAGE });
  if (!values.config) throw new UsageError(`--config is missing.\n\n${LITELLM_USAGE}`);
  const path = resolve(values.config);
  const files = readFiles(path, values);
  if (!files) return;
  const { source, keySource, teamSource, variables, notes } = files;
  const environment = { ...settings.environment, ...variables };
  const { 'default-virtual-key': defaultVirtualKey, workspace } = values;
  const { desired, models, findings } = await readLitellm(
    { source, keySource, teamSource, folder: dirname(path), environment },
    settings,
    { workspace, skipsFaults: values['skip-faults'], defaultVirtualKey },
  );
  if (defaultVirtualKey !== undefined && !models.some(({ slug }) => slug === defaultVirtualKey))
    throw new UsageError(`--default-virtual-key: no virtual key "${defaultVirtualKey}" comes from this config.`);
  const isDone = await importAll(
    settings,
    desired,
    { ...findings, notes: [...notes, ...findings.notes] },
    { from: 'litellm', isDryRun: values['dry-run'], place: source.placeOf([]) },
  );
  if (isDone) showCalls(models, desired.configs[0]?.slug ?? null);
}

/** Every file that the command names. A file that cannot be read is never skipped. */
function readFiles(
  path: string,
  { keys, teams, 'env-file': envFile }: { keys?: string; teams?: string; 'env-file'?: string },
) {
  const reading = createFindings();
  const first = readSource(path, reading, 'python');
  const source = first && withIncludes(first, dirname(path), reading);
  const keySource = keys === undefined ? null : readSource(resolve(keys), reading);
  const teamSource = teams === undefined ? null : readSource(resolve(teams), reading);
  const variables = envFile === undefined ? {} : readEnvFile(resolve(envFile), reading);
  if (refuseFaults(reading) || !source || !variables) return null;
  return { source, keySource, teamSource, variables, notes: reading.notes };
}

/** How models are reached by imported keys, and by other callers. */
function showCalls(models: readonly Model[], config: string | null) {
  if (models.length === 0) return;
  const lines = [...new Set(models.map(({ name, slug, model }) => `  ${name}  →  @${slug}/${model}`))];
  console.log(
    `\nImported keys call models by their names, through the config "${config}". Other keys send x-gateway-config: ${config}, or these models:\n${lines.join('\n')}`,
  );
}
