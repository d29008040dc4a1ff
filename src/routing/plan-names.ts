import type { ConfigObject } from './config.ts';

/** The names by which the conditions of a config find models, in their order: what its callers may ask for. */
export function namesIn(config: ConfigObject): string[] {
  const conditions = config.strategy?.mode === 'conditional' ? (config.strategy.conditions ?? []) : [];
  const own = conditions.flatMap(({ query }) => asked(query));
  return [...new Set([...own, ...(config.targets ?? []).flatMap(namesIn)])];
}

/** A condition that asks for more than the model says nothing about a name alone. */
function asked(query: unknown): string[] {
  const entries = Object.entries((query ?? {}) as Record<string, unknown>);
  const [[key, value] = []] = entries;
  if (entries.length !== 1) return [];
  if (key === '$or' && Array.isArray(value)) return value.flatMap(asked);
  if (key !== 'params.model') return [];
  const { $eq, $in } = (value !== null && typeof value === 'object' ? value : { $eq: value }) as {
    $eq?: unknown;
    $in?: unknown;
  };
  return [$eq, ...(Array.isArray($in) ? $in : [])].filter((name) => typeof name === 'string');
}
