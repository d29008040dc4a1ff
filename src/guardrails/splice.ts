/** A stretch of a body. */
export interface Stretch {
  readonly start: number;
  /** One past its last character. */
  readonly end: number;
}

/** What is put in the place of a stretch. */
export interface Edit extends Stretch {
  readonly by: string;
}

export function spliced(source: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const { start, end, by } of edits.toSorted((one, other) => one.start - other.start)) {
    result += source.slice(at, start) + by;
    at = end;
  }
  return result + source.slice(at);
}

/** A value that stands in a body, or in a text of the body that is JSON itself, such as the arguments of a tool call. */
export interface Placed extends Stretch {
  /** The text that it stands in, and its place there. */
  readonly within?: Stretch & { readonly source: string };
  /** How another text is written in its place. */
  readonly spelt?: (text: string) => string;
}

/** Edits that put texts in the place of values; those within one text become one edit of that text. */
export function editsOf(
  changes: readonly { readonly at: Placed; readonly text: string }[],
  outer: (at: Stretch, text: string) => Edit = (at, text) => ({
    start: at.start,
    end: at.end,
    by: JSON.stringify(text),
  }),
): Edit[] {
  const edits: Edit[] = [];
  const inner = new Map<number, { at: Placed; source: string; edits: Edit[] }>();
  for (const { at, text } of changes) {
    const written = at.spelt ? at.spelt(text) : text;
    if (!at.within) {
      edits.push(outer(at, written));
      continue;
    }
    const { source, start, end } = at.within;
    const known = inner.get(at.start) ?? { at, source, edits: [] };
    known.edits.push({ start, end, by: JSON.stringify(written) });
    inner.set(at.start, known);
  }
  for (const { at, source, edits: within } of inner.values()) edits.push(outer(at, spliced(source, within)));
  return edits;
}
