import { GatewayError } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import type { Files } from '../files/files.ts';
import type { BatchRow } from '../storage/schema.ts';
import { bodyOf } from './request-line.ts';
import type { OpenLine } from './table.ts';

/** What one request sends. Null: the input file is gone. */
export interface LineInput {
  readonly number: number;
  readonly body: Uint8Array | null;
}

/** Neighbouring lines are read together up to so many bytes: to open the file takes as long as to make ten requests. */
const WINDOW = 256 * 1024;

/** The bodies of requests, read from the input file when their turn comes. */
export async function* inputOf(files: Files, batch: BatchRow, lines: readonly OpenLine[]): AsyncGenerator<LineInput> {
  for (let first = 0; first < lines.length; ) {
    const start = lines[first]!.position;
    let next = first + 1;
    while (next < lines.length && endOf(lines[next]!) - start <= WINDOW) next++;
    const group = lines.slice(first, next);
    const bytes = await read(files, batch, start, endOf(group.at(-1)!));
    for (const { number, position, bytes: length } of group)
      yield { number, body: bytes && bodyOf(bytes.subarray(position - start, position - start + length)) };
    first = next;
  }
}

const endOf = ({ position, bytes }: OpenLine): number => position + bytes;

async function read(files: Files, batch: BatchRow, start: number, end: number): Promise<Uint8Array | null> {
  try {
    const file = await files.row(batch.workspace_id as WorkspaceId, batch.input_file_id);
    const bytes = await wholeOf(await files.open(file, { start, end }));
    if (bytes.length !== end - start) throw new Error(`The input of ${batch.id} is shorter than it was.`);
    return bytes;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'file_not_found') return null;
    throw error;
  }
}

/** As it came, where it came in one piece. */
async function wholeOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream as unknown as AsyncIterable<Uint8Array>) pieces.push(piece);
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}
