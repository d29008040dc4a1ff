import { markedTable, type Table } from './marks.ts';

/** A line for each row, with tabs between the cells. A table of one row or one column has nothing above its rows. */
export function tableText(rows: readonly (readonly string[])[], hasHeader = true): string {
  const lines = rows.map((cells) => cells.map((cell) => cell.replace(/\s+/g, ' ').trim()).join('\t')).filter(hasText);
  const isTable = hasHeader && lines.length > 1 && rows.some(({ length }) => length > 1);
  return isTable ? markedTable(lines.join('\n')) : lines.join('\n');
}

const hasText = (line: string): boolean => /\S/.test(line);

/** A text of separated values is one table. Its first line may go on, in quotes, behind line breaks. */
export function separatedValues(text: string): Table[] {
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted;
    if (text[at] === '\n' && !isQuoted) return [{ start: 0, headerEnd: at + 1, end: text.length }];
  }
  return [];
}
