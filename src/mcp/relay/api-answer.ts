import type { Incoming } from '../../http/upstream.ts';

/** What an API answered, as the result of a tool. */
export interface ToolResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly isError?: true;
}

/** What a model reads of one answer. */
const MOST_BYTES = 1 << 20;
const MOST_OF_ERROR = 4 << 10;
const TEXT =
  /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|graphql|x-ndjson|jsonl|x-www-form-urlencoded)\b)/i;

/** Of a model that can do something about it. */
export const toolFault = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true });

/** Answers of 400 and above are errors of the tool, with the beginning of what the API says of them. */
export async function toolAnswer(incoming: Incoming): Promise<ToolResult> {
  const { status, headers } = incoming;
  const said = [status, incoming.statusText].filter(Boolean).join(' ');
  if (status >= 300 && status < 400) {
    incoming.cancel();
    return toolFault(`The API answered ${said}: it leads to another address, which is not followed.`);
  }
  const type = headers.get('content-type') ?? '';
  const coding = headers.get('content-encoding');
  const isPacked = coding !== null && coding !== '' && coding !== 'identity';
  if (isPacked || (type !== '' && !TEXT.test(type))) {
    const length = headers.get('content-length');
    incoming.cancel();
    if (length === '0' || status === 204) return emptyAnswer(status, said);
    const what = isPacked ? `packed as ${coding!.slice(0, 40)}` : (type.split(';')[0]!.slice(0, 80) ?? '');
    return toolFault(`The API answered ${said} with content that is no text (${what}), which is not shown.`);
  }
  const { bytes, isCut } = await readStart(incoming, status >= 400 ? MOST_OF_ERROR : MOST_BYTES);
  if (bytes.byteLength === 0) return emptyAnswer(status, said);
  const text = textOf(bytes, isCut);
  if (text === null) return toolFault(`The API answered ${said} with content that is no text, which is not shown.`);
  if (status >= 400) return toolFault(`The API answered ${said}${isCut ? ', in its beginning' : ''}:\n${text}`);
  const content = [{ type: 'text' as const, text }];
  if (isCut)
    content.push({ type: 'text', text: `(The answer is longer; these are its first ${bytes.byteLength} bytes.)` });
  return { content };
}

const emptyAnswer = (status: number, said: string): ToolResult =>
  status >= 400
    ? toolFault(`The API answered ${said} without saying more.`)
    : { content: [{ type: 'text', text: `The API answered ${said} without content.` }] };

async function readStart(incoming: Incoming, most: number) {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
    pieces.push(piece);
    size += piece.byteLength;
    if (size <= most) continue;
    incoming.cancel();
    return { bytes: Buffer.concat(pieces).subarray(0, most), isCut: true };
  }
  return { bytes: Buffer.concat(pieces), isCut: false };
}

/** Null for what is no UTF-8. A cut may go through a character. */
function textOf(bytes: Uint8Array, isCut: boolean): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return null;
  }
}
