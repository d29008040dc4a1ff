import type { Chunk, Chunking } from './chunks.ts';

/**
 * How the gateway and the process that reads documents talk: a line of JSON for each document, followed by its bytes, and
 * a line of JSON for each piece of the answer.
 */
export interface Asked extends Chunking {
  readonly filename: string;
  readonly bytes: number;
}

export type Told =
  | { readonly chunk: Chunk }
  | { readonly end: true }
  | { readonly fault: { readonly code: 'unsupported_file' | 'invalid_file'; readonly message: string } };

/** The command of the executable that reads documents; from source, the file is run itself. */
export const READ_DOCUMENTS = 'read-documents';
