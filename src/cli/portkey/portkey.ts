import { refuseTwice } from '../../desired/applying/file.ts';
import { usableConfigs, usableVirtualKeys } from '../../desired/check.ts';
import { type Desired, nothing, type VirtualKeyWish } from '../../desired/desired.ts';
import { createFindings, type Findings } from '../../desired/reading/findings.ts';
import type { Environment } from '../../desired/reading/secrets.ts';
import type { Path, Source } from '../../desired/reading/source.ts';
import type { Settings } from '../../settings.ts';
import { keyChecksOf } from '../key-checks.ts';
import { type ReadConfig, readConfig } from './configs.ts';
import { inlineKeys } from './inline-keys.ts';
import { readVirtualKey } from './virtual-keys.ts';

export interface PortkeyFile {
  readonly source: Source;
  readonly environment: Environment;
  /** Where the file stands. */
  readonly folder: string;
  /** The name of a config that has none. */
  readonly fallback: string;
}

export interface PortkeyOptions {
  readonly workspace: string;
  readonly skipsFaults: boolean;
  readonly virtualKeysOnly: boolean;
}

/** What an export wants to exist, checked as the API would. Nothing is to be done when `findings` has faults. */
export async function readPortkey(
  { source, environment, folder, fallback }: PortkeyFile,
  settings: Pick<Settings, 'trustedCustomHosts'>,
  { workspace, skipsFaults, virtualKeysOnly }: PortkeyOptions,
): Promise<{ readonly desired: Desired; readonly findings: Findings }> {
  const findings = createFindings({ skipsFaults });
  const parts = partsOf(source.value);
  const reading = { source, findings, workspace, environment, folder };
  const named = refuseTwice(
    parts.virtualKeys.flatMap(({ value, path }) => readVirtualKey(value, path, reading) ?? []),
    findings,
    ({ slug }) => slug,
    'virtual key',
  );
  const keys = inlineKeys(named.map(({ slug }) => slug));
  const read = (virtualKeysOnly ? [] : parts.configs).flatMap(
    ({ value, path }) => readConfig(value, path, { ...reading, fallback, keys }) ?? [],
  );
  const refused = new Set(slugsIn(parts.virtualKeys));
  const virtualKeys = await usableVirtualKeys(
    [...new Set([...named, ...read.flatMap(keysOf)])],
    keyChecksOf(settings),
    findings,
    {
      trustsLater: true,
    },
  );
  const usable = new Set(virtualKeys.map(({ slug }) => slug));
  for (const { slug } of [...named, ...read.flatMap(keysOf)]) refused.add(slug);
  for (const slug of usable) refused.delete(slug);
  const configs = refuseTwice(
    await usableConfigs(
      read.map(({ config }) => config),
      findings,
    ),
    findings,
    ({ slug }) => slug,
    'config',
  ).filter(({ place, slug, config }) => {
    const missing = virtualKeysIn(config).find((each) => refused.has(each));
    if (missing === undefined) return true;
    findings.fault(place, `config ${slug}: its virtual key ${missing} is not taken over`);
    return false;
  });
  if (parts.virtualKeys.length + parts.configs.length === 0)
    findings.fault(source.placeOf([]), 'give {"virtual_keys": […], "configs": […]}, a list of configs, or one config');
  // A credential of a config that stays behind stays behind, too.
  const kept = new Set([...named.map(({ slug }) => slug), ...configs.flatMap(({ config }) => virtualKeysIn(config))]);
  const desired = { ...nothing, virtualKeys: virtualKeys.filter(({ slug }) => kept.has(slug)), configs };
  return { desired, findings };
}

const keysOf = ({ virtualKeys }: ReadConfig): readonly VirtualKeyWish[] => virtualKeys;

interface Part {
  readonly value: unknown;
  readonly path: Path;
}

/** The slugs that entries give themselves, of those that cannot be read as well. */
const slugsIn = (parts: readonly Part[]): string[] =>
  parts.flatMap(({ value }) => {
    const { slug } = (value ?? {}) as { slug?: unknown };
    return typeof slug === 'string' ? slug : [];
  });

/** The virtual keys that a config names, at any depth. */
function virtualKeysIn(config: unknown): string[] {
  const { virtual_key, provider, targets } = (config ?? {}) as Readonly<Record<string, unknown>>;
  const own = typeof virtual_key === 'string' ? [virtual_key] : [];
  const slugged = typeof provider === 'string' && provider.startsWith('@') ? [provider.slice(1)] : [];
  return [...own, ...slugged, ...(Array.isArray(targets) ? targets.flatMap(virtualKeysIn) : [])];
}

/** The API's own answers (`{"data": […]}`, `{"data": {"config": …}}`) are taken as they are. */
function partsOf(value: unknown): { virtualKeys: Part[]; configs: Part[] } {
  const list = (entries: unknown, path: Path): Part[] => {
    if (Array.isArray(entries)) return entries.map((each, index) => ({ value: each, path: [...path, index] }));
    const { data } = (entries ?? {}) as { data?: unknown };
    if (Array.isArray(data)) return list(data, [...path, 'data']);
    return data !== null && typeof data === 'object' ? [{ value: data, path: [...path, 'data'] }] : [];
  };
  if (Array.isArray(value)) return { virtualKeys: [], configs: list(value, []) };
  const whole = (value ?? {}) as { virtual_keys?: unknown; configs?: unknown; data?: unknown };
  if (whole.virtual_keys !== undefined || whole.configs !== undefined)
    return { virtualKeys: list(whole.virtual_keys, ['virtual_keys']), configs: list(whole.configs, ['configs']) };
  if (whole.data !== undefined) return { virtualKeys: [], configs: list(whole, []) };
  return { virtualKeys: [], configs: value === null ? [] : [{ value, path: [] }] };
}
