import { fail } from '../core/errors.ts';
import { type ArrivingBody, arrivingBody } from './arriving.ts';
import { type PartHead, readPartHead } from './multipart-head.ts';

/** One part of a form. Its content is read before the next part is asked for; what is left of it then is passed over. */
export interface Part extends PartHead {
  readonly content: AsyncIterable<Uint8Array>;
}

const MOST_PARTS = 100;
const MOST_HEAD_BYTES = 16 * 1024;
const MOST_BYTES_AROUND = 64 * 1024;
const LINE_END = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');
const CLOSING = Buffer.from('--');

/** The parts of a multipart/form-data body, in whatever pieces it arrives; no more than a piece of it is held. */
export async function* readParts(request: Request): AsyncGenerator<Part> {
  const type = request.headers.get('content-type') ?? '';
  const scanner = new Scanner(arrivingBody(request), boundaryOf(type));
  await scanner.skipPreamble();
  for (let count = 0; await scanner.opensPart(); count++) {
    if (count === MOST_PARTS) fail('invalid_multipart', `it has more than ${MOST_PARTS} parts`);
    yield { ...readPartHead(await scanner.head()), content: scanner.content() };
    await scanner.skipContent();
  }
  await scanner.skipEpilogue();
}

function boundaryOf(type: string): string {
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) fail('unsupported_media_type', type, 'multipart/form-data');
  const found = /;\s*boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))(?:\s*;|\s*$)/i.exec(type);
  return found?.[1] ?? found?.[2] ?? fail('invalid_multipart', 'its content type has no usable boundary');
}

/** Walks over the bytes from boundary to boundary. */
class Scanner {
  readonly #body: ArrivingBody | null;
  readonly #delimiter: Buffer;
  /** What has arrived and is not passed yet. At first, the line end that belongs to a boundary: the first has none. */
  #held: Buffer = LINE_END;
  #isInContent = false;

  constructor(body: ArrivingBody | null, boundary: string) {
    this.#body = body;
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  async skipPreamble() {
    this.#isInContent = true;
    await this.#skip('before its first boundary');
  }

  /** Behind a boundary: whether a part follows, or the form has ended. */
  async opensPart(): Promise<boolean> {
    await this.#have(2);
    if (this.#held.subarray(0, 2).equals(CLOSING)) return false;
    const padding = await this.#through(LINE_END, MOST_HEAD_BYTES);
    if (/[^ \t]/.test(padding.toString('latin1'))) fail('invalid_multipart', 'a boundary is not alone on its line');
    return true;
  }

  /** The header lines of a part. */
  async head(): Promise<Buffer> {
    await this.#have(2);
    const hasNone = this.#held.subarray(0, 2).equals(LINE_END);
    const head = await this.#through(hasNone ? LINE_END : HEAD_END, MOST_HEAD_BYTES);
    this.#isInContent = true;
    return head;
  }

  async *content(): AsyncGenerator<Uint8Array> {
    for (let piece = await this.#nextPiece(); piece; piece = await this.#nextPiece()) yield piece;
  }

  async skipContent() {
    while (await this.#nextPiece());
  }

  async skipEpilogue() {
    let bytes = this.#held.length;
    while (bytes <= MOST_BYTES_AROUND && (await this.#more())) {
      bytes += this.#held.length;
      this.#held = this.#held.subarray(this.#held.length);
    }
    if (bytes > MOST_BYTES_AROUND) fail('invalid_multipart', 'it goes on behind its last boundary');
  }

  async #skip(where: string) {
    let bytes = 0;
    for (let piece = await this.#nextPiece(); piece; piece = await this.#nextPiece()) {
      bytes += piece.byteLength;
      if (bytes > MOST_BYTES_AROUND) fail('invalid_multipart', `it has too much ${where}`);
    }
  }

  /** The next bytes of a content; null when it has ended, with the boundary behind it passed. */
  async #nextPiece(): Promise<Uint8Array | null> {
    while (this.#isInContent) {
      const at = this.#held.indexOf(this.#delimiter);
      if (at >= 0) {
        const piece = this.#held.subarray(0, at);
        this.#held = this.#held.subarray(at + this.#delimiter.length);
        this.#isInContent = false;
        return at > 0 ? piece : null;
      }
      const certain = this.#held.length - this.#beginningOfDelimiter();
      if (certain > 0) {
        const piece = this.#held.subarray(0, certain);
        this.#held = this.#held.subarray(certain);
        return piece;
      }
      await this.#moreOrFail();
    }
    return null;
  }

  /** How many bytes at the end of what is held may be the beginning of a boundary. */
  #beginningOfDelimiter(): number {
    const held = this.#held;
    const first = LINE_END[0]!;
    for (let at = held.indexOf(first, Math.max(0, held.length - this.#delimiter.length + 1)); at >= 0; ) {
      const length = held.length - at;
      if (this.#delimiter.subarray(0, length).equals(held.subarray(at))) return length;
      at = held.indexOf(first, at + 1);
    }
    return 0;
  }

  /** Takes everything up to the mark, and passes the mark. */
  async #through(mark: Buffer, most: number): Promise<Buffer> {
    for (;;) {
      const at = this.#held.indexOf(mark);
      if (at > most || (at < 0 && this.#held.length > most + mark.length))
        fail('invalid_multipart', `the headers of a part have more than ${most} bytes`);
      if (at >= 0) {
        const taken = this.#held.subarray(0, at);
        this.#held = this.#held.subarray(at + mark.length);
        return taken;
      }
      await this.#moreOrFail();
    }
  }

  async #have(bytes: number) {
    while (this.#held.length < bytes) await this.#moreOrFail();
  }

  async #moreOrFail() {
    if (!(await this.#more())) fail('invalid_multipart', 'it ends before its closing boundary');
  }

  async #more(): Promise<boolean> {
    const next = await this.#body?.read();
    if (!next) return false;
    const piece = Buffer.from(next.buffer, next.byteOffset, next.byteLength);
    this.#held = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    return true;
  }
}
