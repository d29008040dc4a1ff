import { memo, type ReactNode } from 'react';

/** Above this a text is shown in one colour: each coloured piece is an element of the page. */
const MOST_COLOURED = 40_000;
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** JSON with its parts in colours; other text as it is. */
export const JsonText = memo(({ text, label }: { readonly text: string; readonly label: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keyboard
  <section className="json-text" tabIndex={0} aria-label={label}>
    <pre>{text.length > MOST_COLOURED || !/^\s*[[{"]/.test(text) ? text : coloured(text)}</pre>
  </section>
));

function coloured(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const match of text.matchAll(TOKEN)) {
    parts.push(text.slice(from, match.index));
    from = match.index + match[0].length;
    const [whole, string, colon, word] = match;
    const kind = colon ? 'name' : string ? 'string' : word ? 'word' : 'number';
    parts.push(
      <span key={match.index} className={`json-${kind}`}>
        {colon ? string : whole}
      </span>,
    );
    if (colon) parts.push(colon);
  }
  parts.push(text.slice(from));
  return parts;
}

/** As it is written for people; text that is no JSON stays as it is. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
