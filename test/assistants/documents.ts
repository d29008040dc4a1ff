import { strToU8, type Zippable, zipSync } from 'fflate';

/** Documents for tests: small, but as other programs make them. */

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function archive(parts: Readonly<Record<string, string>>): Uint8Array {
  const files: Zippable = {};
  for (const [name, text] of Object.entries(parts)) files[name] = strToU8(text);
  return zipSync(files);
}

const relations = (targets: readonly (readonly [type: string, target: string])[]) =>
  `${XML}<Relationships xmlns="${PACKAGE}/relationships">${targets
    .map(
      ([type, target], index) => `<Relationship Id="rId${index + 1}" Type="${RELATIONS}/${type}" Target="${target}"/>`,
    )
    .join('')}</Relationships>`;

const contentTypes = (main: string, type: string) =>
  `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/${main}" ContentType="application/vnd.openxmlformats-officedocument.${type}.main+xml"/></Types>`;

export const docx = (paragraphs: readonly string[], more: Readonly<Record<string, string>> = {}): Uint8Array =>
  archive({
    '[Content_Types].xml': contentTypes('word/document.xml', 'wordprocessingml.document'),
    '_rels/.rels': relations([['officeDocument', 'word/document.xml']]),
    'word/document.xml': `${XML}<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${paragraphs
      .map((text) => `<w:p><w:r><w:t xml:space="preserve">${escaped(text)}</w:t></w:r></w:p>`)
      .join('')}</w:body></w:document>`,
    ...more,
  });

const drawn = (texts: readonly string[]) =>
  `<p:cSld><p:spTree><p:sp><p:txBody>${texts
    .map((text) => `<a:p><a:r><a:t>${escaped(text)}</a:t></a:r></a:p>`)
    .join('')}</p:txBody></p:sp></p:spTree></p:cSld>`;
const NAMESPACES = `xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="${RELATIONS}"`;

/** Slides that are shown in another order than their parts are named in; the first one has notes. */
export function pptx(
  slides: readonly (readonly string[])[],
  notes: string,
  more: Readonly<Record<string, string>> = {},
): Uint8Array {
  const last = slides.length;
  const parts: Record<string, string> = {
    '[Content_Types].xml': contentTypes('ppt/presentation.xml', 'presentationml.presentation'),
    '_rels/.rels': relations([['officeDocument', 'ppt/presentation.xml']]),
    'ppt/_rels/presentation.xml.rels': relations(
      slides.map((_, index) => ['slide', `slides/slide${last - index}.xml`]),
    ),
    'ppt/presentation.xml': `${XML}<p:presentation ${NAMESPACES}><p:sldIdLst>${slides
      .map((_, index) => `<p:sldId id="${256 + index}" r:id="rId${index + 1}"/>`)
      .join('')}</p:sldIdLst></p:presentation>`,
    [`ppt/slides/_rels/slide${last}.xml.rels`]: relations([['notesSlide', '../notesSlides/notesSlide1.xml']]),
    'ppt/notesSlides/notesSlide1.xml': `${XML}<p:notes ${NAMESPACES}>${drawn([notes])}</p:notes>`,
  };
  for (const [index, texts] of slides.entries())
    parts[`ppt/slides/slide${last - index}.xml`] = `${XML}<p:sld ${NAMESPACES}>${drawn(texts)}</p:sld>`;
  return archive({ ...parts, ...more });
}

/** One sheet: texts are shared, numbers stand in their cells, and a Date is a number with a style. */
export function xlsx(name: string, rows: readonly (readonly (string | number | boolean | Date)[])[]): Uint8Array {
  const strings: string[] = [];
  const cell = (value: string | number | boolean | Date) => {
    if (typeof value === 'string') return `<c t="s"><v>${strings.push(value) - 1}</v></c>`;
    if (typeof value === 'boolean') return `<c t="b"><v>${Number(value)}</v></c>`;
    if (value instanceof Date) return `<c s="1"><v>${(value.getTime() - Date.UTC(1899, 11, 30)) / 86_400_000}</v></c>`;
    return `<c><v>${value}</v></c>`;
  };
  const sheet = rows.map((row) => `<row>${row.map(cell).join('')}</row>`).join('');
  const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
  return archive({
    '[Content_Types].xml': contentTypes('xl/workbook.xml', 'spreadsheetml.sheet'),
    '_rels/.rels': relations([['officeDocument', 'xl/workbook.xml']]),
    'xl/_rels/workbook.xml.rels': relations([['worksheet', 'worksheets/sheet1.xml']]),
    'xl/workbook.xml': `${XML}<workbook ${main} xmlns:r="${RELATIONS}"><sheets><sheet name="${escaped(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/worksheets/sheet1.xml': `${XML}<worksheet ${main}><sheetData>${sheet}</sheetData></worksheet>`,
    'xl/styles.xml': `${XML}<styleSheet ${main}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': `${XML}<sst ${main}>${strings
      .map((text) => `<si><t>${escaped(text)}</t><rPh><t>spoken</t></rPh></si>`)
      .join('')}</sst>`,
  });
}

/** A page for each list of lines. */
export function pdfOfLines(pages: readonly (readonly string[])[]): Uint8Array {
  const content = (lines: readonly string[]) => {
    const drawn = lines.map((line) => `(${line.replace(/[\\()]/g, '\\$&')}) Tj T*`).join('\n');
    return `BT /F1 8 Tf 10 TL 40 760 Td\n${drawn}\nET`;
  };
  return assembledPdf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pages.map((_, index) => `${4 + index * 2} 0 R`).join(' ')}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((lines, index) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + index * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      `<< /Length ${content(lines).length} >>\nstream\n${content(lines)}\nendstream`,
    ]),
  ]);
}

/** A page for each text, with more drawn on it. */
export function pdf(pages: readonly string[], trailer = '', more = ''): Uint8Array {
  const objects: string[] = [];
  const add = (body: string) => objects.push(body);
  const kids = pages.map((_, index) => `${4 + index * 2} 0 R`).join(' ');
  add('<< /Type /Catalog /Pages 2 0 R >>');
  add(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`);
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  for (const [index, text] of pages.entries()) {
    const content = `BT /F1 24 Tf 72 700 Td (${text.replace(/[\\()]/g, '\\$&')}) Tj ET\n${more}`;
    add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + index * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
    );
    add(`<< /Length ${content.length} >>\nstream\n${content}\nendstream`);
  }
  return assembledPdf(objects, trailer);
}

/** The objects of a document, the first of which is its catalogue, and the table that says where they are. */
export function assembledPdf(objects: readonly string[], trailer = ''): Uint8Array {
  let text = '%PDF-1.7\n';
  const offsets = objects.map((body, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj\n${body}\nendobj\n`;
    return offset;
  });
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const start = text.length;
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}`;
  text += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer}>>\nstartxref\n${start}\n%%EOF\n`;
  return strToU8(text, true);
}

/** A page with one text in an encoding that PDF takes for known, and no table that says what its bytes stand for. */
export function pdfInEncoding(encoding: string, collection: string, codes: string): Uint8Array {
  const content = `BT /F1 12 Tf 1 0 0 1 60 700 Tm <${codes}> Tj ET`;
  return assembledPdf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [6 0 R] /Count 1 >>',
    `<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /${encoding} /DescendantFonts [4 0 R] >>`,
    `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (${collection}) /Supplement 2 >> /FontDescriptor 5 0 R /DW 1000 >>`,
    '<< /Type /FontDescriptor /FontName /Song /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 900 /Descent -200 /CapHeight 700 /StemV 80 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 7 0 R /Resources << /Font << /F1 3 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
  ]);
}

const OPEN_DOCUMENT = 'urn:oasis:names:tc:opendocument:xmlns';

/** An OpenDocument file with this content in its body; `kind` is text, presentation or spreadsheet. */
export const odf = (kind: string, body: string, more: Readonly<Record<string, string>> = {}): Uint8Array =>
  archive({
    mimetype: `application/vnd.oasis.opendocument.${kind}`,
    'META-INF/manifest.xml': `${XML}<manifest:manifest xmlns:manifest="${OPEN_DOCUMENT}:manifest:1.0"/>`,
    'content.xml': `${XML}<office:document-content xmlns:office="${OPEN_DOCUMENT}:office:1.0" xmlns:text="${OPEN_DOCUMENT}:text:1.0" xmlns:table="${OPEN_DOCUMENT}:table:1.0"><office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`,
    ...more,
  });

/** A book whose chapters are stored in another order than they are read in. */
export function epub(chapters: readonly string[], more: Readonly<Record<string, string>> = {}): Uint8Array {
  const parts: Record<string, string> = {
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': `${XML}<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
  };
  const items: string[] = [];
  const order: string[] = [];
  for (const [index, body] of chapters.entries()) {
    const name = `text/chapter%20${chapters.length - index}.xhtml`;
    items.unshift(`<item id="c${index}" href="${name}" media-type="application/xhtml+xml"/>`);
    order.push(`<itemref idref="c${index}"/>`);
    parts[`OEBPS/${decodeURIComponent(name)}`] = `${XML}<html><head></head><body>${body}</body></html>`;
  }
  parts['OEBPS/book.opf'] =
    `${XML}<package><manifest>${items.join('')}</manifest><spine>${order.join('')}</spine></package>`;
  return archive({ ...parts, ...more });
}
