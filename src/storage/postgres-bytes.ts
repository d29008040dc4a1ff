import type { Connection, PoolClient, Submittable } from 'pg';

/** Fields of a row as the server keeps them; null: there is nothing. */
export type BinaryRow = readonly (Uint8Array | null)[];

/**
 * What a statement selects. The driver gets every field as text, and bytes are twice as long so, written by the server and taken
 * apart here: for megabytes of them that is most of the time of a question. A copy comes as it is.
 * The statement takes no parameters.
 */
export function binaryRows(client: PoolClient, select: string): Promise<BinaryRow[]> {
  return new Promise((resolve, reject) => {
    client.query(new Copy(select, (error, rows) => (error ? reject(error) : resolve(rows))));
  });
}

/** Signature, flags, and the length of what else the head says, which is nothing. */
const HEAD_BYTES = 19;
const END = -1;

/** What the driver calls while the copy comes. */
class Copy implements Submittable {
  readonly #select: string;
  readonly #rows: BinaryRow[] = [];
  /** The driver puts its own before it, which ends the clock that watches over the statement. */
  callback: (error: Error | null, rows: BinaryRow[]) => void;
  #error: Error | null = null;
  #isFirst = true;

  constructor(select: string, callback: Copy['callback']) {
    this.#select = select;
    this.callback = callback;
  }

  submit(connection: Connection): void {
    connection.query(`copy (${this.#select}) to stdout (format binary)`);
  }

  /** One for each row; the head comes with the first. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    let at = this.#isFirst ? HEAD_BYTES : 0;
    this.#isFirst = false;
    const count = chunk.readInt16BE(at);
    at += 2;
    if (count === END) return;
    const row: (Uint8Array | null)[] = [];
    for (let field = 0; field < count; field++) {
      const length = chunk.readInt32BE(at);
      at += 4;
      row.push(length < 0 ? null : ownBytes(chunk, at, length));
      if (length > 0) at += length;
    }
    this.#rows.push(row);
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#error ??= error;
    this.callback(this.#error, []);
  }

  handleReadyForQuery(): void {
    if (this.#error === null) this.callback(null, this.#rows);
  }
}

/** The driver uses its memory again. */
function ownBytes(chunk: Uint8Array, at: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  bytes.set(chunk.subarray(at, at + length));
  return bytes;
}

/** Of a field of four bytes. */
export const int32In = (field: Uint8Array): number => new DataView(field.buffer, field.byteOffset).getInt32(0);
