import { strToU8 } from 'fflate';
import { docx, epub, odf, pptx, xlsx } from '../assistants/documents.ts';
import { type Drawing, drawnPdf } from './drawn-pdf.ts';

/** What a document of the corpus says, whatever format it is written in. */
export type Block = { readonly heading: string } | { readonly text: string } | { readonly rows: Rows };
export type Rows = readonly (readonly string[])[];

export interface Content {
  readonly title: string;
  readonly blocks: readonly Block[];
}

export interface Format {
  readonly extension: string;
  /** Whether the format has nothing but tables. */
  readonly isTable?: boolean;
  readonly write: (content: Content) => Uint8Array;
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const said = ({ title, blocks }: Content, one: (block: Block) => string, between = '\n\n'): string =>
  [one({ heading: title }), ...blocks.map(one)].join(between);

const quoted = (cell: string, mark: string): string =>
  cell.includes(mark) || /["\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
const separated = (rows: Rows, mark: string): string =>
  rows.map((row) => row.map((cell) => quoted(cell, mark)).join(mark)).join('\n');

/** All of a document as one table: texts are rows of one cell. */
const asRows = ({ title, blocks }: Content): string[][] => [
  [title],
  ...blocks.flatMap((block) =>
    'rows' in block ? block.rows.map((row) => [...row]) : [['heading' in block ? block.heading : block.text]],
  ),
];
/** A file of separated values has no title: its table alone, or its texts under one name. */
const tableOf = ({ title, blocks }: Content): Rows => {
  const tables = blocks.flatMap((block) => ('rows' in block ? [block.rows] : []));
  if (tables.length > 0) return tables.flat();
  return [['text'], [title], ...blocks.flatMap((block) => ('text' in block ? [[block.text]] : []))];
};

const html = (content: Content): string => {
  let isFirst = true;
  return said(
    content,
    (block) => {
      if ('heading' in block) {
        const name = isFirst ? 'h1' : 'h2';
        isFirst = false;
        return `<${name}>${escaped(block.heading)}</${name}>`;
      }
      if ('text' in block) return `<p>${escaped(block.text)}</p>`;
      const row = (cells: readonly string[], name: string) =>
        `<tr>${cells.map((cell) => `<${name}>${escaped(cell)}</${name}>`).join('')}</tr>`;
      return `<table>${block.rows.map((cells, index) => row(cells, index === 0 ? 'th' : 'td')).join('\n')}</table>`;
    },
    '\n',
  );
};

const markdown = (content: Content): string => {
  let isFirst = true;
  return said(content, (block) => {
    if ('heading' in block) {
      const mark = isFirst ? '#' : '##';
      isFirst = false;
      return `${mark} ${block.heading}`;
    }
    if ('text' in block) return block.text;
    const [head = [], ...rows] = block.rows;
    return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
  });
};

const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
function word(content: Content): Uint8Array {
  let isFirst = true;
  const paragraph = (text: string, style = '') =>
    `<w:p>${style && `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r><w:t xml:space="preserve">${escaped(text)}</w:t></w:r></w:p>`;
  const body = said(
    content,
    (block) => {
      if ('heading' in block) {
        const style = isFirst ? 'Heading1' : 'Heading2';
        isFirst = false;
        return paragraph(block.heading, style);
      }
      if ('text' in block) return paragraph(block.text);
      const rows = block.rows.map(
        (row) => `<w:tr>${row.map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join('')}</w:tr>`,
      );
      return `<w:tbl>${rows.join('')}</w:tbl>`;
    },
    '',
  );
  return docx([], {
    'word/document.xml': `<?xml version="1.0" encoding="UTF-8"?><w:document ${W}><w:body>${body}</w:body></w:document>`,
  });
}

const A =
  'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"';
function slides(content: Content): Uint8Array {
  const paragraph = (text: string) => `<a:p><a:r><a:t>${escaped(text)}</a:t></a:r></a:p>`;
  const body = said(
    content,
    (block) => {
      if ('heading' in block) return `<p:sp><p:txBody>${paragraph(block.heading)}</p:txBody></p:sp>`;
      if ('text' in block) return `<p:sp><p:txBody>${paragraph(block.text)}</p:txBody></p:sp>`;
      const rows = block.rows.map(
        (row) => `<a:tr>${row.map((cell) => `<a:tc><a:txBody>${paragraph(cell)}</a:txBody></a:tc>`).join('')}</a:tr>`,
      );
      return `<p:graphicFrame><a:graphic><a:graphicData><a:tbl>${rows.join('')}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`;
    },
    '',
  );
  return pptx([['']], '', {
    'ppt/slides/slide1.xml': `<?xml version="1.0" encoding="UTF-8"?><p:sld ${A}><p:cSld><p:spTree>${body}</p:spTree></p:cSld></p:sld>`,
  });
}

const odfTable = (rows: Rows): string =>
  `<table:table>${rows
    .map(
      (row) =>
        `<table:table-row>${row.map((cell) => `<table:table-cell><text:p>${escaped(cell)}</text:p></table:table-cell>`).join('')}</table:table-row>`,
    )
    .join('')}</table:table>`;
const odfBody = (content: Content): string =>
  said(
    content,
    (block) => {
      if ('heading' in block) return `<text:h>${escaped(block.heading)}</text:h>`;
      return 'text' in block ? `<text:p>${escaped(block.text)}</text:p>` : odfTable(block.rows);
    },
    '',
  );

const rtfText = (text: string): string =>
  text.replace(/[\\{}]|[^\x20-\x7e]/g, (character) => {
    if ('\\{}'.includes(character)) return `\\${character}`;
    return `\\u${(character.charCodeAt(0) << 16) >> 16}?`;
  });
const rtf = (content: Content): string =>
  `{\\rtf1\\ansi\\ansicpg1252\\uc1{\\fonttbl{\\f0 Helvetica;}}${said(
    content,
    (block) => {
      if ('heading' in block) return `{\\b ${rtfText(block.heading)}}\\par `;
      if ('text' in block) return `${rtfText(block.text)}\\par `;
      return block.rows
        .map(
          (row) =>
            `\\trowd${row.map((_, index) => `\\cellx${(index + 1) * 1_000}`).join('')} ${row.map((cell) => `${rtfText(cell)}\\cell `).join('')}\\row\n`,
        )
        .join('');
    },
    '\n',
  )}}`;

const base64Lines = (text: string): string => Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\r\n');
const encodedWords = (text: string): string =>
  [...text.matchAll(/.{1,10}/gsu)].map(([part]) => `=?utf-8?B?${Buffer.from(part).toString('base64')}?=`).join('\r\n ');
const mail = (content: Content): string =>
  [
    `Subject: ${encodedWords(content.title)}`,
    'From: Archive <archive@example.com>',
    'To: Readers <readers@example.com>',
    'Date: Mon, 16 Nov 2026 10:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    base64Lines(`<html><body>${html({ ...content, title: '' })}</body></html>`),
  ].join('\r\n');

const json = ({ title, blocks }: Content): string => {
  const records = (rows: Rows) => {
    const [head = [], ...others] = rows;
    return others.map((row) => Object.fromEntries(row.map((cell, index) => [head[index] ?? `column ${index}`, cell])));
  };
  const parts = blocks.map((block) => ('rows' in block ? { table: records(block.rows) } : block));
  return JSON.stringify({ title, parts }, null, 2);
};

/** A number is a number in a sheet. */
const cellOf = (cell: string): string | number => (/^(?:0|[1-9]\d{0,8})$/.test(cell) ? Number(cell) : cell);

const pdf = (drawing: Drawing): Format => ({ extension: 'pdf', write: (content) => drawnPdf(content, drawing) });

/** Every format in which the corpus is written; PDF as programs of different habits draw it. */
export const FORMATS = {
  txt: {
    extension: 'txt',
    write: (content) =>
      strToU8(
        said(content, (block) =>
          'heading' in block ? block.heading : 'text' in block ? block.text : separated(block.rows, '\t'),
        ),
      ),
  },
  md: { extension: 'md', write: (content) => strToU8(markdown(content)) },
  html: {
    extension: 'html',
    write: (content) => strToU8(`<!doctype html><html><head></head><body>${html(content)}</body></html>`),
  },
  json: { extension: 'json', write: (content) => strToU8(json(content)) },
  csv: { extension: 'csv', isTable: true, write: (content) => strToU8(separated(tableOf(content), ',')) },
  tsv: { extension: 'tsv', isTable: true, write: (content) => strToU8(separated(tableOf(content), '\t')) },
  docx: { extension: 'docx', write: word },
  pptx: { extension: 'pptx', write: slides },
  xlsx: {
    extension: 'xlsx',
    write: (content) =>
      xlsx(
        'Sheet',
        asRows(content).map((row) => row.map(cellOf)),
      ),
  },
  odt: { extension: 'odt', write: (content) => odf('text', odfBody(content)) },
  odp: { extension: 'odp', write: (content) => odf('presentation', odfBody(content)) },
  ods: { extension: 'ods', write: (content) => odf('spreadsheet', odfTable(asRows(content))) },
  epub: { extension: 'epub', write: (content) => epub([html(content)]) },
  eml: { extension: 'eml', write: (content) => strToU8(mail(content)) },
  rtf: { extension: 'rtf', write: (content) => strToU8(rtf(content), true) },
  'pdf, lines': pdf('lines'),
  'pdf, words placed': pdf('words'),
  'pdf, kerned': pdf('kerned'),
  'pdf, scan with text': pdf('scan'),
  'pdf, two columns': pdf('columns'),
} as const satisfies Readonly<Record<string, Format>>;

export type FormatName = keyof typeof FORMATS;
export const FORMAT_NAMES = Object.keys(FORMATS) as FormatName[];
