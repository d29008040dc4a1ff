import { decodePage, decodeText } from './decode-text.ts';
import { extensionOf, type Format, formatOf, invalid } from './document.ts';
import { type Extracted, hardened, readMarks } from './marks.ts';
import { separatedValues } from './tables.ts';

/** Far more than the most tokens a file may have. */
const MOST_CHARACTERS = 128 << 20;

const SEPARATED = new Set(['csv', 'tsv']);
const JSONS = new Set(['json', 'jsonl', 'ndjson']);
const MARKDOWN = new Set(['md', 'markdown', 'mdx']);

/** The text of a file, whatever its format, the tables in it, and its pages, headings and lines. Throws a DocumentFault; whatever else is thrown was not foreseen. */
export async function extract(filename: string, bytes: Uint8Array): Promise<Extracted> {
  const format = formatOf(filename, bytes);
  const text = await textIn(format, filename, bytes);
  if (text.length > MOST_CHARACTERS) return invalid(`The file has more than ${MOST_CHARACTERS} characters.`);
  // PostgreSQL stores every character but this one, and no halves of characters.
  const clean = text.replaceAll('\0', '').toWellFormed();
  const extracted = format === 'text' ? await plainText(extensionOf(filename), clean) : readMarks(clean);
  return /\S/.test(extracted.text) ? extracted : invalid('The file has no text.');
}

/** What is text in the file itself: its lines are the file's. */
async function plainText(extension: string, text: string): Promise<Extracted> {
  if (JSONS.has(extension)) return { text: hardened(text), tables: [], lines: text };
  if (SEPARATED.has(extension)) return { text, tables: separatedValues(text), lines: text };
  if (!MARKDOWN.has(extension)) return { text, tables: [], lines: text };
  const { sectionsOfMarkdown } = await import('./markdown.ts');
  return { text, tables: [], sections: sectionsOfMarkdown(text), lines: text };
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
