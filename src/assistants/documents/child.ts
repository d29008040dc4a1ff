import { readSync, writeSync } from 'node:fs';
import { loadTokenizer } from '../../core/tokenizer.ts';
import { BYTES, chunksOf, isOneChunk } from './chunks.ts';
import { DocumentFault } from './document.ts';
import { extract } from './extract-text.ts';
import type { Asked, Told } from './protocol.ts';

/**
 * The process that reads documents: it parses what strangers have made, so it has nothing to lose. It starts without
 * environment and with limits on memory and processor time, and ends when the gateway does.
 */
export async function readDocuments(): Promise<void> {
  // A signal to the whole terminal is the gateway's affair: it says when this process is not needed any more.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  // Parsers that are worried write to where the answers go.
  for (const level of ['log', 'info', 'warn', 'debug'] as const) console[level] = () => {};
  const input = new Input();
  for (;;) {
    const asked = JSON.parse(input.line()) as Asked;
    await answer(asked, input.bytes(asked.bytes));
  }
}

const DAMAGED = new DocumentFault('invalid_file', 'The file is damaged: it cannot be read.');

async function answer({ filename, ...chunking }: Asked, bytes: Uint8Array): Promise<void> {
  try {
    const extracted = await extract(filename, bytes);
    const tokenizer = isOneChunk(extracted, chunking) ? BYTES : await loadTokenizer('o200k_base');
    for (const chunk of chunksOf(extracted, chunking, tokenizer)) tell({ chunk });
    tell({ end: true });
  } catch (error) {
    // Nothing good comes of going on without memory.
    if (error instanceof RangeError && /memory/i.test(error.message)) process.exit(1);
    // Whatever else a parser stumbles over is in the file.
    const { code, message } = error instanceof DocumentFault ? error : DAMAGED;
    tell({ fault: { code, message } });
  }
}

/**
 * Reads and writes wait, and nothing else happens meanwhile: there is nothing else to do. Streams in their place spun for
 * ever when the process at the other end was killed (Bun 1.4.4).
 */
function tell(told: Told): void {
  const line = Buffer.from(`${JSON.stringify(told)}\n`);
  for (let at = 0; at < line.length; ) at += attempt(() => writeSync(1, line, at));
}

/** What was done; ends the process when the other end is gone. */
function attempt(io: () => number): number {
  for (;;) {
    try {
      return io();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') process.exit(0);
      Bun.sleepSync(1);
    }
  }
}

/** Lines and stretches of bytes, as they are asked for. */
class Input {
  readonly #buffer = new Uint8Array(1 << 20);
  #rest = this.#buffer.subarray(0, 0);

  line(): string {
    let text = '';
    for (;;) {
      const end = this.#rest.indexOf(0x0a);
      const taken = end < 0 ? this.#rest : this.#rest.subarray(0, end);
      text += Buffer.from(taken).toString('latin1');
      if (end >= 0) {
        this.#rest = this.#rest.subarray(end + 1);
        return Buffer.from(text, 'latin1').toString('utf8');
      }
      this.#more();
    }
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      if (this.#rest.length === 0) this.#more();
      const taken = this.#rest.subarray(0, length - at);
      bytes.set(taken, at);
      at += taken.length;
      this.#rest = this.#rest.subarray(taken.length);
    }
    return bytes;
  }

  /** The gateway that does not need this process any more says nothing more. */
  #more(): void {
    const read = attempt(() => readSync(0, this.#buffer));
    if (read === 0) process.exit(0);
    this.#rest = this.#buffer.subarray(0, read);
  }
}

if (import.meta.main) await readDocuments();
