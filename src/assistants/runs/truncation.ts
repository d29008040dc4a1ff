/** A part of a prompt that is kept or left out as a whole. */
export interface Unit {
  readonly role: 'user' | 'assistant';
  readonly tokens: number;
}

/**
 * As much of a history as fits: the newest message always, the first of the user as long as it can be, and of the rest
 * what is farthest from the middle. Null: not even the newest message fits.
 */
export function trimmed<Part extends Unit>(history: readonly Part[], budget: number): Part[] | null {
  let total = history.reduce((sum, { tokens }) => sum + tokens, 0);
  if (total <= budget) return [...history];
  const newest = history.length - 1;
  const first = history.findIndex(({ role }) => role === 'user');
  const middle = newest / 2;
  const droppable = [...history.keys()]
    .filter((index) => index !== newest && index !== first)
    .sort((one, other) => Math.abs(one - middle) - Math.abs(other - middle) || one - other);
  if (first >= 0 && first !== newest) droppable.push(first);
  const dropped = new Set<number>();
  for (const index of droppable) {
    if (total <= budget) break;
    total -= history[index]!.tokens;
    dropped.add(index);
  }
  return total <= budget ? history.filter((_, index) => !dropped.has(index)) : null;
}
