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

const MOST_DECODINGS = 3;

/**
 * What is left of an address when it is read carelessly: servers decode it, take dots out of its path, lower its host and
 * leave default ports out. Of a file only the path counts.
 */
export function foldedUri(uri: string): string {
  let text = uri;
  for (let times = 0; times < MOST_DECODINGS && text.includes('%'); times++) text = decoded(text);
  const url = URL.parse(folded(text));
  if (!url) return folded(text);
  url.hash = '';
  if (url.protocol === 'file:') url.search = '';
  const [start, scheme = ''] = /^([a-z][a-z0-9+.-]*:)\/*/.exec(url.href) ?? [''];
  const rest = decoded(url.href.slice(start.length)).replace(/[/\\]+/g, '/');
  return folded(`${scheme}${rest}`).replace(/\/$/, '');
}

const decoded = (text: string): string =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (coded) => {
    try {
      return decodeURIComponent(coded);
    } catch {
      return coded;
    }
  });

/** `*` stands for anything. In time proportional to the text, because the caller chooses the text. */
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
export function templateMatcher(template: string): (uri: string) => boolean {
  const pattern = template.replace(/\{[^{}]*\}/g, '*');
  const fits = matcherOf(pattern);
  const fitsFolded = matcherOf(foldedUri(pattern));
  return (uri) => fits(uri) || fitsFolded(foldedUri(uri));
}
