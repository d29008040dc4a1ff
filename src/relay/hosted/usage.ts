import type { JsonObject } from '../../dialects/ir.ts';
import { isObject } from '../../dialects/json.ts';

/** What the rounds of a response took, together: numbers are added up, wherever they stand. */
export function added(one: JsonObject | null, other: unknown): JsonObject | null {
  if (!isObject(other)) return one;
  if (!one) return other;
  const sum: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const known = sum[name];
    if (typeof value === 'number') sum[name] = value + (typeof known === 'number' ? known : 0);
    else if (isObject(value)) sum[name] = added(isObject(known) ? known : null, value);
    else sum[name] ??= value;
  }
  return sum;
}
