import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../core/errors.ts';
import { newObjectId } from '../../core/object-ids.ts';
import type { BatchRow } from '../../storage/schema.ts';
import type { Lease } from '../../work/work.ts';
import type { Endpoint } from '../batch.ts';
import { inputOf } from '../input.ts';
import type { BatchDeps } from '../kinds.ts';
import type { NativeApi } from './api.ts';

const LINES_AT_ONCE = 500;

/** What a request is called at the provider, and which one a result is for. */
export const nameOf = (number: number): string => `r${number}`;
export const numberOf = (name: string): number | null => (/^r\d{1,6}$/.test(name) ? Number(name.slice(1)) : null);

export interface Requests {
  /** As the provider wants them, one after the other, without line ends. */
  readonly lines: AsyncGenerator<string>;
  /** How many were said so far. */
  readonly said: number;
  /** Of the first one. */
  readonly model: string | null;
  /** What kept them from being read to their end, if anything did. */
  readonly failure: unknown;
}

/** The requests of a batch in the provider's words. Those that cannot be said get their results at once. */
export function requestsOf(batch: BatchRow, api: NativeApi, lease: Lease, deps: BatchDeps): Requests {
  const { store, table, files } = deps;
  const seen = { said: 0, model: null as string | null, failure: null as unknown };
  async function* lines() {
    try {
      yield* readLines();
    } catch (error) {
      seen.failure = error;
      throw error;
    }
  }
  async function* readLines() {
    for (let from = 0; from < (batch.total ?? 0); from += LINES_AT_ONCE) {
      lease.signal.throwIfAborted();
      const open = await table.openLines(store.db, batch.id, from, from + LINES_AT_ONCE);
      for await (const { number, body } of inputOf(files, batch, open)) {
        const line = body && encoded(number, body);
        if (typeof line === 'string') {
          seen.said++;
          seen.model ??= modelIn(body!);
          yield line;
        } else await fails(number, line);
      }
    }
  }
  const encoded = (number: number, body: Uint8Array): string | GatewayError => {
    try {
      return api.encodeLine(nameOf(number), body, batch.endpoint as Endpoint);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
  };
  const fails = (number: number, why: GatewayError | null) => {
    const response = why && JSON.stringify({ status_code: why.status, request_id: '', body: why.body() });
    const gone = { code: 'file_not_found', message: 'The input file was deleted before this request could be made.' };
    return lease.transaction((db) =>
      table.insertResults(db, [
        {
          batch_id: batch.id,
          number,
          id: newObjectId('batchRequest'),
          is_error: 1,
          response,
          error: why ? null : JSON.stringify(gone),
        },
      ]),
    );
  };
  return {
    lines: lines(),
    get said() {
      return seen.said;
    },
    get model() {
      return seen.model;
    },
    get failure() {
      return seen.failure;
    },
  };
}

function modelIn(body: Uint8Array): string | null {
  const { model } = JSON.parse(Buffer.from(body).toString()) as { model?: unknown };
  return typeof model === 'string' ? model : null;
}

/** A body with something before, between and after its lines. */
async function* wrapped(lines: AsyncIterable<string>, head: string, between: string, tail: string) {
  let gap = head;
  for await (const line of lines) {
    yield Buffer.from(gap + line);
    gap = between;
  }
  yield Buffer.from((gap === head ? head : '') + tail);
}

/** The requests as a file in a form. */
export function asForm(lines: AsyncIterable<string>, filename: string) {
  const boundary = `gateway-${randomUUID()}`;
  const part = (disposition: string) => `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n`;
  const head = `${part('name="purpose"')}\r\nbatch\r\n${part(`name="file"; filename="${filename}"`)}content-type: application/jsonl\r\n\r\n`;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: streamOf(wrapped(lines, head, '\n', `\n\r\n--${boundary}--\r\n`)),
  };
}

/** The requests inside the call that creates the job. */
export const asInline = (lines: AsyncIterable<string>) => ({
  contentType: 'application/json',
  body: streamOf(wrapped(lines, '{"requests":[', ',', ']}')),
});

/** The requests as a file of their own. */
export const asLines = (lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> => wrapped(lines, '', '\n', '\n');

export function streamOf(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { value, done } = await pieces.next();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          controller.error(error);
        }
      },
      cancel: () => void pieces.return(undefined),
    },
    { highWaterMark: 0 },
  );
}
