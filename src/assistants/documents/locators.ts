import type { Extracted } from './marks.ts';

/** Where in its file a chunk is, as far as the file's format knows. */
export interface Locator {
  /** The page or slide on which it begins, and those that begin within it: from which UTF-16 unit of the chunk on. */
  readonly pages?: readonly (readonly [from: number, page: number])[];
  /** Those that it begins below, the outermost first. */
  readonly headings?: readonly string[];
  /** Of the file, counted from 1. */
  readonly lines?: readonly [first: number, last: number];
}

export interface Stretch {
  readonly start: number;
  readonly end: number;
  /** How much is said in front of it in its chunk. */
  readonly shift: number;
}

/** Says where stretches of a text are. They are asked for in their order. Space around them does not count. */
export function locatorsOf({
  text,
  pages = [],
  sections = [],
  lines,
}: Extracted): (stretch: Stretch) => Locator | null {
  const firstLine = lines === undefined ? null : lineCounter(lines);
  const lastLine = lines === undefined ? null : lineCounter(lines);
  let page = 0;
  let section = 0;

  const pagesIn = (first: number, last: number, { start, shift }: Stretch): [number, number][] => {
    while (page + 1 < pages.length && pages[page + 1]! <= first) page++;
    const found: [number, number][] = [[0, page + 1]];
    for (let next = page + 1; next < pages.length && pages[next]! <= last; next++) {
      const begins = pages[next]!;
      const isEmpty = nextSaid(text, begins, last + 1) >= (pages[next + 1] ?? last + 1);
      if (!isEmpty) found.push([begins - start + shift, next + 1]);
    }
    return found;
  };

  return (stretch) => {
    const first = nextSaid(text, stretch.start, stretch.end);
    const last = lastSaid(text, stretch.start, stretch.end);
    while (section < sections.length && sections[section]!.start <= first) section++;
    const headings = sections[section - 1]?.headings ?? [];
    const locator: Locator = {
      ...(pages.length > 0 && { pages: pagesIn(first, last, stretch) }),
      ...(headings.length > 0 && { headings }),
      ...(firstLine && lastLine && { lines: [firstLine(first), lastLine(last)] as const }),
    };
    return Object.keys(locator).length > 0 ? locator : null;
  };
}

/** On which line a place is; of places that come in their order. */
function lineCounter(text: string): (place: number) => number {
  let line = 1;
  let end = text.indexOf('\n');
  return (place) => {
    while (end >= 0 && end < place) {
      line++;
      end = text.indexOf('\n', end + 1);
    }
    return line;
  };
}

const SPACE = /\s/;

function nextSaid(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && SPACE.test(text[at]!)) at++;
  return at;
}

function lastSaid(text: string, start: number, end: number): number {
  let at = end - 1;
  while (at > start && SPACE.test(text[at]!)) at--;
  return at;
}
