export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The objects of a list; anything else in it, or instead of it, counts as absent. */
export const objectsIn = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

export const objectIn = (value: unknown): JsonObject => (isObject(value) ? value : {});

export const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A content of either form: a plain string, or a list of parts of which those with a `text` count. */
export function textOfContent(content: unknown): string {
  if (typeof content === 'string') return content;
  const texts = objectsIn(content).map((part) => textIn(part.text));
  return texts.filter((text) => text !== undefined).join('\n');
}

/** How many characters its strings have, all levels down: the measure of what a model would read. */
export function charactersIn(value: unknown, levels = 100): number {
  if (typeof value === 'string') return value.length;
  // A body may be nested deeper than the stack is.
  if (typeof value !== 'object' || value === null || levels === 0) return 0;
  let count = 0;
  for (const inner of Object.values(value)) count += charactersIn(inner, levels - 1);
  return count;
}
