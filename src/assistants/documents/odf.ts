import { partsOf, partText } from './archive.ts';
import { invalid } from './document.ts';
import { markedHeading, markedPage, unmarked } from './marks.ts';
import { tableText } from './tables.ts';
import { readXml } from './xml.ts';

/** What a sheet says once and means many times: so many cells at most are written out. */
const MOST_REPEATED = 100_000;
/** A row that is formatted to its end has a thousand empty cells. */
const MOST_EMPTY = 64;

interface OpenTable {
  readonly rows: string[][];
  row: string[];
  cell: string[];
  repeatsRow: number;
  repeatsCell: number;
}

/** The paragraphs, slides or sheets of an OpenDocument file, in order, without comments and what was deleted. */
export function textOfOdf(bytes: Uint8Array): string {
  const parts = partsOf(bytes, (name) => name === 'content.xml' || name === 'META-INF/manifest.xml');
  if (/<(?:\w+:)?encryption-data/.test(partText(parts, 'META-INF/manifest.xml') ?? ''))
    invalid('The document is encrypted.');
  const content = partText(parts, 'content.xml') ?? invalid('The file is no OpenDocument file.');
  const blocks: string[] = [];
  const tables: OpenTable[] = [];
  /** Of paragraphs within each other: notes stand in the text that they belong to. */
  const paragraphs: string[] = [];
  let silent = 0;
  let repeated = 0;
  /** Of each of these, if it is a heading. */
  const levels: (number | null)[] = [];
  /** Slides that began since the last block. */
  let slides = '';
  const put = (text: string, level: number | null = null) => {
    const said = text.trim();
    if (!said) return;
    if (tables.length > 0) tables.at(-1)!.cell.push(said);
    else {
      blocks.push(`${slides}${level === null ? said : markedHeading(level, said)}`);
      slides = '';
    }
  };
  const say = (text: string) => {
    if (silent === 0 && paragraphs.length > 0) paragraphs[paragraphs.length - 1] += text;
  };
  const times = (count: number): number => {
    repeated += count - 1;
    return repeated > MOST_REPEATED ? invalid(`The document repeats more than ${MOST_REPEATED} cells.`) : count;
  };

  readXml(content, {
    open: (name, attributes) => {
      const table = tables.at(-1);
      if (SILENT.has(name)) silent++;
      if (name === 'page') slides += markedPage('');
      if (name === 'p' || name === 'h') {
        paragraphs.push('');
        levels.push(name === 'h' ? Number(attributes['text:outline-level'] ?? 1) || 1 : null);
      }
      if (name === 'tab') say('\t');
      if (name === 's') say(' '.repeat(Math.min(1_000, Number(attributes['text:c'] ?? 1) || 1)));
      if (name === 'line-break') say('\n');
      if (name === 'table') tables.push({ rows: [], row: [], cell: [], repeatsRow: 1, repeatsCell: 1 });
      if (name === 'table-row' && table) table.repeatsRow = Number(attributes['table:number-rows-repeated'] ?? 1) || 1;
      if (CELLS.has(name) && table) table.repeatsCell = Number(attributes['table:number-columns-repeated'] ?? 1) || 1;
    },
    text: (text) => say(unmarked(text)),
    close: (name) => {
      if (SILENT.has(name)) silent--;
      if (name === 'p' || name === 'h') put(paragraphs.pop() ?? '', levels.pop() ?? null);
      const table = tables.at(-1);
      if (!table) return;
      if (CELLS.has(name)) {
        const text = table.cell.splice(0).join(' ');
        const count = text ? times(table.repeatsCell) : Math.min(MOST_EMPTY, table.repeatsCell);
        for (let index = 0; index < count; index++) table.row.push(text);
      }
      if (name === 'table-row') {
        const { row } = table;
        table.row = [];
        while (row.at(-1) === '') row.pop();
        const count = row.length > 0 ? times(table.repeatsRow) : 1;
        for (let index = 0; index < count; index++) table.rows.push(row);
      }
      if (name !== 'table') return;
      tables.pop();
      // A table in a cell is part of that cell.
      put(tableText(table.rows, tables.length === 0));
    },
  });
  return blocks.join('\n\n');
}

const CELLS = new Set(['table-cell', 'covered-table-cell']);
const SILENT = new Set(['tracked-changes', 'annotation', 'forms', 'font-face-decls', 'automatic-styles']);
