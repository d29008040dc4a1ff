/**
 * What Bedrock's names of models tell: `us.anthropic.claude-opus-4-1-20250805-v1:0`, also at the end of an ARN. A profile
 * or a provisioned model has a name of its own, which tells nothing.
 */
export type Vendor = 'anthropic' | 'amazon' | 'mistral' | 'cohere' | 'openai' | 'other' | 'unknown';

const KNOWN: readonly Vendor[] = ['anthropic', 'amazon', 'mistral', 'cohere', 'openai'];
const REGIONS = new Set(['us', 'eu', 'apac', 'au', 'ca', 'jp', 'global', 'us-gov']);

export function vendorOf(model: string): Vendor {
  const [first = '', ...rest] = model.slice(model.lastIndexOf('/') + 1).split('.');
  const [vendor = '', ...name] = REGIONS.has(first) ? rest : [first, ...rest];
  if (name.length === 0) return model.includes('claude') ? 'anthropic' : 'unknown';
  return KNOWN.find((known) => known === vendor) ?? 'other';
}

/** A mark is a wish; models that cannot cache refuse the whole call because of it. */
export const takesCachePoints = (vendor: Vendor): boolean =>
  vendor === 'anthropic' || vendor === 'amazon' || vendor === 'unknown';

/** Amazon's own models cache messages and the system prompt only. */
export const takesToolCachePoints = (vendor: Vendor): boolean => takesCachePoints(vendor) && vendor !== 'amazon';
