import { partsOf, partText } from './archive.ts';
import { invalid } from './document.ts';
import { markedHeading, markedTable, unmarked } from './marks.ts';
import { readXml, relationsIn } from './xml.ts';

const WORKBOOK = 'xl/workbook.xml';

/** The sheets of a workbook: their names, and below each its rows, with tabs between the cells. */
export function textOfXlsx(bytes: Uint8Array): string {
  const parts = partsOf(bytes, (name) => /^xl\/(?:worksheets|_rels)\/|^xl\/\w+\.xml$/.test(name));
  const workbook = partText(parts, WORKBOOK) ?? invalid('The file is no workbook.');
  const targets = relationsIn(partText(parts, 'xl/_rels/workbook.xml.rels'), WORKBOOK);
  const strings = sharedStrings(partText(parts, 'xl/sharedStrings.xml'));
  const dates = dateStyles(partText(parts, 'xl/styles.xml'));
  const texts: string[] = [];
  readXml(workbook, {
    open: (name, attributes) => {
      if (name !== 'sheet') return;
      const xml = partText(parts, targets.get(attributes['r:id'] ?? '') ?? '');
      const rows = xml ? rowsIn(xml, strings, dates) : '';
      if (rows) texts.push(`${markedHeading(1, unmarked(attributes.name ?? ''))}\n${markedTable(unmarked(rows))}`);
    },
  });
  return texts.join('\n\n');
}

/** Texts that cells name by their number. How they are pronounced stands beside them and is no part of them. */
function sharedStrings(xml: string | null): readonly string[] {
  const strings: string[] = [];
  if (xml === null) return strings;
  let text = '';
  let isText = false;
  let isSpoken = false;
  readXml(xml, {
    open: (name) => {
      if (name === 't') isText = true;
      if (name === 'rPh') isSpoken = true;
    },
    text: (piece) => {
      if (isText && !isSpoken) text += piece;
    },
    close: (name) => {
      if (name === 't') isText = false;
      if (name === 'rPh') isSpoken = false;
      if (name !== 'si') return;
      strings.push(text);
      text = '';
    },
  });
  return strings;
}

const isDateFormat = (id: number): boolean => (id >= 14 && id <= 22) || (id >= 45 && id <= 47);

/** Which styles show a number as a date. */
function dateStyles(xml: string | null): ReadonlySet<number> {
  const styles = new Set<number>();
  if (xml === null) return styles;
  const formats = new Set<number>();
  let isCells = false;
  let number = 0;
  readXml(xml, {
    open: (name, attributes) => {
      const id = Number(attributes.numFmtId);
      // What stands in quotes or brackets is shown as it is, and says nothing about the number.
      if (name === 'numFmt' && /[ymdh]/i.test((attributes.formatCode ?? '').replace(/"[^"]*"|\[[^\]]*\]|\\./g, '')))
        formats.add(id);
      if (name === 'cellXfs') isCells = true;
      if (name !== 'xf' || !isCells) return;
      if (isDateFormat(id) || formats.has(id)) styles.add(number);
      number++;
    },
    close: (name) => {
      if (name === 'cellXfs') isCells = false;
    },
  });
  return styles;
}

function rowsIn(xml: string, strings: readonly string[], dates: ReadonlySet<number>): string {
  const rows: string[] = [];
  let cells: string[] = [];
  let cell: { readonly type: string; readonly isDate: boolean; value: string } | null = null;
  let isValue = false;
  readXml(xml, {
    open: (name, attributes) => {
      if (name === 'c')
        cell = { type: attributes.t ?? 'n', isDate: dates.has(Number(attributes.s ?? Number.NaN)), value: '' };
      if (name === 'v' || name === 't') isValue = true;
    },
    text: (text) => {
      if (isValue && cell) cell.value += text;
    },
    close: (name) => {
      if (name === 'v' || name === 't') isValue = false;
      if (name === 'c' && cell) {
        cells.push(shown(cell, strings));
        cell = null;
      }
      if (name !== 'row') return;
      const row = cells.join('\t').trim();
      if (row) rows.push(row);
      cells = [];
    },
  });
  return rows.join('\n');
}

function shown({ type, isDate, value }: { type: string; isDate: boolean; value: string }, strings: readonly string[]) {
  if (type === 's') return strings[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type === 'n' && isDate && value !== '') return dateOf(Number(value)) ?? value;
  return value;
}

const DAY_MS = 86_400_000;
/** Day 0 by the count that includes a 29 February 1900. */
const FIRST_DAY = Date.UTC(1899, 11, 30);

function dateOf(days: number): string | null {
  const date = new Date(FIRST_DAY + Math.round(days * 86_400) * 1_000);
  if (!(days >= 1) || Number.isNaN(date.getTime())) return null;
  const text = date.toISOString();
  return (date.getTime() - FIRST_DAY) % DAY_MS === 0 ? text.slice(0, 10) : text.slice(0, 19).replace('T', ' ');
}
