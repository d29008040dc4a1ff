/** Names of tools, prompts and resources, and patterns of them. */

/**
 * What is left of a name when it is read carelessly. A server may trim, lower or normalise what it is asked for, so that
 * another spelling of a name that is switched off could still reach it.
 */
export const folded = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Cc}\s]/gu, '')
    .toUpperCase()
    .toLowerCase();

/** `*` stands for anything. In time proportional to the text: whoever calls chooses it. */
export function matcherOf(pattern: string): (text: string) => boolean {
  const parts = pattern.split('*');
  if (parts.length === 1) return (text) => text === pattern;
  const first = parts[0]!;
  const last = parts.at(-1)!;
  const between = parts.slice(1, -1).filter((part) => part !== '');
  return (text) => {
    if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const part of between) {
      const found = text.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}

/** The addresses that a URI template (RFC 6570) may stand for, and perhaps some more. */
export const templateMatcher = (template: string): ((uri: string) => boolean) =>
  matcherOf(template.replace(/\{[^{}]*\}/g, '*'));
