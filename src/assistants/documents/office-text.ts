import { markedHeading, unmarked } from './marks.ts';
import { tableText } from './tables.ts';
import { readXml } from './xml.ts';

interface OpenTable {
  readonly rows: string[][];
  /** Of the cell that is open. */
  cell: string[];
}

/**
 * The paragraphs of a part of an Office document, and its tables: each row is one line. Text that was deleted while changes
 * were tracked, and the instructions of fields, are in elements of other names. `levels`: of styles that make a paragraph a heading.
 */
export function paragraphsIn(xml: string, between: string, levels?: ReadonlyMap<string, number>): string {
  const blocks: string[] = [];
  const tables: OpenTable[] = [];
  let paragraph = '';
  let isText = false;
  /** The same once more, for programs that do not know the first form. */
  let fallbacks = 0;
  /** Of paragraphs within each other: whether each is a heading, and how deep. */
  const headings: (number | null)[] = [];
  /** How paragraphs were before a tracked change. */
  let changes = 0;
  const put = (text: string, level: number | null = null) => {
    const said = text.trim();
    if (!said) return;
    if (tables.length > 0) tables.at(-1)!.cell.push(said);
    else blocks.push(level === null ? said : markedHeading(level, said));
  };
  const style = (name: string, value: string | undefined) => {
    if (headings.length === 0 || changes > 0 || value === undefined) return;
    const level = name === 'pStyle' ? (levels?.get(value) ?? null) : outlineLevel(value);
    headings[headings.length - 1] = level ?? headings.at(-1)!;
  };
  readXml(xml, {
    open: (name, attributes) => {
      if (name === 'Fallback') fallbacks++;
      if (fallbacks > 0) return;
      if (name === 'p') headings.push(null);
      if (name === 'pPrChange') changes++;
      if (levels && (name === 'pStyle' || name === 'outlineLvl')) style(name, attributes['w:val']);
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
      if (name === 'pPrChange' && changes > 0) changes--;
      if (name === 'p') {
        put(paragraph, (fallbacks > 0 ? null : headings.pop()) ?? null);
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

/** Null: text below headings. */
export const outlineLevel = (value: string): number | null => (/^[0-8]$/.test(value) ? Number(value) + 1 : null);
