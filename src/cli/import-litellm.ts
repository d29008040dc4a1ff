import { dirname, resolve } from 'node:path';
import { DEFAULT_WORKSPACE } from '../auth/workspaces.ts';
import type { Settings } from '../settings.ts';
import { refuseTwice } from './applying/file.ts';
import { readArguments, UsageError } from './arguments.ts';
import { type Desired, nothing } from './desired/desired.ts';
import { importAll } from './import-end.ts';
import { type KeyOptions, readKeys } from './litellm/keys.ts';
import { type Model, readModels } from './litellm/models.ts';
import { sayWhatElse, variablesIn } from './litellm/rest.ts';
import { routingOf } from './litellm/routing.ts';
import { createFindings } from './reading/findings.ts';
import { readSource } from './reading/source.ts';
import { refuseFaults } from './report.ts';

export const LITELLM_USAGE = `gateway import litellm --config config.yaml [--keys export] [--workspace slug] [--dry-run]

Takes over the models of a LiteLLM proxy as virtual keys and one config, and its keys by their hashes: clients keep
their sk-… keys and the names of their models.

  --config               the proxy's config.yaml
  --keys                 rows of LiteLLM_VerificationToken as .json, .jsonl or .csv
  --workspace            where they go; default: default
  --default-virtual-key  the virtual key of imported keys whose models lie behind several
  --dry-run              show what would be done and change nothing
`;

const options = {
  config: { type: 'string' },
  keys: { type: 'string' },
  workspace: { type: 'string', default: DEFAULT_WORKSPACE },
  'default-virtual-key': { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
} as const;

export async function importLitellm(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values } = readArguments(rest, { options, positionals: 0, usage: LITELLM_USAGE });
  if (!values.config) throw new UsageError(`--config is missing.\n\n${LITELLM_USAGE}`);
  const findings = createFindings();
  const path = resolve(values.config);
  const source = readSource(path, findings);
  const keySource = values.keys === undefined ? null : readSource(resolve(values.keys), findings);
  if (!source || (values.keys !== undefined && !keySource)) return void refuseFaults(findings);
  const { workspace } = values;
  const environment = { ...settings.environment, ...variablesIn(source) };
  const { virtualKeys, models } = readModels(source, findings, { environment, folder: dirname(path), workspace });
  const routing = routingOf(models, { source, findings, workspace });
  sayWhatElse(source, findings);
  const defaultVirtualKey = chooser(models, values['default-virtual-key']);
  const apiKeys = keySource
    ? readKeys(keySource, findings, { workspace, defaultVirtualKey, config: routing?.slug ?? null })
    : [];
  refuseTwice(
    apiKeys,
    findings,
    ({ ref }) => ref,
    'key',
    ({ fields }) => fields.name,
  );
  const desired: Desired = { ...nothing, virtualKeys, configs: routing ? [routing] : [], apiKeys };
  const isDryRun = values['dry-run'];
  const isDone = await importAll(settings, desired, findings, { from: 'litellm', isDryRun, place: source.placeOf([]) });
  if (isDone) showCalls(models, routing?.slug ?? null);
}

/** One virtual key for all models of a key makes it usable without another header. */
function chooser(models: readonly Model[], asked: string | undefined): KeyOptions['defaultVirtualKey'] {
  if (asked !== undefined && !models.some(({ slug }) => slug === asked))
    throw new UsageError(`--default-virtual-key: no virtual key "${asked}" comes from this config.`);
  return (allowed) => {
    const named = models.filter(({ name }) => allowed.includes(name));
    const slugs = new Set((named.length > 0 ? named : models).map(({ slug }) => slug));
    return slugs.size === 1 ? [...slugs][0]! : (asked ?? null);
  };
}

/** How models are reached by imported keys, and by other callers. */
function showCalls(models: readonly Model[], config: string | null) {
  if (models.length === 0) return;
  const lines = [...new Set(models.map(({ name, slug, model }) => `  ${name}  →  @${slug}/${model}`))];
  console.log(
    `\nImported keys call models by their names, through the config "${config}". Other keys send x-gateway-config: ${config}, or these models:\n${lines.join('\n')}`,
  );
}
