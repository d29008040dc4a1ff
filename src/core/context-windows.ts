import table from './context-windows.json' with { type: 'json' };

const tokensOf: ReadonlyMap<string, number> = new Map(Object.entries(table.tokens));
/** Bedrock names the maker, and sometimes a region, in front. */
const IN_FRONT = /^ft:|^(?:(?:us|eu|apac|global)\.)?(?:anthropic|meta|mistral|cohere)\./;

/** A model's name without what stands around it: `@slug/gpt-4o`, `ft:gpt-4o:org`, `us.anthropic.claude-…`. */
export const plainModelName = (model: string): string => model.toLowerCase().replace(/^.*\//, '').replace(IN_FRONT, '');

/** How many tokens a model takes in and gives out together; null when it is on no list. The longest name decides. */
export function contextWindowOf(model: string): number | null {
  for (let name = plainModelName(model); name !== ''; name = name.slice(0, lastBreak(name))) {
    const tokens = tokensOf.get(name);
    if (tokens !== undefined) return tokens;
  }
  return null;
}

/** Where the last part of a name begins, with the character that sets it off: `gpt-4o` is no kind of `gpt-4`. */
const lastBreak = (name: string): number => Math.max(0, name.search(/[-.:@][^-.:@]*$/));
