import { tableText, unmarked } from './tables.ts';
import { readXml } from './xml.ts';

interface OpenTable {
  readonly rows: string[][];
  /** Of the cell that is open. */
  cell: string[];
}

/**
 * The paragraphs of a part of an Office document, and its tables: each row is one line. Text that was deleted while changes
 * were tracked, and the instructions of fields, are in elements of other names.
 */
export function paragraphsIn(xml: string, between: string): string {
  const blocks: string[] = [];
  const tables: OpenTable[] = [];
  let paragraph = '';
  let isText = false;
  /** The same once more, for programs that do not know the first form. */
  let fallbacks = 0;
  const put = (text: string) => {
    if (text.trim()) (tables.at(-1)?.cell ?? blocks).push(text.trim());
  };
  readXml(xml, {
    open: (name) => {
      if (name === 'Fallback') fallbacks++;
      if (fallbacks > 0) return;
      if (name === 't') isText = true;
      if (name === 'tab') paragraph += '\t';
      if (name === 'br' || name === 'cr') paragraph += '\n';
      if (name === 'tbl') tables.push({ rows: [], cell: [] });
      if (name === 'tr') tables.at(-1)?.rows.push([]);
    },
    text: (text) => {
      if (isText) paragraph += unmarked(text);
    },
    close: (name) => {
      if (name === 'Fallback') fallbacks--;
      if (name === 't') isText = false;
      if (name === 'p') {
        put(paragraph);
        paragraph = '';
      }
      const table = tables.at(-1);
      if (!table || fallbacks > 0) return;
      if (name === 'tc') table.rows.at(-1)?.push(table.cell.splice(0).join(' '));
      if (name !== 'tbl') return;
      tables.pop();
      // A table in a cell is part of that cell.
      put(tableText(table.rows, tables.length === 0));
    },
  });
  return blocks.join(between);
}
