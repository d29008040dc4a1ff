import { SECRET_NAME } from '../../auth/virtual-key.ts';
import { slugFrom } from '../../core/ids.ts';
import { canonical, type VirtualKeyWish } from '../../desired/desired.ts';
import { type Findings, pathText } from '../../desired/reading/findings.ts';
import { type Environment, resolveSecret } from '../../desired/reading/secrets.ts';
import type { Path, Source } from '../../desired/reading/source.ts';
import { optionNames } from '../../providers/registry.ts';
import { OPTION_ALIASES } from '../../routing/config.ts';
import { referenceIn } from './virtual-keys.ts';

type Members = Readonly<Record<string, unknown>>;

export interface InlineReading {
  readonly source: Source;
  readonly findings: Findings;
  readonly workspace: string;
  readonly environment: Environment;
  readonly folder: string;
}

const options = new Set<string>([...optionNames, ...Object.keys(OPTION_ALIASES)]);

/** Credentials that stand in configs become virtual keys: one for each credential with its provider, host and options. */
export function inlineKeys(taken: Iterable<string>) {
  const slugs = new Set(taken);
  const known = new Map<string, VirtualKeyWish>();

  const slugFor = (config: string, provider: string): string => {
    const base = slugFrom(`${config}-${provider}`, provider);
    for (let number = 1; ; number++) {
      const slug = number === 1 ? base : `${base}-${number}`;
      if (slugs.has(slug)) continue;
      slugs.add(slug);
      return slug;
    }
  };

  /** What the config keeps of a node, and the virtual keys that it names now. */
  const without = (config: string, node: Members, path: Path, reading: InlineReading): [Members, VirtualKeyWish[]] => {
    const { source, findings, workspace } = reading;
    const found: VirtualKeyWish[] = [];
    const targets = Array.isArray(node.targets)
      ? node.targets.map((target, index) => {
          if (target === null || typeof target !== 'object') return target;
          const [made, below] = without(config, target as Members, [...path, 'targets', index], reading);
          found.push(...below);
          return made;
        })
      : undefined;
    const { provider } = node;
    const kept = { ...node, ...(targets && { targets }) };
    if (typeof provider !== 'string' || provider.startsWith('@') || !holdsCredential(node)) return [kept, found];
    const rest: Record<string, unknown> = {};
    const configurations: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(kept)) {
      if (name === 'provider' || name === 'custom_host' || name === 'api_key') continue;
      const isSecret = typeof value === 'string' && SECRET_NAME.test(name);
      const opened = isSecret ? openedSecret(value, [...path, name], reading) : value;
      if (options.has(name)) configurations[OPTION_ALIASES[name] ?? name] = opened;
      else rest[name] = value;
    }
    if (node.custom_host !== undefined && typeof node.custom_host !== 'string')
      findings.fault(
        source.placeOf([...path, 'custom_host']),
        `${pathText([...path, 'custom_host'])}: give an address`,
      );
    const key = typeof node.api_key === 'string' ? openedSecret(node.api_key, [...path, 'api_key'], reading) : null;
    const custom_host = typeof node.custom_host === 'string' ? node.custom_host : null;
    const identity = canonical([provider, key, custom_host, configurations]);
    const wish = known.get(identity) ?? {
      place: source.placeOf(path),
      ...named(workspace, slugFor(config, provider)),
      key,
      fields: {
        name: `${provider} of ${config}`.slice(0, 255),
        note: `From the Portkey config ${config}`.slice(0, 2_000),
        provider,
        custom_host,
        configurations,
        expires_at: null,
        rate_limits: [],
        usage_limits: [],
      },
    };
    known.set(identity, wish);
    return [{ ...rest, virtual_key: wish.slug }, [...found, wish]];
  };

  return {
    /** The config without its credentials, and the virtual keys that hold them. */
    takenFrom: (config: string, value: Members, path: Path, reading: InlineReading) => {
      const [made, wishes] = without(config, value, path, reading);
      return { config: made, virtualKeys: wishes };
    },
  };
}

const named = (workspace: string, slug: string) => ({ ref: `${workspace}/${slug}`, workspace, slug });

const holdsCredential = (node: Members): boolean =>
  Object.entries(node).some(
    ([name, value]) =>
      value !== undefined &&
      (name === 'api_key' || (options.has(name) && SECRET_NAME.test(OPTION_ALIASES[name] ?? name))),
  );

/** A secret itself, or where it is kept: `env:NAME`, `file:PATH`. No fault ever shows it. */
function openedSecret(
  text: string,
  path: Path,
  { source, findings, environment, folder }: InlineReading,
): string | null {
  const reference = referenceIn(text);
  if (!reference) return text;
  const resolved = resolveSecret(reference, { environment, folder });
  if (resolved.why === undefined) return resolved.secret;
  findings.fault(source.placeOf(path), `${pathText(path)}: ${resolved.why}`);
  return null;
}
