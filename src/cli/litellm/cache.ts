import { type Findings, pathText } from '../../desired/reading/findings.ts';
import type { Source } from '../../desired/reading/source.ts';
import { numberIn } from './numbers.ts';

/** LiteLLM's own, where the file says none. */
const TTL_S = 60;
const MOST_S = 7_776_000;

/** Answers are kept where the gateway keeps them, whatever kind of place the file names. */
export function cacheIn(source: Source, findings: Findings): { mode: 'simple'; max_age: number } | null {
  const { litellm_settings } = (source.value ?? {}) as { litellm_settings?: Record<string, unknown> | null };
  if (litellm_settings?.cache !== true) return null;
  const path = ['litellm_settings', 'cache_params'];
  const { type, ttl, mode } = (litellm_settings.cache_params ?? {}) as Record<string, unknown>;
  const note = (member: string, says: string) =>
    findings.note(source.placeOf([...path, member]), `${pathText([...path, member])} ${says}`);
  if (mode === 'default_off') {
    note('mode', 'is default_off; send a config with cache where an answer may be an earlier one');
    return null;
  }
  if (typeof type === 'string' && /semantic/.test(type))
    note('type', `is ${type}; equal requests get the kept answer, similar ones do not`);
  else if (typeof type === 'string' && /^redis/.test(type))
    note('type', `is ${type}; the gateway uses its own REDIS_URL`);
  const asked = numberIn(ttl) ?? TTL_S;
  const max_age = Math.round(Math.min(MOST_S, Math.max(60, asked)));
  if (max_age !== asked) note('ttl', `is ${asked}; answers are kept for ${max_age} seconds`);
  return { mode: 'simple', max_age };
}
