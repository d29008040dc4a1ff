import { digest } from './exchange.ts';

export interface StoredFile {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created_at: number;
  readonly filename: string;
  readonly purpose: string;
  readonly contentType: string;
  readonly content: Uint8Array<ArrayBuffer>;
}

const MOST_FILES = 1000;
export const MOST_BYTES = 256 * 1024 * 1024;

/** Uploaded files, in memory, oldest first; the oldest make room for the new. */
export class FileShelf {
  readonly #files = new Map<string, StoredFile>();
  #bytes = 0;
  #uploads = 0;

  /** Equal uploads are two files; the first upload of a fresh simulator always gets the same id. */
  add(upload: Omit<StoredFile, 'id'>): StoredFile {
    this.#uploads += 1;
    const file = { ...upload, id: `file-${digest(`${this.#uploads} ${upload.filename} ${digest(upload.content)}`)}` };
    this.#files.set(file.id, file);
    this.#bytes += file.content.length;
    for (const id of this.#files.keys()) {
      if (this.#files.size <= MOST_FILES && this.#bytes <= MOST_BYTES) break;
      this.remove(id);
    }
    return file;
  }

  get(id: string): StoredFile | undefined {
    return this.#files.get(id);
  }

  remove(id: string): boolean {
    this.#bytes -= this.#files.get(id)?.content.length ?? 0;
    return this.#files.delete(id);
  }

  newestFirst(): StoredFile[] {
    return [...this.#files.values()].reverse();
  }
}
