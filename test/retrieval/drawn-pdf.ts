import { assembledPdf } from '../assistants/documents.ts';
import type { Content } from './formats.ts';

/**
 * How a page is drawn. Lines: each as one string. Words placed: each word by itself at its place, tables column by column.
 * Kerned: no spaces at all, gaps in their place. Scan: a picture, and over it the text that nobody sees. Columns: two of
 * them, drawn line by line across the page.
 */
export type Drawing = 'lines' | 'words' | 'kerned' | 'scan' | 'columns';

const SIZE = 10;
const LEADING = 13;
const [HEIGHT, MARGIN] = [792, 60];
/** A sheet lies on its side for two columns. */
const widthFor = (drawing: Drawing): number => (drawing === 'columns' ? 1_190 : 612);
const GUTTER = 28;

const isWide = (character: string): boolean =>
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/.test(character);
/** In thousandths of the size, as a typeface of today has them. */
const widthOf = (character: string): number => {
  if (isWide(character)) return 1_000;
  if (/\p{M}/u.test(character)) return 0;
  if (/[ iljtfI.,:;'|()-]/.test(character)) return 278;
  return /[mwMW]/.test(character) ? 833 : 556;
};
const lengthOf = (text: string): number => ([...text].reduce((sum, each) => sum + widthOf(each), 0) * SIZE) / 1_000;

interface Word {
  readonly text: string;
  readonly x: number;
}
interface Line {
  readonly words: readonly Word[];
  /** Cells stand for themselves: nothing joins them but their place. */
  readonly isRow?: boolean;
}

/** Broken where there is room no more; wide characters stand without spaces and break anywhere. */
function linesOf(text: string, width: number): Line[] {
  const lines: Line[] = [];
  let words: Word[] = [];
  let x = 0;
  const end = () => {
    if (words.length > 0) lines.push({ words });
    words = [];
    x = 0;
  };
  for (const word of text.split(/\s+/).filter(Boolean)) {
    for (const piece of pieces(word, width)) {
      if (x + lengthOf(piece) > width) end();
      words.push({ text: piece, x });
      x += lengthOf(piece) + (piece === word ? lengthOf(' ') : 0);
    }
  }
  end();
  return lines;
}

function pieces(word: string, width: number): string[] {
  if (lengthOf(word) <= width / 3) return [word];
  if (![...word].some(isWide)) return [word];
  return word.match(/.{1,12}/gsu) ?? [];
}

function rowLine(cells: readonly string[], width: number): Line {
  return { words: cells.map((text, index) => ({ text, x: (index * width) / cells.length })), isRow: true };
}

/** Text that has no shape of its own: codes that a table of the document turns into characters. */
class Typeface {
  readonly #codes = new Map<string, number>();

  codesOf(text: string): string {
    return [...text]
      .map((character) => {
        const code = this.#codes.get(character) ?? this.#codes.size + 1;
        this.#codes.set(character, code);
        return code.toString(16).padStart(4, '0');
      })
      .join('');
  }

  get widths(): string {
    return [...this.#codes].map(([character, code]) => `${code} [${widthOf(character)}]`).join(' ');
  }

  get toUnicode(): string {
    const pairs = [...this.#codes].map(([character, code]) => {
      const hex = [...Array(character.length).keys()].map((at) =>
        character.charCodeAt(at).toString(16).padStart(4, '0'),
      );
      return `<${code.toString(16).padStart(4, '0')}> <${hex.join('')}>`;
    });
    const parts: string[] = [];
    for (let at = 0; at < pairs.length; at += 100) {
      const some = pairs.slice(at, at + 100);
      parts.push(`${some.length} beginbfchar\n${some.join('\n')}\nendbfchar`);
    }
    return `/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Here def /CMapType 2 def\n1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n${parts.join('\n')}\nendcmap end end`;
  }
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff]/;

/** What is read from the right is drawn from the left: its last letter first. */
const drawnOrder = (text: string): string =>
  RIGHT_TO_LEFT.test(text)
    ? [...text]
        .reverse()
        .join('')
        .replace(/[\d.,]*\d/g, (number) => [...number].reverse().join(''))
    : text;

export function drawnPdf({ title, blocks }: Content, drawing: Drawing): Uint8Array {
  const columns = drawing === 'columns' ? 2 : 1;
  const whole = widthFor(drawing) - 2 * MARGIN;
  const width = (whole - GUTTER * (columns - 1)) / columns;
  const lines: Line[] = [...linesOf(title, width), { words: [] }];
  for (const block of blocks) {
    if ('rows' in block) lines.push(...block.rows.map((row) => rowLine(row, width)));
    else lines.push(...linesOf('heading' in block ? block.heading : block.text, width));
    lines.push({ words: [] });
  }
  const typeface = new Typeface();
  const perColumn = Math.floor((HEIGHT - 2 * MARGIN) / LEADING);
  const pages: string[] = [];
  for (let at = 0; at < lines.length; at += perColumn * columns) {
    const held = lines.slice(at, at + perColumn * columns);
    // Columns of a page are as long as each other.
    const length = columns === 1 ? perColumn : Math.ceil(held.length / columns);
    pages.push(page(held, length, width, drawing, typeface));
  }
  return assembled(pages, typeface, drawing);
}

/** A line that begins on the right. */
const mirrored = (line: Line, width: number): Line => ({
  ...line,
  words: line.words.map(({ text, x }) => ({ text, x: width - x - lengthOf(text) })).reverse(),
});

interface Placed {
  readonly x: number;
  readonly y: number;
  readonly line: Line;
  readonly column: number;
}

function page(lines: readonly Line[], perColumn: number, width: number, drawing: Drawing, typeface: Typeface): string {
  const placed = lines.map((line, index): Placed => {
    const column = Math.floor(index / perColumn);
    return {
      line,
      column,
      x: MARGIN + column * (width + GUTTER),
      y: HEIGHT - MARGIN - (index % perColumn) * LEADING,
    };
  });
  if (drawing === 'columns') placed.sort((one, other) => other.y - one.y || one.column - other.column);
  const show = (text: string, x: number, y: number) =>
    `1 0 0 1 ${x.toFixed(2)} ${y.toFixed(2)} Tm <${typeface.codesOf(drawnOrder(text))}> Tj`;
  const drawn: string[] = [];
  for (let at = 0; at < placed.length; at++) {
    const { x, y, line: given } = placed[at]!;
    const line = given.words.some(({ text }) => RIGHT_TO_LEFT.test(text)) ? mirrored(given, width) : given;
    if (line.isRow && drawing === 'words') {
      // A whole table, column by column.
      let end = at;
      while (placed[end]?.line.isRow) end++;
      const rows = placed.slice(at, end);
      const most = Math.max(...rows.map(({ line: { words } }) => words.length));
      for (let column = 0; column < most; column++)
        for (const row of rows) {
          const cell = row.line.words[column];
          if (cell) drawn.push(show(cell.text, row.x + cell.x, row.y));
        }
      at = end - 1;
    } else if (line.isRow || drawing === 'words') {
      for (const word of line.words) drawn.push(show(word.text, x + word.x, y));
    } else if (drawing === 'kerned') {
      const parts = line.words.flatMap((word, index) => {
        const before = line.words[index - 1];
        const gap = before ? word.x - before.x - lengthOf(before.text) : 0;
        const codes = typeface.codesOf(drawnOrder(word.text));
        return [...(gap > 0.5 ? [String(Math.round((-gap / SIZE) * 1_000))] : []), `<${codes}>`];
      });
      drawn.push(`1 0 0 1 ${x.toFixed(2)} ${y.toFixed(2)} Tm [${parts.join(' ')}] TJ`);
    } else {
      const text = line.words.reduce((all, word, index) => {
        const before = line.words[index - 1];
        const isApart = before && word.x - before.x - lengthOf(before.text) > 0.5;
        return `${all}${isApart ? ' ' : ''}${drawnOrder(word.text)}`;
      }, '');
      const from = x + (line.words[0]?.x ?? 0);
      if (text) drawn.push(`1 0 0 1 ${from.toFixed(2)} ${y.toFixed(2)} Tm <${typeface.codesOf(text)}> Tj`);
    }
  }
  const picture = drawing === 'scan' ? `q ${widthFor(drawing)} 0 0 ${HEIGHT} 0 0 cm /Scan Do Q\n` : '';
  return `${picture}BT /F1 ${SIZE} Tf ${drawing === 'scan' ? '3 Tr ' : ''}\n${drawn.join('\n')}\nET`;
}

function assembled(pages: readonly string[], typeface: Typeface, drawing: Drawing): Uint8Array {
  const objects: string[] = [];
  const stream = (dictionary: string, body: string) =>
    `<< ${dictionary} /Length ${body.length} >>\nstream\n${body}\nendstream`;
  const kids = pages.map((_, index) => `${8 + index * 2} 0 R`).join(' ');
  objects.push('<< /Type /Catalog /Pages 2 0 R >>');
  objects.push(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`);
  objects.push(
    '<< /Type /Font /Subtype /Type0 /BaseFont /Drawn /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 6 0 R >>',
  );
  objects.push(
    `<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Drawn /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 5 0 R /DW 556 /W [${typeface.widths}] >>`,
  );
  objects.push(
    '<< /Type /FontDescriptor /FontName /Drawn /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 900 /Descent -200 /CapHeight 700 /StemV 80 >>',
  );
  objects.push(stream('', typeface.toUnicode));
  objects.push(
    stream('/Type /XObject /Subtype /Image /Width 8 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 1', '\x55'),
  );
  for (const [index, body] of pages.entries()) {
    const resources = `/Font << /F1 3 0 R >>${drawing === 'scan' ? ' /XObject << /Scan 7 0 R >>' : ''}`;
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${widthFor(drawing)} ${HEIGHT}] /Contents ${9 + index * 2} 0 R /Resources << ${resources} >> >>`,
    );
    objects.push(stream('', body));
  }
  return assembledPdf(objects);
}
