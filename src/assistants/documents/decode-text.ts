import { invalid, isTextByName, unsupported } from './document.ts';

/** So many bytes show which encoding a text without a mark has. */
const LOOKED_AT = 4_096;

/** Text is UTF-8, UTF-16 or ASCII; with a mark in front it says which. */
export function decodeText(filename: string, bytes: Uint8Array): string {
  const text = decoded('utf-8', bytes) ?? decoded(utf16Of(bytes), bytes);
  if (text !== null && !isBinary(text)) return text;
  if (isTextByName(filename)) return invalid('The file is no text in UTF-8, UTF-16 or ASCII.');
  return unsupported('Files of this type cannot be searched: text, HTML, PDF, DOCX, PPTX and XLSX can.');
}

/** A page may say its encoding itself. */
export function decodePage(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 1_024)).toString('latin1');
  const declared = /<meta[^>]+charset=["']?([\w-]+)/i.exec(head)?.[1];
  const text =
    decoded('utf-8', bytes) ?? decoded(utf16Of(bytes), bytes) ?? decoded(declared?.toLowerCase() ?? null, bytes);
  if (text === null) return invalid('The page is no text in UTF-8, UTF-16 or the encoding that it declares.');
  return text;
}

/** Null when the bytes are something else. The mark in front is no part of the text. */
function decoded(encoding: string | null, bytes: Uint8Array): string | null {
  if (encoding === null) return null;
  // Of UTF-16, every byte pair is some text; and ASCII in UTF-16 is valid UTF-8 with many zeros.
  if (encoding === 'utf-8' && utf16Of(bytes) !== null) return null;
  try {
    return new TextDecoder(encoding as 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function utf16Of(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const head = bytes.subarray(0, LOOKED_AT);
  const zeros = [0, 0];
  for (const [index, byte] of head.entries()) if (byte === 0) zeros[index % 2]!++;
  const pairs = Math.floor(head.length / 2);
  if (pairs === 0) return null;
  // Nearly all characters of western text have a zero as their higher half, and none as their lower.
  if (zeros[1]! > pairs * 0.7 && zeros[0]! < pairs * 0.05) return 'utf-16le';
  if (zeros[0]! > pairs * 0.7 && zeros[1]! < pairs * 0.05) return 'utf-16be';
  return null;
}

/** Text has line ends, tabs and form feeds, and a terminal's escapes; other control characters are rare in it. */
function isBinary(text: string): boolean {
  const head = text.slice(0, LOOKED_AT);
  const controls = head.match(/[\x00-\x08\x0e-\x1a\x1c-\x1f]/g)?.length ?? 0;
  return controls > head.length * 0.02;
}
