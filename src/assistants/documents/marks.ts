import { Outline, type Section } from './outline.ts';

/**
 * What a parser says about a text while it puts it together, as characters among those of the text; no file brings them along.
 * A page begins; a heading of one of eleven levels begins and ends; the headings so far say nothing about what follows; a line
 * ends in the text that does not end in the file.
 */
const PAGE = '\uFDD0';
const HEADING_ENDS = '\uFDD1';
const HEADINGS_END = '\uFDD2';
const FIRST_LEVEL = 0xfdd3;
const LAST_LEVEL = 0xfddd;
const SOFT_BREAK = '\uFDDE';
const TABLE = '\uE001';
const TABLE_ENDS = '\uE002';
const MARKS = /[\uE001\uE002\uFDD0-\uFDDE]/g;
const MARK = /([\uE001\uE002\uFDD0-\uFDDD])/;

/** Lines of one table, the first of which says what stands in the others. */
export interface Table {
  readonly start: number;
  /** Behind the first line. */
  readonly headerEnd: number;
  readonly end: number;
}

/** What is known of a file: its text, and where in the file a stretch of it is. */
export interface Extracted {
  readonly text: string;
  readonly tables: readonly Table[];
  /** Where each page begins, from the first on. */
  readonly pages?: readonly number[];
  readonly sections?: readonly Section[];
  /** The text once more, with line ends where the file has some; absent: lines of the text are not those of the file. */
  readonly lines?: string;
}

/** What strangers wrote, without characters that mean something here. */
export const unmarked = (text: string): string => text.replace(MARKS, '');

export const markedTable = (lines: string): string => `${TABLE}${lines}${TABLE_ENDS}`;
export const markedPage = (text: string): string => `${PAGE}${text}`;
/** Level 0 is the title of the whole. */
export const headingBegins = (level: number): string =>
  String.fromCharCode(Math.min(LAST_LEVEL, FIRST_LEVEL + Math.max(0, Math.trunc(level) || 0)));
export const markedHeading = (level: number, title: string): string => `${headingBegins(level)}${title}${HEADING_ENDS}`;
export const markedPart = (text: string): string => `${HEADINGS_END}${text}`;
export { HEADING_ENDS };

export const withoutSoft = (text: string): string => text.replaceAll(SOFT_BREAK, '');
export const softened = (text: string): string => withoutSoft(text).replaceAll('\n', SOFT_BREAK);
export const hardened = (text: string): string => text.replaceAll(SOFT_BREAK, '\n');

/** Of a heading: more of it is not read. */
const MOST_OF_HEADING = 1_000;

/** The text without its marks, and what these said. */
export function readMarks(given: string): Extracted {
  const tables: Table[] = [];
  const pages: number[] = [];
  const outline = new Outline();
  // Put together once: to look into a text that grows takes as long as it is.
  const pieces: string[] = [];
  let length = 0;
  let table: { readonly start: number; headerEnd: number | null } | null = null;
  let heading: { readonly level: number; readonly start: number; said: string } | null = null;
  const say = (piece: string) => {
    const line = table && table.headerEnd === null ? piece.indexOf('\n') : -1;
    if (table && line >= 0) table.headerEnd = length + line + 1;
    if (heading && heading.said.length < MOST_OF_HEADING) heading.said += piece.slice(0, MOST_OF_HEADING);
    pieces.push(piece);
    length += piece.length;
  };
  const endTable = () => {
    if (table) tables.push({ start: table.start, headerEnd: table.headerEnd ?? length, end: length });
    table = null;
  };
  const endHeading = () => {
    if (heading) outline.add(heading.start, heading.level, heading.said);
    heading = null;
  };
  for (const piece of given.split(MARK)) {
    const code = piece.length === 1 ? piece.charCodeAt(0) : 0;
    if (piece === TABLE) table = { start: length, headerEnd: null };
    else if (piece === TABLE_ENDS) endTable();
    else if (piece === PAGE) pages.push(length);
    else if (piece === HEADINGS_END) outline.clear(length);
    else if (piece === HEADING_ENDS) endHeading();
    else if (code >= FIRST_LEVEL && code <= LAST_LEVEL) {
      endHeading();
      heading = { level: code - FIRST_LEVEL, start: length, said: '' };
    } else say(piece);
  }
  endHeading();
  return { text: pieces.join(''), tables, pages, sections: outline.sections };
}
