/** Cuts what a program prints into lines. A line that grows beyond its bound is the program's end, and is not kept. */
export class LineCutter {
  readonly #mostBytes: number;
  #begun: Uint8Array[] = [];
  #size = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** The lines that end in this piece; null: one is too long. */
  push(piece: Uint8Array): Uint8Array[] | null {
    const lines: Uint8Array[] = [];
    let from = 0;
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, from)) {
      const end = piece.subarray(from, at);
      if (this.#size + end.byteLength > this.#mostBytes) return null;
      lines.push(this.#size === 0 ? end : Buffer.concat([...this.#begun, end]));
      this.#begun = [];
      this.#size = 0;
      from = at + 1;
    }
    if (from < piece.byteLength) {
      // The piece may be a part of a buffer that is written to again.
      this.#begun.push(piece.slice(from));
      this.#size += piece.byteLength - from;
    }
    return this.#size > this.#mostBytes ? null : lines;
  }
}
