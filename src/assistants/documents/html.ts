import { Parser } from 'htmlparser2';
import { invalid } from './document.ts';
import { HEADING_ENDS, headingBegins, unmarked } from './marks.ts';
import { tableText } from './tables.ts';

const SILENT = new Set(['script', 'style', 'template', 'noscript', 'svg', 'head']);
const BLOCKS = new Set(
  (
    'address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 ' +
    'header hr li main nav ol p pre section summary table tbody td tfoot th thead title tr ul'
  ).split(' '),
);

const HEADING = /^h[1-6]$/;

/** The parser's time grows with the depth; pages that forget to close what they open are no deeper than this. */
const MOST_DEPTH = 10_000;

interface OpenTable {
  readonly rows: string[][];
  /** Of the cell that is open; null between cells. */
  cell: string[] | null;
  hasHeader: boolean;
  /** A table with others in it only says where these stand. */
  isFrame: boolean;
}

/** The text of a page as people read it: blocks and rows of tables on lines of their own, without scripts, styles and markup. */
export function textOfHtml(page: string): string {
  const pieces: string[] = [];
  const tables: OpenTable[] = [];
  let silentDepth = 0;
  let preDepth = 0;
  let depth = 0;
  /** The heading that is open. It begins with its first letter; one in a table says nothing about what stands below. */
  let heading: { readonly level: number; isSaid: boolean } | null = null;
  const put = (text: string) => (tables.at(-1)?.cell ?? pieces).push(text);
  const say = (text: string) => {
    const letter = heading && !heading.isSaid ? text.search(/\S/) : -1;
    if (!heading || letter < 0) return put(text);
    heading.isSaid = true;
    put(`${text.slice(0, letter)}${headingBegins(heading.level)}${text.slice(letter)}`);
  };
  const endHeading = () => {
    if (heading?.isSaid) put(HEADING_ENDS);
    heading = null;
  };

  const openCell = (name: string) => {
    const table = tables.at(-1);
    if (!table) return;
    if (table.rows.length === 0) table.rows.push([]);
    closeCell();
    table.cell = [];
    if (name === 'th' && table.rows.length === 1) table.hasHeader = true;
  };
  const closeCell = () => {
    const table = tables.at(-1);
    if (!table?.cell) return;
    const { cell } = table;
    table.cell = null;
    if (table.isFrame) pieces.push(cell.join(''), '\n');
    else table.rows.at(-1)!.push(cell.join(''));
  };
  const openTable = () => {
    for (const outer of tables) {
      if (outer.isFrame) continue;
      outer.isFrame = true;
      // What stood in it so far stands above.
      pieces.push(tableText(outer.rows, false), '\n');
      outer.rows.splice(0, outer.rows.length, []);
    }
    const around = tables.at(-1)?.cell;
    if (around) pieces.push(around.splice(0).join(''), '\n');
    tables.push({ rows: [], cell: null, hasHeader: false, isFrame: false });
  };
  const closeTable = () => {
    closeCell();
    const table = tables.pop();
    if (table && !table.isFrame) pieces.push('\n', tableText(table.rows, table.hasHeader), '\n');
  };

  const parser = new Parser({
    onopentagname: (name) => {
      if (++depth > MOST_DEPTH) invalid('The page is damaged: it is nested too deeply.');
      if (SILENT.has(name)) silentDepth++;
      if (name === 'pre') preDepth++;
      // A title stands in the silent head and is worth finding.
      if (name === 'title') silentDepth--;
      // A heading that the page does not close ends with the next block.
      if (heading?.isSaid && name !== 'br' && BLOCKS.has(name)) endHeading();
      if (name === 'table') {
        endHeading();
        openTable();
      }
      if (HEADING.test(name) && tables.length === 0 && silentDepth <= 0)
        heading = { level: Number(name[1]), isSaid: false };
      if (name === 'td' || name === 'th') openCell(name);
      else if (BLOCKS.has(name)) put('\n');
      if (name === 'tr') {
        closeCell();
        tables.at(-1)?.rows.push([]);
      }
    },
    ontext: (text) => {
      if (silentDepth <= 0) say(unmarked(preDepth > 0 ? text : text.replace(/\s+/g, ' ')));
    },
    onclosetag: (name) => {
      depth--;
      if (SILENT.has(name)) silentDepth--;
      if (name === 'pre') preDepth--;
      if (HEADING.test(name)) endHeading();
      if (name === 'title') silentDepth++;
      if (name === 'td' || name === 'th') closeCell();
      if (name === 'table') closeTable();
      else if (BLOCKS.has(name)) put('\n');
    },
  });
  parser.end(page);
  while (tables.length > 0) closeTable();
  return pieces
    .join('')
    .replace(/[ \t]*\n[ \t]*\n\s*/g, '\n\n')
    .trim();
}
