import type { Duplex } from 'node:stream';
import type { Connection, PoolClient, Submittable } from 'pg';

/** Fields of a row as the server keeps them; null: there is nothing. */
export type BinaryRow = readonly (Uint8Array | null)[];

/** Says whether it keeps the memory of the row; otherwise the next row gets it. */
export type TakeRow = (row: BinaryRow) => boolean;

/**
 * Gives each row that a statement selects to `take`. The driver gets
 * every field as text, and bytes are twice as long so, written by the server and taken apart here: for megabytes of them that is
 * most of the time of a question. A copy comes as it is. The statement takes no parameters.
 */
export function binaryRows(client: PoolClient, select: string, take: TakeRow): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new Copy(select, take, (error) => (error ? reject(error) : resolve())));
  });
}

/** Signature, flags, and the length of what else the head says, which is nothing. */
const HEAD_BYTES = 19;
const END = -1;

/** Codes of messages of the server. */
const COPY_DATA = 0x64;
const READY = 0x5a;
/** A code and a length, which counts itself. */
const MESSAGE_HEAD_BYTES = 5;
const LENGTH_BYTES = 4;

/** What the driver calls while the copy comes. */
class Copy implements Submittable {
  readonly #select: string;
  readonly #take: TakeRow;
  /** The driver puts its own before it, which ends the clock that watches over the statement. */
  callback: (error: Error | null) => void;
  #isToldOf = false;
  #error: Error | null = null;

  constructor(select: string, take: TakeRow, callback: Copy['callback']) {
    this.#select = select;
    this.#take = take;
    this.callback = callback;
  }

  submit(connection: Connection): void {
    const rows = new Filling(rowsTo(this.#take));
    readCopied(connection.stream, (bytes) => {
      // Of a statement that failed, or whose time is over, nothing more is taken.
      if (this.#error !== null) return;
      try {
        rows.take(bytes);
      } catch (error) {
        this.#error = error as Error;
      }
    });
    connection.query(`copy (${this.#select}) to stdout (format binary)`);
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#error ??= error;
    this.#isToldOf = true;
    this.callback(this.#error);
  }

  handleReadyForQuery(): void {
    if (!this.#isToldOf) this.callback(this.#error);
  }
}

/**
 * Until the answer to a statement is over, what is copied is read as it comes from the server; the driver hears all other messages.
 * It would put each row together first, in memory that it doubles until the row fits, and that takes three times as long as to
 * read it.
 */
function readCopied(stream: Duplex, copied: (bytes: Uint8Array) => void): void {
  const listeners = stream.listeners('data') as ((bytes: Uint8Array) => void)[];
  const head = Buffer.alloc(MESSAGE_HEAD_BYTES);
  let [headLength, code, left] = [0, 0, 0];
  /** What has come of a message for the driver. */
  let message: Uint8Array[] = [];
  const hear = (chunk: Uint8Array) => {
    for (let at = 0; at < chunk.length; ) {
      if (headLength < MESSAGE_HEAD_BYTES) {
        head[headLength++] = chunk[at++]!;
        if (headLength < MESSAGE_HEAD_BYTES) continue;
        code = head[0]!;
        left = head.readInt32BE(1) - LENGTH_BYTES;
        message = code === COPY_DATA ? [] : [Uint8Array.from(head)];
      }
      const part = chunk.subarray(at, Math.min(at + left, chunk.length));
      at += part.length;
      left -= part.length;
      if (code === COPY_DATA) copied(part);
      else message.push(part.slice());
      if (left > 0) return;
      headLength = 0;
      if (code === COPY_DATA) continue;
      if (code === READY) {
        for (const listener of listeners) stream.on('data', listener);
        stream.off('data', hear);
        stream.emit('data', Buffer.concat(message));
        // It may have sent the next statement by now.
        if (at < chunk.length) stream.emit('data', chunk.subarray(at));
        return;
      }
      const whole = Buffer.concat(message);
      for (const listener of listeners) listener.call(stream, whole);
    }
  };
  stream.on('data', hear);
  for (const listener of listeners) stream.off('data', listener);
}

/** Fills one piece of memory after the other, wherever what comes is cut. */
class Filling {
  readonly #pieces: Iterator<Uint8Array>;
  #piece: Uint8Array | undefined;
  #filled = 0;

  constructor(pieces: Iterator<Uint8Array>) {
    this.#pieces = pieces;
    this.#piece = pieces.next().value;
  }

  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && this.#piece; ) {
      const part = bytes.subarray(at, at + this.#piece.length - this.#filled);
      this.#piece.set(part, this.#filled);
      at += part.length;
      this.#filled += part.length;
      if (this.#filled < this.#piece.length) return;
      this.#filled = 0;
      this.#piece = this.#pieces.next().value;
    }
  }
}

/** Rows as a copy has them: how many fields, and each with its length. Each piece is filled when it is asked for the next one. */
function* rowsTo(take: TakeRow): Generator<Uint8Array, undefined> {
  yield Buffer.alloc(HEAD_BYTES);
  const [count, length] = [Buffer.alloc(2), Buffer.alloc(4)];
  // Each begins memory of its own: what lies in it is looked at as numbers of up to eight bytes.
  const places: Uint8Array[] = [];
  let isKept = true;
  for (;;) {
    yield count;
    const fields = count.readInt16BE();
    if (fields === END) return;
    const row: (Uint8Array | null)[] = [];
    for (let field = 0; field < fields; field++) {
      yield length;
      const bytes = length.readInt32BE();
      if ((places[field]?.length ?? -1) < bytes)
        places[field] = Buffer.allocUnsafeSlow(isKept ? bytes : roomFor(bytes));
      row.push(bytes < 0 ? null : places[field]!.subarray(0, bytes));
      if (bytes > 0) yield row.at(-1)!;
    }
    isKept = take(row);
    if (isKept) places.length = 0;
  }
}

/** The next row may be somewhat longer. */
const roomFor = (bytes: number) => Math.ceil(bytes * 1.25);

/** Of a field of four bytes. */
export const int32In = (field: Uint8Array): number => new DataView(field.buffer, field.byteOffset).getInt32(0);
export const uint32In = (field: Uint8Array): number => int32In(field) >>> 0;
