import { describe, expect, test } from 'bun:test';
import { strToU8, zipSync } from 'fflate';
import { docx, pdf, pptx, xlsx } from '../../../test/assistants/documents.ts';
import { partsOf } from './archive.ts';
import { DocumentFault } from './document.ts';
import { extract } from './extract-text.ts';
import { readXml } from './xml.ts';

const extractText = async (filename: string, bytes: Uint8Array) => (await extract(filename, bytes)).text;
const bytesOf = (text: string) => strToU8(text);

async function faultOf(filename: string, bytes: Uint8Array): Promise<string> {
  try {
    return `no fault: ${(await extractText(filename, bytes)).slice(0, 80)}`;
  } catch (error) {
    if (error instanceof DocumentFault) return `${error.code}: ${error.message}`;
    throw error;
  }
}

function utf16(text: string, order: 'le' | 'be', mark: boolean): Uint8Array {
  const bytes = Buffer.from((mark ? '\ufeff' : '') + text, 'utf16le');
  return order === 'le' ? bytes : bytes.swap16();
}

describe('text', () => {
  for (const name of ['a.txt', 'a.md', 'a.json', 'a.csv', 'a.py', 'a.ts', 'Dockerfile', 'notes.unheard-of'])
    test(`${name} is taken as it is`, async () => {
      expect(await extractText(name, bytesOf('# Größe\n{"a": 1}\n'))).toBe('# Größe\n{"a": 1}\n');
    });

  test('a mark in front says the encoding and is no part of the text', async () => {
    expect(await extractText('a.txt', bytesOf('\ufeffGrüße'))).toBe('Grüße');
    expect(await extractText('a.txt', utf16('Grüße 🎉', 'le', true))).toBe('Grüße 🎉');
    expect(await extractText('a.txt', utf16('Grüße 🎉', 'be', true))).toBe('Grüße 🎉');
  });

  test('UTF-16 without a mark is recognised', async () => {
    expect(await extractText('a.txt', utf16('plain western text', 'le', false))).toBe('plain western text');
    expect(await extractText('a.txt', utf16('plain western text', 'be', false))).toBe('plain western text');
  });

  test('zeros and half characters do not reach the store', async () => {
    expect(await extractText('a.txt', bytesOf(`a\0b${'c'.repeat(200)}`))).toBe(`ab${'c'.repeat(200)}`);
  });

  test('bytes that are no text are refused, as broken when the name says text and as unsupported when not', async () => {
    const bytes = Uint8Array.from({ length: 500 }, (_, index) => (index * 7) & 0xff);
    expect(await faultOf('a.txt', bytes)).toBe('invalid_file: The file is no text in UTF-8, UTF-16 or ASCII.');
    expect(await faultOf('a.png', bytes)).toStartWith('unsupported_file: Files of this type cannot be searched');
  });

  test('a file without text is refused', async () => {
    expect(await faultOf('a.txt', bytesOf(' \n\t '))).toBe('invalid_file: The file has no text.');
    expect(await faultOf('a.txt', new Uint8Array())).toBe('invalid_file: The file has no text.');
    expect(await faultOf('a.pdf', pdf(['']))).toBe('invalid_file: The file has no text.');
  });
});

describe('HTML', () => {
  test('is read as people see it', async () => {
    const page = `<html><head><title>The page</title><style>p { color: red }</style></head><body>
      <script>alert('never')</script><h1>Hello &amp; welcome</h1><p>One <b>two</b>
      three.</p><ul><li>first<li>second</ul><pre>a\n  b</pre><!-- hidden --></body></html>`;
    const text = await extractText('a.html', bytesOf(page));
    expect(text.split(/\n+/)).toEqual(['The page', 'Hello & welcome', 'One two three.', 'first', 'second', 'a', '  b']);
  });

  test('has the encoding that it declares', async () => {
    const page = Buffer.from('<meta charset="windows-1252"><p>Gr\xfc\xdfe', 'latin1');
    expect(await extractText('a.htm', page)).toBe('Grüße');
  });

  test('nesting without end does no harm', async () => {
    expect(await extractText('a.html', bytesOf(`${'<div>'.repeat(5_000)}deep`))).toBe('deep');
    expect(await faultOf('a.html', bytesOf('<div>'.repeat(1_000_000)))).toBe(
      'invalid_file: The page is damaged: it is nested too deeply.',
    );
  });
});

describe('tables', () => {
  const rows = [
    ['Item', 'Price', 'Tax'],
    ['Pen &amp; ink', '440.00', '411.21'],
    ['Paper', '12.50', '1.00'],
  ];
  const lines = 'Item\tPrice\tTax\nPen & ink\t440.00\t411.21\nPaper\t12.50\t1.00';
  const headers = ({ text, tables }: Awaited<ReturnType<typeof extract>>) =>
    tables.map(({ start, headerEnd }) => text.slice(start, headerEnd));
  const cells = (row: readonly string[], open: string, close: string) =>
    row.map((cell) => `${open}${cell}${close}`).join('');

  test('of a page have a line for each row, and a frame around a page is none', async () => {
    const table = rows.map((row, index) => `<tr>${cells(row, index ? '<td><p>' : '<th>', '')}`).join('');
    const made = await extract('a.html', bytesOf(`<h1>List</h1><table><thead>${table}</table><p>End`));
    expect(made.text).toBe(`List\n\n${lines}\n\nEnd`);
    expect(headers(made)).toEqual(['Item\tPrice\tTax\n']);
    const framed = await extract('a.html', bytesOf(`<table><tr><td>Menu<td><table>${table}</table>Foot</table>`));
    expect(framed.text.split(/\n+/)).toEqual(['Menu', ...lines.split('\n'), 'Foot']);
    expect((await extract('a.html', bytesOf('<table><tr><td>One<tr><td>Two</table>'))).text).toBe('One\nTwo');
  });

  test('of documents and slides have a line for each row', async () => {
    const table = (prefix: string) => {
      const open = `<${prefix}:tc><${prefix}:p><${prefix}:r><${prefix}:t>`;
      const close = `</${prefix}:t></${prefix}:r></${prefix}:p></${prefix}:tc>`;
      const made = rows.map((row) => `<${prefix}:tr>${cells(row, open, close)}</${prefix}:tr>`).join('');
      return `<${prefix}:tbl>${made}</${prefix}:tbl>`;
    };
    const body = `<w:p><w:t>Above</w:t></w:p>${table('w')}<w:p><w:t>Below</w:t></w:p>`;
    const document = await extract('a.docx', docx([], { 'word/document.xml': `<w:document>${body}</w:document>` }));
    expect(document.text).toBe(`Above\n\n${lines}\n\nBelow`);
    expect(headers(document)).toEqual(['Item\tPrice\tTax\n']);
    const slides = pptx([['Title']], 'Notes', { 'ppt/slides/slide1.xml': `<p:sld>${table('a')}</p:sld>` });
    expect((await extract('a.pptx', slides)).text).toBe(`${lines}\n\nNotes`);
  });

  test('of separated values and sheets have their first line', async () => {
    const values = await extract('a.csv', bytesOf('"Item\n(name)",Price\nPen,440.00\n'));
    expect(headers(values)).toEqual(['"Item\n(name)",Price\n']);
    expect(headers(await extract('a.xlsx', xlsx('Sheet', [['Item'], ['Pen']])))).toEqual(['Item\n']);
    expect((await extract('a.md', bytesOf('a,b\n1,2'))).tables).toEqual([]);
  });

  test('of a PDF never glue two numbers together', async () => {
    // Each number is drawn by itself at its own place, as programs that print invoices do.
    for (let round = 0; round < 20; round++) {
      const numbers = Array.from({ length: 12 }, (_, index) => ((index + 1) * 97.31 * (round + 1)).toFixed(2));
      const drawn = numbers.map((number, index) => {
        const [x, y] = [60 + (index % 3) * (58 + round), 700 - Math.floor(index / 3) * (14 + round)];
        return `BT /F1 12 Tf ${x} ${y} Td (${number}) Tj ET`;
      });
      const text = await extractText('a.pdf', pdf([''], '', drawn.join('\n')));
      expect(text.split(/\s+/)).toEqual(numbers);
    }
    const turned = 'BT /F1 12 Tf 0 1 -1 0 300 100 Tm (440.00) Tj ET BT /F1 12 Tf 0 1 -1 0 300 160 Tm (411.21) Tj ET';
    expect(await extractText('a.pdf', pdf([''], '', turned))).toBe('440.00\t411.21');
    const close = 'BT /F1 12 Tf 100 100 Td (Gate) Tj ET BT /F1 12 Tf 125.34 100 Td (way) Tj ET';
    expect(await extractText('a.pdf', pdf([''], '', close))).toBe('Gateway');
  });
});

describe('PDF', () => {
  test('has its pages in order', async () => {
    expect(await extractText('a.pdf', pdf(['First page (one)', 'Second page']))).toBe(
      'First page (one)\n\nSecond page',
    );
  });

  test('is recognised whatever it is named', async () => {
    expect(await extractText('download', pdf(['Nameless']))).toBe('Nameless');
  });

  test('that is broken or encrypted fails and says so', async () => {
    expect(await faultOf('a.pdf', bytesOf('%PDF-1.7\nnothing else'))).toBe(
      'invalid_file: The document is damaged: it cannot be read.',
    );
    const locked = `/Encrypt << /Filter /Standard /V 1 /R 2 /O <${'41'.repeat(32)}> /U <${'42'.repeat(32)}> /P -4 >> /ID [<00> <00>] `;
    expect(await faultOf('a.pdf', pdf(['secret'], locked))).toBe('invalid_file: The document is encrypted.');
    expect(await faultOf('a.pdf', bytesOf('no pdf'))).toBe(
      'invalid_file: The file is no PDF document, though it is named like one.',
    );
  });
});

describe('Office', () => {
  test('DOCX has its paragraphs', async () => {
    expect((await extractText('a.docx', docx(['First & foremost', 'Second']))).trim()).toBe(
      'First & foremost\n\nSecond',
    );
  });

  test('DOCX has tabs, line breaks and notes, and nothing that was deleted or is said twice', async () => {
    const body =
      '<w:p><w:r><w:t>One</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>three</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>' +
      '<w:p><mc:AlternateContent><mc:Choice><w:t>box</w:t></mc:Choice><mc:Fallback><w:t>box</w:t></mc:Fallback></mc:AlternateContent></w:p>';
    const document = docx([], {
      'word/document.xml': `<w:document><w:body>${body}</w:body></w:document>`,
      'word/footnotes.xml':
        '<w:footnotes><w:footnote><w:p><w:r><w:t>A note</w:t></w:r></w:p></w:footnote></w:footnotes>',
    });
    expect((await extractText('a.docx', document)).trim()).toBe('One\ttwo\nthree\n\nbox\n\nA note');
  });

  test('nesting without end takes no time without end', async () => {
    const deep = docx([], { 'word/document.xml': '<w:document>'.repeat(100_000) });
    expect(await faultOf('a.docx', deep)).toBe('invalid_file: The document is damaged: it is nested too deeply.');
  });

  test('PPTX has its slides in the order they are shown, with notes', async () => {
    const text = await extractText('a.pptx', pptx([['Title', 'Point'], ['Last slide']], 'Say it slowly'));
    expect(text).toBe('Title\nPoint\n\nSay it slowly\n\nLast slide');
  });

  test('XLSX has its rows with texts, numbers and dates', async () => {
    const rows = [
      ['Name', 'Amount', 'Paid', 'On'],
      ['Müller & Co', 12.5, true, new Date('2026-11-15')],
    ];
    expect(await extractText('a.xlsx', xlsx('Invoices', rows))).toBe(
      'Invoices\nName\tAmount\tPaid\tOn\nMüller & Co\t12.5\tTRUE\t2026-11-15',
    );
  });

  test('what is encrypted, of an old format, or something else fails and says so', async () => {
    const legacy = Uint8Array.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0, 0]);
    expect(await faultOf('a.docx', legacy)).toBe('invalid_file: The document is encrypted.');
    expect(await faultOf('a.doc', legacy)).toStartWith('unsupported_file: The old formats of Office');
    expect(await faultOf('a.zip', zipSync({ 'a.txt': bytesOf('a') }))).toStartWith('unsupported_file: An archive');
    for (const name of ['a.docx', 'a.pptx', 'a.xlsx'])
      expect(await faultOf(name, zipSync({ 'a.txt': bytesOf('a') }))).toStartWith('invalid_file: ');
    const half = docx(['cut off']).subarray(0, 400);
    expect(await faultOf('a.docx', half)).toBe('invalid_file: The document is damaged: it cannot be unpacked.');
  });

  /** What the directory of the archive says about the size of its only part. */
  function claiming(archive: Uint8Array, size: number): Uint8Array {
    const copy = new Uint8Array(archive);
    const view = new DataView(copy.buffer);
    const directory = view.getUint32(copy.length - 6, true);
    view.setUint32(directory + 24, size, true);
    return copy;
  }

  test('an archive that unpacks to far more than it is, is not unpacked', async () => {
    const zeros = zipSync({ 'word/document.xml': new Uint8Array(20 << 20) });
    expect(await faultOf('a.docx', claiming(zeros, 300 << 20))).toBe(
      'invalid_file: The document unpacks to more than 268435456 bytes.',
    );
  });

  test('of an archive that unpacks to more than it claims, only so much is unpacked', async () => {
    const zeros = zipSync({ 'word/document.xml': new Uint8Array(20 << 20) });
    expect(partsOf(claiming(zeros, 1_000), () => true)['word/document.xml']?.length).toBe(1_000);
  });

  test('entities that a document declares are not expanded', async () => {
    const slide = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><p:sld><a:p><a:t>see &b;</a:t></a:p></p:sld>`;
    const lines: string[] = [];
    readXml(slide, { text: (text) => lines.push(text) });
    expect(lines.join('')).toEndWith('see &b;');
    expect(await faultOf('a.docx', docx([], { 'word/document.xml': slide }))).toBe('no fault: see &b;');
  });
});
