import { refuseTwice } from '../../desired/applying/file.ts';
import { usableConfigs, usableVirtualKeys } from '../../desired/check.ts';
import { type Desired, nothing } from '../../desired/desired.ts';
import { createFindings, type Findings } from '../../desired/reading/findings.ts';
import type { Environment } from '../../desired/reading/secrets.ts';
import type { Source } from '../../desired/reading/source.ts';
import type { Settings } from '../../settings.ts';
import { keyChecksOf } from '../key-checks.ts';
import { type KeyOptions, readKeys } from './keys.ts';
import { accessGroups, readTeams } from './model-access.ts';
import { type Model, readModels } from './models.ts';
import { sayWhatElse, variablesIn } from './rest.ts';
import { routingOf } from './routing.ts';

export interface LitellmFiles {
  readonly source: Source;
  readonly keySource: Source | null;
  readonly teamSource?: Source | null;
  /** Where the config stands. */
  readonly folder: string;
  readonly environment: Environment;
}

export interface LitellmOptions {
  readonly workspace: string;
  readonly skipsFaults: boolean;
  /** Of imported keys whose models lie behind several virtual keys. */
  readonly defaultVirtualKey: string | undefined;
}

export interface Litellm {
  readonly desired: Desired;
  readonly models: readonly Model[];
  readonly findings: Findings;
}

/** What a proxy's files want to exist, checked as the API would. Nothing is to be done when `findings` has faults. */
export async function readLitellm(
  { source, keySource, teamSource = null, folder, environment }: LitellmFiles,
  settings: Pick<Settings, 'trustedCustomHosts'>,
  { workspace, skipsFaults, defaultVirtualKey }: LitellmOptions,
): Promise<Litellm> {
  const findings = createFindings({ skipsFaults });
  const variables = { ...environment, ...variablesIn(source) };
  const read = readModels(source, findings, { environment: variables, folder, workspace });
  const virtualKeys = await usableVirtualKeys(read.virtualKeys, keyChecksOf(settings), findings, { trustsLater: true });
  const usable = new Set(virtualKeys.map(({ slug }) => slug));
  const models = read.models.filter(({ slug }) => usable.has(slug));
  const routing = routingOf(models, { source, findings, workspace });
  sayWhatElse(source, findings);
  const options = {
    workspace,
    defaultVirtualKey: chooser(models, defaultVirtualKey),
    config: routing?.slug ?? null,
    groups: accessGroups(source),
    teams: teamSource ? readTeams(teamSource, findings) : new Map<string, readonly string[]>(),
  };
  const apiKeys = refuseTwice(
    keySource ? readKeys(keySource, findings, options) : [],
    findings,
    ({ ref }) => ref,
    'key',
    ({ fields }) => fields.name,
  );
  // The keys name the config, so that no part of it can be skipped; nor can all models.
  const unskippable = createFindings();
  const configs = await usableConfigs(routing ? [routing] : [], unskippable);
  const fatal = [...unskippable.faults, ...(models.length === 0 ? findings.skipped : [])];
  const desired: Desired = { ...nothing, virtualKeys, configs, apiKeys };
  return { desired, models, findings: { ...findings, faults: [...findings.faults, ...fatal] } };
}

/** One virtual key for all models of a key makes it usable without another header. */
function chooser(models: readonly Model[], asked: string | undefined): KeyOptions['defaultVirtualKey'] {
  return (allowed) => {
    const named = models.filter(({ name }) => allowed.includes(name));
    const slugs = new Set((named.length > 0 ? named : models).map(({ slug }) => slug));
    return slugs.size === 1 ? [...slugs][0]! : (asked ?? null);
  };
}
