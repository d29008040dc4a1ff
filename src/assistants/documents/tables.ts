/** Where a table begins and ends, among the characters of a text that is being put together; no file brings them along. */
const BEGINS = '\uE001';
const ENDS = '\uE002';
const MARKS = /[\uE001\uE002]/g;

/** Lines of one table, the first of which says what stands in the others. */
export interface Table {
  readonly start: number;
  /** Behind the first line. */
  readonly headerEnd: number;
  readonly end: number;
}

export interface Extracted {
  readonly text: string;
  readonly tables: readonly Table[];
}

/** What strangers wrote, without characters that mean something here. */
export const unmarked = (text: string): string => text.replace(MARKS, '');

/** A line for each row, with tabs between the cells. A table of one row or one column has nothing above its rows. */
export function tableText(rows: readonly (readonly string[])[], hasHeader = true): string {
  const lines = rows.map((cells) => cells.map((cell) => cell.replace(/\s+/g, ' ').trim()).join('\t')).filter(hasText);
  const isTable = hasHeader && lines.length > 1 && rows.some(({ length }) => length > 1);
  return isTable ? marked(lines.join('\n')) : lines.join('\n');
}

export const marked = (lines: string): string => `${BEGINS}${lines}${ENDS}`;

const hasText = (line: string): boolean => /\S/.test(line);

/** The text without its marks, and the tables that these stood around. */
export function withTables(given: string): Extracted {
  const tables: Table[] = [];
  let text = '';
  let start: number | null = null;
  for (const piece of given.split(/([\uE001\uE002])/)) {
    if (piece === BEGINS) start = text.length;
    else if (piece === ENDS && start !== null) {
      tables.push(tableAt(text, start, text.length));
      start = null;
    } else if (piece !== ENDS) text += piece;
  }
  return { text, tables };
}

function tableAt(text: string, start: number, end: number): Table {
  const line = text.indexOf('\n', start);
  return { start, headerEnd: line < 0 || line > end ? end : line + 1, end };
}

/** A text of separated values is one table. Its first line may go on, in quotes, behind line breaks. */
export function separatedValues(text: string): Extracted {
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted;
    if (text[at] === '\n' && !isQuoted) return { text, tables: [{ start: 0, headerEnd: at + 1, end: text.length }] };
  }
  return { text, tables: [] };
}
