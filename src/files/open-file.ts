import { close, closeSync, fstat, open, read } from 'node:fs';

/** Descriptors of files whose readers forgot them: an abandoned download must cost neither a descriptor nor the process. */
const forgotten = new FinalizationRegistry<number>((descriptor) => closeSync(descriptor));

/**
 * A file that is open for reading. A reader closes it. One that is dropped on the way, as a stream of which no piece was
 * ever asked for, is closed when memory is tidied up; the runtime's own handles end the process then.
 */
export class OpenFile {
  readonly size: number;
  readonly #descriptor: number;
  #isOpen = true;

  private constructor(descriptor: number, size: number) {
    this.#descriptor = descriptor;
    this.size = size;
    forgotten.register(this, descriptor, this);
  }

  /** Throws what the system says: `ENOENT` where there is no such file. */
  static async open(path: string): Promise<OpenFile> {
    const descriptor = await new Promise<number>((resolve, reject) =>
      open(path, 'r', (error, opened) => (error ? reject(error) : resolve(opened))),
    );
    try {
      const size = await new Promise<number>((resolve, reject) =>
        fstat(descriptor, (error, stats) => (error ? reject(error) : resolve(stats.size))),
      );
      return new OpenFile(descriptor, size);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  /** Fills the piece from that place on, as far as the file goes, and answers how many bytes that were. */
  read(piece: Uint8Array, at: number): Promise<number> {
    return new Promise((resolve, reject) =>
      read(this.#descriptor, piece, 0, piece.byteLength, at, (error, bytes) =>
        error ? reject(error) : resolve(bytes),
      ),
    );
  }

  /** May be called again. */
  close(): Promise<void> {
    if (!this.#isOpen) return Promise.resolve();
    this.#isOpen = false;
    forgotten.unregister(this);
    return new Promise((resolve, reject) => close(this.#descriptor, (error) => (error ? reject(error) : resolve())));
  }
}
