import { decodePage, decodeText } from './decode-text.ts';
import { formatOf, invalid } from './document.ts';

/** Far more than the most tokens a file may have. */
const MOST_CHARACTERS = 128 << 20;

/** The text of a file, whatever its format. Throws a DocumentFault; whatever else is thrown was not foreseen. */
export async function extractText(filename: string, bytes: Uint8Array): Promise<string> {
  const text = await textIn(filename, bytes);
  if (text.length > MOST_CHARACTERS) return invalid(`The file has more than ${MOST_CHARACTERS} characters.`);
  // PostgreSQL stores every character but this one, and no halves of characters.
  const clean = text.replaceAll('\0', '').toWellFormed();
  return /\S/.test(clean) ? clean : invalid('The file has no text.');
}

/** Parsers are loaded when the first file of their format comes. */
async function textIn(filename: string, bytes: Uint8Array): Promise<string> {
  const format = formatOf(filename, bytes);
  switch (format) {
    case 'text':
      return decodeText(filename, bytes);
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
    default:
      return format satisfies never;
  }
}
