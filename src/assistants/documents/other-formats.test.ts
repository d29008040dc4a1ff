import { describe, expect, test } from 'bun:test';
import { strToU8 } from 'fflate';
import { epub, odf } from '../../../test/assistants/documents.ts';
import { DocumentFault } from './document.ts';
import { extract } from './extract-text.ts';

const read = (filename: string, bytes: Uint8Array | string) =>
  extract(filename, typeof bytes === 'string' ? strToU8(bytes, true) : bytes);
const textOf = async (filename: string, bytes: Uint8Array | string) => (await read(filename, bytes)).text;

async function faultOf(filename: string, bytes: Uint8Array | string): Promise<string> {
  try {
    return `no fault: ${(await textOf(filename, bytes)).slice(0, 80)}`;
  } catch (error) {
    if (error instanceof DocumentFault) return `${error.code}: ${error.message}`;
    throw error;
  }
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const cellOf = (text: string, more = '') =>
  `<table:table-cell${more}><text:p>${escaped(text)}</text:p></table:table-cell>`;
const tableOf = (rows: readonly (readonly string[])[]) =>
  `<table:table>${rows.map((row) => `<table:table-row>${row.map((cell) => cellOf(cell)).join('')}</table:table-row>`).join('')}</table:table>`;

describe('OpenDocument', () => {
  test('has headings, paragraphs, tabs, spaces, line breaks and notes, and neither comments nor what was deleted', async () => {
    const body =
      '<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:h>Größe</text:h>' +
      '<text:p>one<text:tab/>two<text:s text:c="2"/>three<text:line-break/>four' +
      '<office:annotation><text:p>a comment</text:p></office:annotation></text:p>' +
      '<text:p>with a note<text:note><text:note-body><text:p>below</text:p></text:note-body></text:note>.</text:p>';
    expect(await textOf('a.odt', odf('text', body))).toBe('Größe\n\none\ttwo  three\nfour\n\nbelow\n\nwith a note.');
  });

  test('has a line for each row of a table, also of those that are said once for many', async () => {
    const repeated =
      `<table:table><table:table-row>${cellOf('name')}${cellOf('sum')}<table:table-cell table:number-columns-repeated="1022"/></table:table-row>` +
      `<table:table-row table:number-rows-repeated="2">${cellOf('x', ' table:number-columns-repeated="2"')}</table:table-row>` +
      '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="1024"/></table:table-row></table:table>';
    const sheet = await read('a.ods', odf('spreadsheet', repeated));
    expect([sheet.text, sheet.tables.length]).toEqual(['name\tsum\nx\tx\nx\tx', 1]);
  });

  test('that is encrypted, is something else, or means far more than it says is refused', async () => {
    const sealed = {
      'META-INF/manifest.xml': '<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>',
    };
    expect(await faultOf('a.odt', odf('text', '', sealed))).toBe('invalid_file: The document is encrypted.');
    expect(await faultOf('a.odt', 'plain')).toStartWith('invalid_file: The file is no ODT document');
    const bomb = `<table:table><table:table-row table:number-rows-repeated="1000000">${cellOf('x')}</table:table-row></table:table>`;
    expect(await faultOf('a.ods', odf('spreadsheet', bomb))).toStartWith(
      'invalid_file: The document repeats more than',
    );
    expect(await faultOf('a.odt', odf('text', '<text:p>'.repeat(100_000)))).toContain('nested too deeply');
  });
});

describe('EPUB', () => {
  test('has its chapters in the order in which they are read', async () => {
    const chapters = [
      '<h1>One</h1><p>The heron waits.</p>',
      '<p>Two</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>',
    ];
    const book = await read('a.epub', epub(chapters));
    expect([book.text, book.tables.length]).toEqual(['One\n\nThe heron waits.\n\nTwo\n\na\tb\n1\t2', 1]);
  });

  test('with sealed fonts is read, with sealed chapters refused, and so is one that says nothing of itself', async () => {
    const sealing = (path: string) => ({
      'META-INF/encryption.xml': `<encryption><enc:CipherReference URI="${path}"/></encryption>`,
    });
    expect(await textOf('a.epub', epub(['<p>One</p>'], sealing('OEBPS/font.otf')))).toBe('One');
    expect(await faultOf('a.epub', epub(['<p>One</p>'], sealing('OEBPS/text/chapter%201.xhtml')))).toBe(
      'invalid_file: The book is encrypted.',
    );
    expect(await faultOf('a.epub', epub(['<p>One</p>'], { 'META-INF/container.xml': '<container/>' }))).toBe(
      'invalid_file: The file is no EPUB book.',
    );
  });
});

describe('mail', () => {
  const message = (lines: readonly string[]) => lines.join('\r\n');

  test('has who wrote to whom, when and about what, its text, and the names of what is attached', async () => {
    const mail = message([
      'From: =?utf-8?q?S=C3=B8ren?= <soren@example.com>',
      'To: Ada <ada@example.com>, team@example.com',
      'Subject: =?utf-8?b?UmVjaG51bmcgZsO8ciBaw7xyaWNo?=',
      'Date: Mon, 16 Nov 2026 10:00:00 +0100',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=outer',
      '',
      '--outer',
      'Content-Type: multipart/alternative; boundary=inner',
      '',
      '--inner',
      'Content-Type: text/plain; charset=iso-8859-15',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      'Gr=FC=DFe: 440.00 und 411.21 =A4.',
      '--inner',
      'Content-Type: text/html',
      '',
      '<p>the same once more</p>',
      '--inner--',
      '--outer',
      'Content-Type: application/pdf; name="invoice.pdf"',
      'Content-Disposition: attachment; filename="invoice.pdf"',
      'Content-Transfer-Encoding: base64',
      '',
      'JVBERi0xLjQ=',
      '--outer--',
      '',
    ]);
    expect(await textOf('a.eml', mail)).toBe(
      'Subject: Rechnung für Zürich\nFrom: Søren <soren@example.com>\nTo: Ada <ada@example.com>, <team@example.com>\n' +
        'Date: 2026-11-16T09:00:00.000Z\n\nGrüße: 440.00 und 411.21 €.\n\nAttachment: invoice.pdf',
    );
  });

  test('that is a page has the text of the page', async () => {
    const mail = message(['Subject: Page', 'Content-Type: text/html; charset=utf-8', '', '<h1>One</h1><p>Two</p>']);
    expect(await textOf('a.eml', mail)).toBe('Subject: Page\n\nOne\n\nTwo');
  });

  test('in mail without end is refused', async () => {
    let mail = 'Subject: last\r\n\r\nend';
    for (let depth = 0; depth < 60; depth++)
      mail = `Content-Type: multipart/mixed; boundary=b${depth}\r\n\r\n--b${depth}\r\n${mail}\r\n--b${depth}--\r\n`;
    expect(await faultOf('a.eml', mail)).toBe('invalid_file: The message is damaged: it cannot be read.');
  });
});

describe('RTF', () => {
  test('has its text in its code page and in Unicode, its notes, and nothing of fonts, pictures and instructions', async () => {
    const document =
      '{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Times;}}{\\*\\generator Word;}{\\info{\\title hidden}}\r\n' +
      "\\pard Gr\\'fc\\'dfe \\u8212- \\uc2\\u20013??\\uc1 \\{ok\\}\\line next\\tab x\\par\r\n" +
      '{\\pict\\bin4 }}}}}second{\\*\\footnote  a note}{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt  a link}}\\par}';
    expect(await textOf('a.rtf', document)).toBe('Grüße — 中{ok}\nnext\tx\n\nsecond a note a link');
    expect(await textOf('a.txt', document)).toStartWith('Grüße');
    expect(await textOf('a.rtf', "{\\rtf1\\ansi\\ansicpg932 \\'93\\'fa\\'96\\'7b}")).toBe('日本');
  });

  test('has a line for each row of a table', async () => {
    const row = (...cells: string[]) =>
      `\\trowd\\cellx1\\cellx2 ${cells.map((cell) => `{${cell}\\par}\\cell `).join('')}\\row `;
    const { text, tables } = await read(
      'a.rtf',
      `{\\rtf1 Above\\par ${row('a', 'b')}${row('440.00', '411.21')}\\pard Below}`,
    );
    expect([text, tables.length]).toEqual(['Above\n\na\tb\n440.00\t411.21\n\nBelow', 1]);
  });

  test('nesting without end, and what ends in the middle, does no harm', async () => {
    expect(await faultOf('a.rtf', `{\\rtf1 ${'{'.repeat(100_000)}`)).toContain('nested too deeply');
    expect(await textOf('a.rtf', '{\\rtf1 cut \\')).toBe('cut');
    expect(await textOf('a.rtf', '{\\rtf1 }}}}after')).toBe('after');
    expect(await textOf('a.rtf', '{\\rtf1 one\\bin99999999999 two')).toBe('one');
  });
});

test('numbers of generated tables are never glued, lost or turned around, in any of these formats', async () => {
  let state = 7;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % limit;
  };
  for (let round = 0; round < 60; round++) {
    const columns = 2 + below(5);
    const rows = Array.from({ length: 2 + below(8) }, () =>
      Array.from({ length: columns }, () =>
        below(4) === 0 ? `Wört ${below(99)} <&>` : `${below(10_000)}.${below(100)}`,
      ),
    );
    const wanted = rows.map((row) => row.join('\t')).join('\n');
    const html = `<table>${rows.map((row) => `<tr>${row.map((cell) => `<th>${escaped(cell)}</th>`).join('')}</tr>`).join('')}</table>`;
    const rtf = rows.map(
      (row) => `\\trowd ${row.map((cell) => `${cell.replace('ö', "\\'f6")}\\cell `).join('')}\\row `,
    );
    expect(await textOf('a.odt', odf('text', tableOf(rows)))).toBe(wanted);
    expect(await textOf('a.epub', epub([html]))).toBe(wanted);
    expect(await textOf('a.rtf', `{\\rtf1\\ansi ${rtf.join('')}}`)).toBe(wanted);
    expect(
      await textOf('a.eml', `Content-Type: text/html; charset=utf-8\r\n\r\n${Buffer.from(html).toString('latin1')}`),
    ).toBe(wanted);
  }
});
