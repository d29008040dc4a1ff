import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** A line of a file, and where its bytes lie. */
export interface Line {
  readonly number: number;
  readonly start: number;
  readonly length: number;
}

/** Null: it is no JSON object, or longer than any line may be. */
export type ReadLine = Line & { readonly value: Readonly<Record<string, unknown>> | null };

/** A message has up to 256,000 characters in each of its parts; more than this is no message. */
const LONGEST = 64 << 20;
const PIECE = 1 << 20;
const NEWLINE = 10;

/** The lines of a file, one after the other; empty ones are left out, and a file that is not there has none. */
export async function* linesOf(path: string): AsyncGenerator<ReadLine> {
  if (!existsSync(path)) return;
  const file = await open(path, 'r');
  try {
    yield* linesIn(file);
  } finally {
    await file.close();
  }
}

async function* linesIn(file: FileHandle): AsyncGenerator<ReadLine> {
  const piece = Buffer.allocUnsafe(PIECE);
  let pending: Buffer[] = [];
  let length = 0;
  let start = 0;
  let number = 0;
  const finish = (): ReadLine => {
    const value = length > LONGEST ? null : objectIn(Buffer.concat(pending));
    const line = { number: ++number, start, length, value };
    start += length + 1;
    pending = [];
    length = 0;
    return line;
  };
  const take = (bytes: Buffer) => {
    length += bytes.byteLength;
    if (length <= LONGEST) pending.push(Buffer.from(bytes));
    else pending = [];
  };
  for (;;) {
    const { bytesRead } = await file.read(piece, 0, PIECE, null);
    if (bytesRead === 0) break;
    let from = 0;
    for (let at = piece.indexOf(NEWLINE); at >= 0 && at < bytesRead; at = piece.indexOf(NEWLINE, from)) {
      take(piece.subarray(from, at));
      from = at + 1;
      const isEmpty = length === 0 || (length < 8 && Buffer.concat(pending).toString().trim() === '');
      const line = finish();
      if (!isEmpty) yield line;
    }
    take(piece.subarray(from, bytesRead));
  }
  if (length > 0 && (length > 8 || Buffer.concat(pending).toString().trim() !== '')) yield finish();
}

function objectIn(bytes: Buffer): ReadLine['value'] {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as ReadLine['value']) : null;
  } catch {
    return null;
  }
}

/** Reads lines again that were found before. */
export async function readAgain(file: FileHandle, { start, length }: Line): Promise<unknown> {
  const bytes = Buffer.allocUnsafe(length);
  await file.read(bytes, 0, length, start);
  return JSON.parse(bytes.toString());
}
