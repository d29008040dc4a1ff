import * as z from 'zod';
import { slugFrom } from '../../core/ids.ts';
import { name as nameOf, slug as slugOf } from '../../http/resource.ts';
import { checkedConfig } from '../applying/configs.ts';
import type { ConfigWish } from '../desired/desired.ts';
import { checked, type Findings, pathText } from '../reading/findings.ts';
import type { Path, Source } from '../reading/source.ts';

const entry = z.looseObject({ name: nameOf().nullish(), slug: slugOf().nullish() });

/** A config object has the same form here; an export may hold it as text. */
export function readConfig(
  value: unknown,
  path: Path,
  {
    source,
    findings,
    workspace,
    fallback,
  }: { source: Source; findings: Findings; workspace: string; fallback: string },
): ConfigWish | null {
  const found = checked(entry, value, { source, path, findings });
  if (found === null) return null;
  const isWrapped = found.config !== undefined;
  const inside = isWrapped ? [...path, 'config'] : path;
  const object = isWrapped ? parsed(found.config) : value;
  if (object === null || typeof object !== 'object') {
    findings.fault(source.placeOf(inside), `${pathText(inside) || 'the file'}: give a config object`);
    return null;
  }
  const config = checkedConfig(object, inside, source, findings);
  if (config === null) return null;
  for (const secret of secretsIn(object, inside))
    findings.fault(source.placeOf(secret), `${pathText(secret)}: keep the credential in a virtual key and name that`);
  const name = found.name ?? (isWrapped ? 'config' : fallback);
  const slug = found.slug ?? slugFrom(name, 'config');
  return { place: source.placeOf(path), ref: `${workspace}/${slug}`, workspace, slug, name, config };
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}

function secretsIn(value: unknown, path: Path): Path[] {
  const { api_key, targets } = (value ?? {}) as { api_key?: unknown; targets?: unknown };
  const own = api_key === undefined ? [] : [[...path, 'api_key']];
  const below = Array.isArray(targets) ? targets : [];
  return [...own, ...below.flatMap((target, index) => secretsIn(target, [...path, 'targets', index]))];
}
