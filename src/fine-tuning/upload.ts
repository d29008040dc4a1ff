import { fail } from '../core/errors.ts';
import {
  jsonIn,
  type ProviderCall,
  type ProviderCallDeps,
  sendToProvider,
  understood,
} from '../relay/provider-call.ts';
import { BadExample, type FileToSend, type RemoteFiles, type Sending } from './backends/backend.ts';
import type { Method } from './input.ts';
import type { JobError } from './job.ts';
import type { Behind } from './provider.ts';

/** Something about the job itself is wrong: trying again would not help. */
export class JobFault extends Error {
  readonly error: JobError;

  constructor(error: JobError) {
    super(error.message);
    this.name = 'JobFault';
    this.error = error;
  }
}

export interface Upload {
  readonly file: FileToSend;
  readonly method: Method['type'];
  /** The member of the request that named the file. */
  readonly param: string;
  readonly open: () => Promise<ReadableStream<Uint8Array>>;
}

/** Sends a file, translated where the provider's format is another one. Answers what it is called there. */
export async function upload(
  { file, method, param, open }: Upload,
  { target, place, backend }: Behind,
  deps: ProviderCallDeps,
  signal: AbortSignal,
): Promise<string> {
  const { files } = backend;
  const sending = files.send(file, place);
  const stream = await open();
  const content = translated(stream, files, method);
  try {
    const answer = await jsonIn(await sendToProvider(target, await packed(sending, content, file), deps, signal));
    return understood(() => files.nameIn(answer, file, place));
  } catch (error) {
    // What goes wrong inside a body that is being sent comes out as the failure of the exchange.
    if (content.fault) throw new JobFault({ code: 'invalid_training_file', message: content.fault, param });
    throw error;
  } finally {
    // A call that was not sent has asked for none of it.
    if (!stream.locked) await stream.cancel();
  }
}

interface Content {
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Null when it is not known before all of it is read. */
  readonly length: 'unchanged' | null;
  fault: string | null;
}

function translated(stream: ReadableStream<Uint8Array>, files: RemoteFiles, method: Method['type']): Content {
  const pieces = stream as unknown as AsyncIterable<Uint8Array>;
  const { translate } = files;
  if (!translate) return { pieces, length: 'unchanged', fault: null };
  const content = { pieces, length: null, fault: null as string | null };
  const report = (fault: string) => {
    content.fault = fault;
  };
  return Object.assign(content, { pieces: examples(pieces, (value) => translate(value, method), report) });
}

/** The longest line that is taken for an example. */
const MOST_LINE = 8 << 20;

/** Line by line; memory does not grow with the file. */
async function* examples(
  pieces: AsyncIterable<Uint8Array>,
  translate: (example: unknown) => unknown,
  report: (fault: string) => void,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let number = 1;
  try {
    for await (const line of linesOf(pieces)) {
      if (line.trim() !== '') yield encoder.encode(`${JSON.stringify(translate(JSON.parse(line)))}\n`);
      number++;
    }
  } catch (error) {
    if (error instanceof BadExample) report(`Line ${number}: ${error.message}.`);
    else if (error instanceof SyntaxError) report(`Line ${number}: it is not valid JSON.`);
    throw error;
  }
}

async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop()!;
    yield* lines;
    if (rest.length > MOST_LINE) throw new BadExample(`it has more than ${MOST_LINE} characters`);
  }
  yield rest + decoder.decode();
}

/** The request that carries the content: as it is, as the file of a form, or whole, where a signature covers it. */
async function packed(sending: Sending, content: Content, file: FileToSend): Promise<ProviderCall> {
  const { method, path, url, signed, form } = sending;
  const length = content.length === 'unchanged' ? file.bytes : null;
  if (signed) {
    const body = await whole(content.pieces);
    return { method, path, url, authorize: signed, body, contentType: sending.contentType };
  }
  if (!form) return { method, path, url, length, body: streamOf(content.pieces), contentType: sending.contentType };
  const boundary = `gateway-${crypto.randomUUID()}`;
  const head = new TextEncoder().encode(formHead(form, boundary));
  const tail = new TextEncoder().encode(`\r\n--${boundary}--\r\n`);
  return {
    method,
    path,
    url,
    body: streamOf(around(head, content.pieces, tail)),
    length: length === null ? null : head.byteLength + length + tail.byteLength,
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}

/** Names and values are ours: nothing in them needs to be escaped. */
function formHead({ fields, filename }: NonNullable<Sending['form']>, boundary: string): string {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${parts.join('')}--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${filename}"\r\ncontent-type: application/jsonl\r\n\r\n`;
}

async function* around(head: Uint8Array, pieces: AsyncIterable<Uint8Array>, tail: Uint8Array) {
  yield head;
  yield* pieces;
  yield tail;
}

function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await iterator.return?.()),
    },
    { highWaterMark: 0 },
  );
}

const MOST_WHOLE = 128 << 20;

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const found: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.byteLength;
    if (size > MOST_WHOLE) fail('file_too_large', 'training_file', MOST_WHOLE, 'a translated training file');
    found.push(piece);
  }
  return Buffer.concat(found);
}
