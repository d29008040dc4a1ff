/** The models that an API key may call: names as they are, or with stars, such as `openai/*`. */
export interface AllowedModels {
  readonly names: readonly string[];
  allows(name: string): boolean;
}

/** Made when a caller is looked up, so that a call asks and does not compute. Undefined: every model is allowed. */
export function allowedModels(stored: string | null | undefined): AllowedModels | undefined {
  const names = modelsIn(stored);
  if (!names) return undefined;
  const exact = new Set(names.filter((name) => !name.includes('*')));
  const patterns = names.filter((name) => name.includes('*')).map((name) => name.split('*'));
  return { names, allows: (name) => exact.has(name) || patterns.some((parts) => fits(name, parts)) };
}

/** The list as it is kept in a row; null: every model. */
export const storedModels = (models: readonly string[] | null | undefined): string | null =>
  models ? JSON.stringify(models) : null;

export const modelsIn = (stored: string | null | undefined): readonly string[] | null =>
  stored ? (JSON.parse(stored) as string[]) : null;

/** Whether all that `list` lets through, `own` lets through, too. A star is matched by nothing but a star. */
export const coversModels = (own: AllowedModels, list: readonly string[] | null | undefined): boolean =>
  list?.every((name) => own.allows(name)) ?? false;

/** Whether a text has these parts, in this order, with anything in between. */
function fits(text: string, parts: readonly string[]): boolean {
  const first = parts[0]!;
  const last = parts.at(-1)!;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
