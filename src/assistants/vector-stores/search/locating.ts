import * as z from 'zod';
import type { Checked } from '../../../core/schema.ts';
import type { SearchResult } from './search.ts';

/** Where in its file a passage is, as clients see it: what the format knows. */
export const shownLocator = () =>
  z
    .object({
      page: z.int().min(1).optional().describe('The page or slide on which it begins.'),
      last_page: z.int().min(1).optional(),
      headings: z.array(z.string()).optional().describe('Those that it begins below, the outermost first.'),
      line: z.int().min(1).optional().describe('The line of the file on which it begins.'),
      last_line: z.int().min(1).optional(),
    })
    .meta({ id: 'PassageLocator' });

export function locatorOf({ locator }: Pick<SearchResult, 'locator'>): Checked<typeof shownLocator> | null {
  if (!locator) return null;
  const { pages, headings, lines } = locator;
  return {
    ...(pages && { page: pages[0]![1], last_page: pages.at(-1)![1] }),
    ...(headings && { headings: [...headings] }),
    ...(lines && { line: lines[0], last_line: lines[1] }),
  };
}

/** The same in words, for models: `, pages 3 to 4, below "Terms" > "Notice"`. */
export function toldPlace({ locator }: Pick<SearchResult, 'locator'>): string {
  const { pages, headings, lines } = locator ?? {};
  return [
    pages && told('page', pages[0]![1], pages.at(-1)![1]),
    headings && `below ${headings.map((title) => JSON.stringify(title)).join(' > ')}`,
    lines && told('line', lines[0], lines[1]),
  ]
    .flatMap((part) => (part ? [`, ${part}`] : []))
    .join('');
}

const told = (what: string, first: number, last: number): string =>
  first === last ? `${what} ${first}` : `${what}s ${first} to ${last}`;

/** A passage with a line where a page of its file begins, so that a model can tell on which one a sentence is. */
export function withPages({ text, locator }: Pick<SearchResult, 'text' | 'locator'>): string {
  const pages = locator?.pages ?? [];
  if (pages.length < 2) return text;
  return pages
    .map(([from, page], index) => {
      const stretch = text.slice(from, pages[index + 1]?.[0]);
      return index === 0 ? stretch : `[page ${page}]\n${stretch}`;
    })
    .join('');
}
