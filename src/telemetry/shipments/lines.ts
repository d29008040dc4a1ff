import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { LogDetail } from '../log-query.ts';

/** A line of JSON for each entry, compressed. Says how many. */
export async function writeLines(path: string, entries: AsyncIterable<LogDetail>): Promise<number> {
  let count = 0;
  const lines = async function* () {
    for await (const entry of entries) {
      count++;
      yield `${JSON.stringify(entry)}\n`;
    }
  };
  await pipeline(Readable.from(lines()), createGzip(), createWriteStream(path));
  return count;
}
