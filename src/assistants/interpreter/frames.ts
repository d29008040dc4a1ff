/**
 * What the gateway and a sandbox say to each other: the length of a header, the header in JSON, and the bodies whose sizes
 * it names. A sandbox may say anything, so nothing is taken from it that is larger than was agreed.
 */

/** The most of a header. */
const HEADER_BYTES = 64 << 10;

/** The sandbox said something that is no answer: its code has spoken for it, or it is broken. */
export class BrokenFrame extends Error {
  override readonly name = 'BrokenFrame';
}

/** A body: bytes that are here, or as many as are announced. */
export type Body = Uint8Array | { readonly bytes: number; readonly content: AsyncIterable<Uint8Array> };

const sizeOf = (body: Body): number => (body instanceof Uint8Array ? body.byteLength : body.bytes);

/** A frame in the pieces in which it is written. */
export async function* framePieces(header: object, bodies: readonly Body[]): AsyncGenerator<Uint8Array> {
  const text = new TextEncoder().encode(JSON.stringify({ ...header, sizes: bodies.map(sizeOf) }));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, text.byteLength);
  yield length;
  yield text;
  for (const body of bodies) {
    if (body instanceof Uint8Array) yield body;
    else yield* exactly(body);
  }
}

async function* exactly({ bytes, content }: Exclude<Body, Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const piece of content) {
    left -= piece.byteLength;
    if (left < 0) break;
    yield piece;
  }
  if (left !== 0) throw new Error(`a body has another size than the ${bytes} bytes that were announced`);
}

/** Reads frames off a stream, header first; its bodies are taken one after the other. */
export class FrameReader {
  readonly #reader: { read(): Promise<{ value?: Uint8Array | undefined; done: boolean }> };
  #rest: Uint8Array = new Uint8Array(0);

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  async header(): Promise<unknown> {
    const start = await this.#whole(4);
    const length = new DataView(start.buffer).getUint32(0);
    if (length > HEADER_BYTES) throw new BrokenFrame(`a header of ${length} bytes`);
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await this.#whole(length)));
    } catch (error) {
      throw error instanceof BrokenFrame ? error : new BrokenFrame('a header that is not JSON');
    }
  }

  async *take(size: number): AsyncGenerator<Uint8Array> {
    for (let left = size; left > 0; ) {
      if (this.#rest.byteLength === 0) await this.#fill();
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.byteLength);
      left -= piece.byteLength;
      yield piece;
    }
  }

  async #whole(size: number): Promise<Uint8Array> {
    const whole = new Uint8Array(size);
    let at = 0;
    for await (const piece of this.take(size)) {
      whole.set(piece, at);
      at += piece.byteLength;
    }
    return whole;
  }

  async #fill(): Promise<void> {
    const { value, done } = await this.#reader.read().catch(() => ({ value: undefined, done: true }));
    if (done || !value) throw new BrokenFrame('the end of the stream');
    this.#rest = value;
  }
}

export async function wholeOf(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(pieces));
}
