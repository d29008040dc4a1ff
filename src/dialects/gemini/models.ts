/** What the names of Gemini models tell. Aliases such as `gemini-flash-latest` stand for the newest. */

const majorOf = (model: string): number => Number(/gemini-(\d+)/.exec(model)?.[1] ?? Number.POSITIVE_INFINITY);

const isGemini = (model: string): boolean => model.includes('gemini');

/** From Gemini 3 on, thinking has levels; before, a budget of tokens. */
export const thinksByLevel = (model: string): boolean => isGemini(model) && majorOf(model) >= 3;

/** From Gemini 3 on, a call of a function is refused when it comes back without the signature it was made with. */
export const demandsSignatures = thinksByLevel;
