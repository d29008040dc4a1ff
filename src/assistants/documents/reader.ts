import { fileURLToPath } from 'node:url';
import { layout, ownCommand } from '../../core/program.ts';
import type { Chunk, Chunking } from './chunks.ts';
import { DocumentFault, invalid } from './document.ts';
import { READ_DOCUMENTS } from './protocol.ts';
import { type ReadingLimits, ReadingProcess } from './reading-process.ts';

export interface Document extends Chunking {
  readonly filename: string;
  readonly bytes: number;
  /** A process that has read something of one tenant reads nothing of another. */
  readonly tenant: string;
  readonly open: () => Promise<ReadableStream<Uint8Array>>;
}

/** Where files become text. */
export interface DocumentReader {
  /**
   * The chunks of a document, as fast as they are taken. Throws a DocumentFault when it cannot be read, and a
   * ReadingFailed when the process that reads it ended.
   */
  chunks(document: Document, signal: AbortSignal): AsyncGenerator<Chunk>;
  close(): void;
}

export interface ReaderOptions {
  readonly command?: readonly string[];
  readonly limits?: Partial<ReadingLimits>;
}

const LIMITS: ReadingLimits = { ms: 120_000, kibibytes: 2 << 20, seconds: 240, bytes: 512 << 20 };
const IDLE_MS = 10_000;
const MOST_IDLE = 4;

/** Where the program lies as it was written, the part that is needed is called alone. */
const readingCommand = (): readonly string[] =>
  layout === 'source'
    ? [process.execPath, fileURLToPath(new URL('./child.ts', import.meta.url))]
    : [...ownCommand(), READ_DOCUMENTS];

/**
 * Reads documents in processes: what strangers have made may make a parser run for ever, or use all memory, and a thread
 * has no limit for that. One is begun when it is needed, and kept for a moment for the same tenant's next document.
 */
export function createDocumentReader({ command = readingCommand(), limits }: ReaderOptions = {}): DocumentReader {
  const bounds = { ...LIMITS, ...limits };
  const idle = new Map<ReadingProcess, string>();
  const busy = new Set<ReadingProcess>();

  const take = (tenant: string): ReadingProcess => {
    const rested = [...idle.keys()].find((process) => idle.get(process) === tenant && process.isAlive);
    const taken = rested ?? new ReadingProcess({ command, limits: bounds });
    idle.delete(taken);
    taken.wake();
    busy.add(taken);
    return taken;
  };
  const giveBack = (tenant: string, process: ReadingProcess) => {
    busy.delete(process);
    if (!process.isFresh || idle.size >= MOST_IDLE) return process.end();
    idle.set(process, tenant);
    process.rest(IDLE_MS, () => idle.delete(process));
  };

  return {
    async *chunks({ tenant, open, ...asked }, signal) {
      if (asked.bytes > bounds.bytes) invalid(`The file has more than ${bounds.bytes} bytes.`);
      signal.throwIfAborted();
      const process = take(tenant);
      const stop = () => process.end();
      signal.addEventListener('abort', stop);
      let isWhole = false;
      try {
        yield* process.read(asked, open);
        isWhole = true;
      } catch (error) {
        isWhole = error instanceof DocumentFault && process.isAlive;
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', stop);
        // One that was left in the middle of an answer cannot be asked again.
        if (!isWhole) process.end();
        giveBack(tenant, process);
      }
    },
    close: () => {
      for (const process of [...busy, ...idle.keys()]) process.end();
      idle.clear();
    },
  };
}
