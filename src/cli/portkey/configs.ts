import * as z from 'zod';
import { slugFrom } from '../../core/ids.ts';
import { checkedConfig } from '../../desired/applying/configs.ts';
import type { ConfigWish, VirtualKeyWish } from '../../desired/desired.ts';
import { checked, pathText } from '../../desired/reading/findings.ts';
import type { Path } from '../../desired/reading/source.ts';
import { name as nameOf, slug as slugOf } from '../../http/resource.ts';
import { inOurForm, sayingIn } from './forms.ts';
import type { InlineReading, inlineKeys } from './inline-keys.ts';

const entry = z.looseObject({ name: nameOf().nullish(), slug: slugOf().nullish() });

export interface ConfigReading extends InlineReading {
  /** The name of a config that has none. */
  readonly fallback: string;
  readonly keys: ReturnType<typeof inlineKeys>;
}

/** A config, and the virtual keys of credentials that stood in it. */
export interface ReadConfig {
  readonly config: ConfigWish;
  readonly virtualKeys: readonly VirtualKeyWish[];
}

/** A config object, which has nearly the same form here; an export may hold it as text. */
export function readConfig(value: unknown, path: Path, reading: ConfigReading): ReadConfig | null {
  const { source, findings, workspace, fallback, keys } = reading;
  const found = checked(entry, value, { source, path, findings });
  if (found === null) return null;
  const isWrapped = found.config !== undefined;
  const inside = isWrapped ? [...path, 'config'] : path;
  const refuse = (says: string): null => {
    findings.fault(source.placeOf(inside), `${pathText(inside) || 'the file'}: ${says}`);
    return null;
  };
  if (!isWrapped && found.organisation_id !== undefined)
    return refuse('a list of configs does not say what they are; give what GET /configs/{slug} answers as config');
  if (found.status === 'archived') {
    findings.leaveOut(source.placeOf(path), `config ${found.name ?? found.slug} is archived`);
    return null;
  }
  const object = isWrapped ? parsed(found.config) : value;
  if (object === null || typeof object !== 'object') return refuse('give a config object');
  const name = found.name ?? (isWrapped ? 'config' : fallback);
  const slug = found.slug ?? slugFrom(name, 'config');
  const before = findings.count;
  const ours = inOurForm(object, inside, sayingIn(source, findings)) as Readonly<Record<string, unknown>>;
  if (checkedConfig(ours, inside, source, findings) === null) return null;
  const { config, virtualKeys } = keys.takenFrom(slug, ours, inside, reading);
  if (findings.count > before) return null;
  return {
    config: { place: source.placeOf(path), ref: `${workspace}/${slug}`, workspace, slug, name, config },
    virtualKeys,
  };
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}
