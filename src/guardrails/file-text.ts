/** Files within a body: base64, or an address that is the file. Most are pictures; some are texts that a model reads. */

export interface FileText {
  readonly text: string;
  /** Another text in the form of the file. */
  readonly spelt: (text: string) => string;
}

const DATA_ADDRESS = /^data:([^,]{0,256}),/i;
const BASE64 = /^[A-Za-z0-9+/_\-\r\n]*={0,2}[\r\n]*$/;
const TEXT_TYPE =
  /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml|x-ndjson|yaml|x-yaml|javascript|csv)\b)|^(?:txt|md|csv|html)$/i;
/** Pictures, sounds and archives show within their first bytes that they are no text. */
const SNIFFED = 1_024;

/**
 * The text of a file; null where it is none; `unread` where it says that it is text and cannot be read. `type` is what
 * stands beside it. What is neither base64 nor an address is no file, but a text in the place of one.
 */
export function textOfFile(value: string, type: string | null): FileText | 'unread' | null {
  const [prefix = '', described = ''] = DATA_ADDRESS.exec(value) ?? [];
  const content = value.slice(prefix.length);
  if (prefix !== '' && !/;\s*base64\s*$/i.test(described)) return fromAddress(prefix, content);
  if (!BASE64.test(content)) return prefix === '' ? { text: value, spelt: (text) => text } : 'unread';
  const spelt = (text: string) => prefix + Buffer.from(text).toString('base64');
  const text = decoded(content);
  if (text !== null) return text === '' ? null : { text, spelt };
  return TEXT_TYPE.test(described.split(';')[0]! || (type ?? '')) ? 'unread' : null;
}

function fromAddress(prefix: string, content: string): FileText | 'unread' {
  try {
    return { text: decodeURIComponent(content), spelt: (text) => prefix + encodeURIComponent(text) };
  } catch {
    return 'unread';
  }
}

function decoded(base64: string): string | null {
  const head = Buffer.from(base64.slice(0, SNIFFED), 'base64');
  if (isWide(head)) return new TextDecoder('utf-16le').decode(Buffer.from(base64, 'base64'));
  if (head.includes(0)) return null;
  return textIn(Buffer.from(base64, 'base64'));
}

/** UTF-16 with the mark that says so. */
const isWide = (head: Uint8Array): boolean => head.length % 2 === 0 && head[0] === 0xff && head[1] === 0xfe;

const UTF8 = new TextDecoder('utf-8', { fatal: true });
/** What texts do not have. */
const NO_TEXT = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

/** Null where the bytes are no text. */
export function textIn(bytes: Uint8Array): string | null {
  try {
    const text = UTF8.decode(bytes);
    return NO_TEXT.test(text) ? null : text;
  } catch {
    return null;
  }
}
