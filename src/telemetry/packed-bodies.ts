import type { LogBodies, LogExchange } from './record.ts';
import { decodeForUsage, isEncoded } from './usage.ts';

/**
 * Headers and bodies of one call as one block of bytes: the length of the head (4 bytes, little endian), the head as
 * JSON, the request body, the response body, and where the call was translated what went to the provider and came back. One block is compressed in one go, and the event loop only appends.
 */
export interface PackedHead {
  readonly request_headers: Readonly<Record<string, string>>;
  readonly response_headers: Readonly<Record<string, string>>;
  readonly request_kept: number;
  readonly response_kept: number;
  readonly request_truncated: boolean;
  readonly response_truncated: boolean;
  /** What the client and the answer say is to be found by its words. */
  readonly is_searched?: true;
  /** What went to providers in other words, and what came back; the bodies follow those of the client. */
  readonly upstream?: readonly PackedExchange[];
}

/** How much of one exchange with a provider is kept. */
export interface PackedExchange {
  /** Where the target stands in the plan. */
  readonly target: string;
  readonly request_kept: number;
  readonly request_truncated: boolean;
  readonly response_kept: number;
  readonly response_truncated: boolean;
}

/** The block in the pieces it came in; code that needs it whole joins them. */
export type PackedBody = readonly Uint8Array[];

export const sizeOf = (pieces: PackedBody): number => pieces.reduce((total, piece) => total + piece.byteLength, 0);

const LENGTH_BYTES = 4;

/** A head on its way into a block: as text, because bytes of its own would be copied there anyhow. */
export interface HeadText {
  readonly json: string;
  /** What `writeHead` takes. */
  readonly bytes: number;
}

/** Of headers that are JSON already. */
export function headText(head: Omit<PackedHead, `${string}_headers`>, request: string, response: string): HeadText {
  const rest = JSON.stringify(head).slice(1);
  const json = `{"request_headers":${request},"response_headers":${response},${rest}`;
  return { json, bytes: LENGTH_BYTES + Buffer.byteLength(json) };
}

/** Puts a head there, and answers where it ends. */
export function writeHead({ json, bytes }: HeadText, block: Buffer, at: number): number {
  block.writeUInt32LE(bytes - LENGTH_BYTES, at);
  block.write(json, at + LENGTH_BYTES);
  return at + bytes;
}

export function unpack(packed: Uint8Array): LogBodies {
  const block = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  const headEnd = LENGTH_BYTES + block.readUInt32LE(0);
  const head = headOf(block, headEnd);
  const requestEnd = headEnd + head.request_kept;
  const responseEnd = requestEnd + head.response_kept;
  return {
    request_headers: head.request_headers,
    response_headers: head.response_headers,
    request_body: head.request_kept ? packed.subarray(headEnd, requestEnd) : null,
    response_body: head.response_kept ? packed.subarray(requestEnd, responseEnd) : null,
    request_truncated: head.request_truncated,
    response_truncated: head.response_truncated,
    upstream: exchangesIn(packed, head.upstream ?? [], responseEnd),
    ...(head.is_searched && { is_searched: true }),
  };
}

/** In JSON a name has quotes around it that no text inside has: this is the head's own member, never a header. */
const SIZES =
  /^,"request_kept":(\d+),"response_kept":(\d+),"request_truncated":(true|false),"response_truncated":(true|false)[,}]/;
/** Blocks up to here are read as a text once, of which the sides are parts. */
const SMALL_BYTES = 16 * 1024;

/**
 * What the client sent and got, as far as it can be read as it is: null where there is nothing, where it is compressed and,
 * of the request, where its end is missing. The head is not taken apart where nothing in it is compressed.
 */
export class PlainSides {
  readonly isResponseCut: boolean;
  readonly #block: Buffer;
  readonly #text: string | null;
  readonly #headEnd: number;
  readonly #requestEnd: number;
  readonly #responseEnd: number;
  readonly #hasRequest: boolean;
  readonly #hasResponse: boolean;

  constructor(packed: Uint8Array) {
    const block = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
    this.#block = block;
    this.#headEnd = LENGTH_BYTES + block.readUInt32LE(0);
    const isSmall = block.byteLength <= SMALL_BYTES;
    const text = block.toString('latin1', 0, isSmall ? block.byteLength : this.#headEnd);
    this.#text = isSmall ? text : null;
    const sizesAt = text.lastIndexOf(',"request_kept":', this.#headEnd);
    const sizes = SIZES.exec(text.slice(sizesAt, this.#headEnd));
    const encodedAt = text.indexOf('"content-encoding"');
    const isPlain = sizes !== null && (encodedAt < 0 || encodedAt >= this.#headEnd);
    const head = isPlain ? null : headOf(block, this.#headEnd);
    this.#requestEnd = this.#headEnd + (head ? head.request_kept : Number(sizes![1]));
    this.#responseEnd = this.#requestEnd + (head ? head.response_kept : Number(sizes![2]));
    const isRequestCut = head ? head.request_truncated : sizes![3] === 'true';
    this.isResponseCut = head ? head.response_truncated : sizes![4] === 'true';
    this.#hasRequest =
      this.#requestEnd > this.#headEnd && !isRequestCut && !isEncoded(head?.request_headers['content-encoding']);
    this.#hasResponse = this.#responseEnd > this.#requestEnd && !isEncoded(head?.response_headers['content-encoding']);
  }

  request(): Uint8Array | null {
    return this.#hasRequest ? this.#block.subarray(this.#headEnd, this.#requestEnd) : null;
  }

  response(): Uint8Array | null {
    return this.#hasResponse ? this.#block.subarray(this.#requestEnd, this.#responseEnd) : null;
  }

  /** Each byte as a character. */
  requestText(): string | null {
    return this.#hasRequest ? this.#textOf(this.#headEnd, this.#requestEnd) : null;
  }

  responseText(): string | null {
    return this.#hasResponse ? this.#textOf(this.#requestEnd, this.#responseEnd) : null;
  }

  #textOf(from: number, end: number): string {
    return this.#text === null ? this.#block.toString('latin1', from, end) : this.#text.slice(from, end);
  }
}

const headOf = (block: Buffer, headEnd: number): PackedHead =>
  JSON.parse(block.toString('utf8', LENGTH_BYTES, headEnd)) as PackedHead;

function exchangesIn(packed: Uint8Array, upstream: readonly PackedExchange[], from: number): LogExchange[] {
  let at = from;
  const take = (size: number) => {
    at += size;
    return size > 0 ? packed.subarray(at - size, at) : null;
  };
  return upstream.map(({ target, request_kept, response_kept, request_truncated, response_truncated }) => ({
    target,
    request_body: take(request_kept),
    response_body: take(response_kept),
    request_truncated,
    response_truncated,
  }));
}

export const compress = (packed: Uint8Array): Uint8Array =>
  Bun.zstdCompressSync(packed as Uint8Array<ArrayBuffer>, { level: 1 });

/** A head is never as long as these four bytes would say, so they tell compressed blocks from plain ones. */
const ZSTD_MAGIC = 0xfd2fb528;

export function decompress(content: Uint8Array): Uint8Array {
  const start = new DataView(content.buffer, content.byteOffset).getUint32(0, true);
  return start === ZSTD_MAGIC ? Bun.zstdDecompressSync(content as Uint8Array<ArrayBuffer>) : content;
}

/** One side of a call as `GET /logs/{id}` shows it. */
export interface ShownMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** How `body` spells bytes that are no text. */
  readonly encoding: 'utf8' | 'base64';
  readonly truncated: boolean;
}

/** One side of an exchange with a provider; its headers are not kept. */
export type ShownBody = Omit<ShownMessage, 'headers'>;

export interface ShownExchange {
  readonly target: string;
  readonly request: ShownBody | null;
  readonly response: ShownBody | null;
}

export const showExchanges = ({ upstream }: LogBodies): ShownExchange[] =>
  upstream.map(({ target, request_body, response_body, request_truncated, response_truncated }) => ({
    target,
    request: shownBody(request_body, request_truncated),
    response: shownBody(response_body, response_truncated),
  }));

function shownBody(bytes: Uint8Array | null, truncated: boolean): ShownBody | null {
  if (!bytes) return null;
  const text = asText(bytes, truncated);
  if (text !== null) return { body: text, encoding: 'utf8', truncated };
  return { body: Buffer.from(bytes).toString('base64'), encoding: 'base64', truncated };
}

export async function showMessages(bodies: LogBodies): Promise<{ request: ShownMessage; response: ShownMessage }> {
  return {
    request: await show(bodies.request_headers, bodies.request_body, bodies.request_truncated),
    response: await show(bodies.response_headers, bodies.response_body, bodies.response_truncated),
  };
}

async function show(
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | null,
  truncated: boolean,
): Promise<ShownMessage> {
  if (!body) return { headers, body: null, encoding: 'utf8', truncated };
  const coding = headers['content-encoding'];
  const decoded = isEncoded(coding) ? ((await decodeForUsage(coding!, body)) ?? body) : body;
  const text = asText(decoded, truncated);
  if (text !== null) return { headers, body: text, encoding: 'utf8', truncated };
  return { headers, body: Buffer.from(decoded).toString('base64'), encoding: 'base64', truncated };
}

/** Bytes that are text, or null. A cut may fall inside a character, which is then left out. */
function asText(bytes: Uint8Array, isCut: boolean): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return null;
  }
}
