/** Why a file's text cannot be had: what clients see as the file's `last_error`. */
export class DocumentFault extends Error {
  override readonly name = 'DocumentFault';
  readonly code: 'unsupported_file' | 'invalid_file';

  constructor(code: DocumentFault['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export const unsupported = (message: string): never => {
  throw new DocumentFault('unsupported_file', message);
};

export const invalid = (message: string): never => {
  throw new DocumentFault('invalid_file', message);
};

export type Format = 'text' | 'html' | 'pdf' | 'docx' | 'pptx' | 'xlsx' | 'odf' | 'epub' | 'mail' | 'rtf';

/** Their files are archives. */
const PACKED: readonly (Format | undefined)[] = ['docx', 'pptx', 'xlsx', 'odf', 'epub'];
const LEGACY_OFFICE = ['doc', 'ppt', 'xls'];
const BY_EXTENSION: Readonly<Record<string, Format>> = {
  pdf: 'pdf',
  docx: 'docx',
  pptx: 'pptx',
  xlsx: 'xlsx',
  odt: 'odf',
  odp: 'odf',
  ods: 'odf',
  epub: 'epub',
  eml: 'mail',
  rtf: 'rtf',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
};
/** What is text by its name, and so is broken when its bytes are not. All else is text when its bytes are. */
const TEXT = new Set(
  (
    'txt md markdown rst tex json jsonl ndjson csv tsv xml yaml yml toml ini log c h cc cpp hpp cs css go java js jsx ' +
    'mjs ts tsx php py rb rs sh sql swift kt scala lua pl r'
  ).split(' '),
);

export const extensionOf = (filename: string): string => /\.([a-z0-9]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? '';
export const isTextByName = (filename: string): boolean => TEXT.has(extensionOf(filename));

const startsWith = (bytes: Uint8Array, text: string): boolean =>
  bytes.length >= text.length && [...text].every((character, index) => bytes[index] === character.charCodeAt(0));

/** What a file is, by its first bytes where these say it, else by its name. */
export function formatOf(filename: string, bytes: Uint8Array): Format {
  const extension = extensionOf(filename);
  const named = BY_EXTENSION[extension];
  // Some bytes before the mark are allowed, and found in the wild.
  if (Buffer.from(bytes.subarray(0, 1_024)).includes('%PDF-')) return 'pdf';
  if (startsWith(bytes, 'PK\x03\x04')) {
    if (PACKED.includes(named)) return named!;
    return unsupported('An archive cannot be searched; add the files in it.');
  }
  if (startsWith(bytes, '\xd0\xcf\x11\xe0')) {
    if (PACKED.includes(named)) return invalid('The document is encrypted.');
    return unsupported('The old formats of Office are not supported; save the document as DOCX, PPTX or XLSX.');
  }
  if (startsWith(bytes, '{\\rtf')) return 'rtf';
  if (named === 'html' || named === 'mail') return named;
  if (named) return invalid(`The file is no ${extension.toUpperCase()} document, though it is named like one.`);
  if (LEGACY_OFFICE.includes(extension))
    return invalid(`The file is no ${extension.toUpperCase()} document, though it is named like one.`);
  return 'text';
}
