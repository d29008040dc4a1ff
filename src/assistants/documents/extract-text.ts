import { decodePage, decodeText } from './decode-text.ts';
import { extensionOf, type Format, formatOf, invalid } from './document.ts';
import { type Extracted, separatedValues, withTables } from './tables.ts';

/** Far more than the most tokens a file may have. */
const MOST_CHARACTERS = 128 << 20;

const SEPARATED = new Set(['csv', 'tsv']);
const JSONS = new Set(['json', 'jsonl', 'ndjson']);

/** The text of a file, whatever its format, and the tables in it. Throws a DocumentFault; whatever else is thrown was not foreseen. */
export async function extract(filename: string, bytes: Uint8Array): Promise<Extracted> {
  const format = formatOf(filename, bytes);
  const text = await textIn(format, filename, bytes);
  if (text.length > MOST_CHARACTERS) return invalid(`The file has more than ${MOST_CHARACTERS} characters.`);
  // PostgreSQL stores every character but this one, and no halves of characters.
  const clean = text.replaceAll('\0', '').toWellFormed();
  if (!/\S/.test(clean)) return invalid('The file has no text.');
  if (format !== 'text') return withTables(clean);
  return SEPARATED.has(extensionOf(filename)) ? separatedValues(clean) : { text: clean, tables: [] };
}

/** Parsers are loaded when the first file of their format comes. */
async function textIn(format: Format, filename: string, bytes: Uint8Array): Promise<string> {
  switch (format) {
    case 'text': {
      const text = decodeText(filename, bytes);
      return JSONS.has(extensionOf(filename)) ? (await import('./json.ts')).withoutEscapes(text) : text;
    }
    case 'html':
      return (await import('./html.ts')).textOfHtml(decodePage(bytes));
    case 'pdf':
      return (await import('./pdf.ts')).textOfPdf(bytes);
    case 'docx':
      return (await import('./docx.ts')).textOfDocx(bytes);
    case 'pptx':
      return (await import('./pptx.ts')).textOfPptx(bytes);
    case 'xlsx':
      return (await import('./xlsx.ts')).textOfXlsx(bytes);
    case 'odf':
      return (await import('./odf.ts')).textOfOdf(bytes);
    case 'epub':
      return (await import('./epub.ts')).textOfEpub(bytes);
    case 'mail':
      return (await import('./mail.ts')).textOfMail(bytes);
    case 'rtf':
      return (await import('./rtf.ts')).textOfRtf(bytes);
    default:
      return format satisfies never;
  }
}
