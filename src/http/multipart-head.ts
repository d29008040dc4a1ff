import { fail } from '../core/errors.ts';

/** What the headers of a part say. */
export interface PartHead {
  readonly name: string;
  /** Null: a field, not a file. */
  readonly filename: string | null;
  readonly type: string | null;
}

const PARAMETER = /;\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*(?:"((?:[^"\\]|\\[\s\S])*)"|([^\s";]*))/g;
const PLAIN_ENCODINGS = new Set(['7bit', '8bit', 'binary']);

export function readPartHead(bytes: Uint8Array): PartHead {
  const headers = headersIn(bytes);
  const encoding = headers.get('content-transfer-encoding')?.trim().toLowerCase();
  if (encoding !== undefined && !PLAIN_ENCODINGS.has(encoding))
    fail('invalid_multipart', `a part has the content-transfer-encoding ${encoding.slice(0, 40)}; send it as it is`);
  const disposition = headers.get('content-disposition') ?? '';
  if (!/^\s*form-data\s*(;|$)/i.test(disposition))
    fail('invalid_multipart', 'a part lacks the header Content-Disposition: form-data');
  const parameters = parametersIn(disposition);
  const name = parameters.get('name') ?? fail('invalid_multipart', 'a part has no name');
  return {
    name: unescaped(name),
    filename: filenameIn(parameters),
    type: headers.get('content-type')?.trim() ?? null,
  };
}

function headersIn(bytes: Uint8Array): Map<string, string> {
  const headers = new Map<string, string>();
  const text = textOf(bytes);
  for (const line of text === '' ? [] : text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) fail('invalid_multipart', 'a header of a part has no name');
    headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1));
  }
  return headers;
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return fail('invalid_multipart', 'the headers of a part are not UTF-8');
  }
}

function parametersIn(header: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, token] of header.matchAll(PARAMETER)) {
    // curl escapes quotes and backslashes; any other backslash is a character of the name.
    const value = quoted?.replace(/\\(["\\])/g, '$1') ?? token ?? '';
    if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), value);
  }
  return parameters;
}

/** RFC 7578 forbids `filename*`, and some clients send it for names beyond ASCII all the same. */
function filenameIn(parameters: Map<string, string>): string | null {
  const extended = /^utf-8'[^']*'(.*)$/i.exec(parameters.get('filename*') ?? '');
  if (extended) {
    try {
      return decodeURIComponent(extended[1]!);
    } catch {
      return fail('invalid_multipart', 'filename* has a broken percent escape');
    }
  }
  const plain = parameters.get('filename');
  return plain === undefined ? null : unescaped(plain);
}

/** Browsers and fetch write these three characters so, and no others. */
const ESCAPES: Readonly<Record<string, string>> = { '%22': '"', '%0D': '\r', '%0A': '\n' };
const unescaped = (text: string): string => text.replace(/%(?:22|0D|0A)/g, (written) => ESCAPES[written]!);
