import { parseDocument } from 'yaml';

/** Formats of which the beginning may be said in YAML between two lines of dashes. */
const HAS_FRONT_MATTER = /\.(?:md|mdx|markdown|mkd|qmd|rmd|txt|rst|html?|adoc)$/i;
const BLOCK = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*\r?$/m;

export const mayHaveFrontMatter = (path: string): boolean => HAS_FRONT_MATTER.test(path);

/** What stands in front of a text; null: nothing does. A string says what is wrong with it. */
export function frontMatterIn(path: string, head: Uint8Array): Readonly<Record<string, unknown>> | string | null {
  if (!mayHaveFrontMatter(path)) return null;
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(head);
  const block = BLOCK.exec(text);
  if (block?.index !== 0) return null;
  try {
    // Timestamps stay texts, and nothing refers to anything: a small file must not become a large one.
    const document = parseDocument(block[1]!, { schema: 'core', logLevel: 'silent' });
    if (document.errors[0]) return document.errors[0].message.split('\n')[0]!.slice(0, 200);
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (value === null || value === undefined) return null;
    if (typeof value !== 'object' || Array.isArray(value)) return null;
    return value as Record<string, unknown>;
  } catch (error) {
    return (error as Error).message.split('\n')[0]!.slice(0, 200);
  }
}
