import { fail } from '../core/errors.ts';
import { type Part, readParts } from '../http/multipart.ts';
import type { Segment } from './content.ts';

export interface ReceivedFile {
  readonly filename: string | null;
  readonly content: Segment;
}

export interface ReceivedForm {
  /** The other fields; `a[b]` is member b of a. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly file: ReceivedFile | null;
}

export interface FormOptions {
  /** The field that holds the file. */
  readonly field: string;
  readonly mostBytes: number;
  /** What the file is called in the refusal of one that is too large. */
  readonly what: string;
  readonly keep: (content: AsyncIterable<Uint8Array>) => Promise<Segment>;
  readonly discard: (content: Segment) => Promise<void>;
}

const FIELD = /^([A-Za-z_][\w-]*)(?:\[([A-Za-z_][\w-]*)\])?$/;
const MOST_FIELD_BYTES = 64 * 1024;
/** What may stand around the file in the body. */
const MOST_FORM_BYTES = 1 << 20;

/**
 * Reads a form with one file in it, which is stored as it comes in. The other fields may stand behind the file, so only
 * the caller can tell whether it may stay; when the form itself is at fault, it is discarded here.
 */
export async function receiveForm(request: Request, options: FormOptions): Promise<ReceivedForm> {
  const { field, mostBytes, what } = options;
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  if (declared > mostBytes + MOST_FORM_BYTES) fail('file_too_large', field, mostBytes, what);
  const fields = new Map<string, unknown>();
  let file: ReceivedFile | null = null;
  try {
    for await (const part of readParts(request)) {
      if (part.name !== field) {
        await takeField(fields, part);
        continue;
      }
      if (file) fail('invalid_value', field, `Invalid '${field}': it is given twice.`);
      file = { filename: part.filename, content: await options.keep(limited(part.content, options)) };
    }
  } catch (error) {
    if (file) await options.discard(file.content);
    throw error;
  }
  return { fields: Object.fromEntries(fields), file };
}

async function* limited(content: AsyncIterable<Uint8Array>, { field, mostBytes, what }: FormOptions) {
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.byteLength;
    if (bytes > mostBytes) fail('file_too_large', field, mostBytes, what);
    yield piece;
  }
}

async function takeField(fields: Map<string, unknown>, part: Part) {
  const [, name, member] = FIELD.exec(part.name) ?? fail('unknown_parameter', part.name.slice(0, 80));
  const text = await textOf(part);
  const twice = (): never => fail('invalid_value', name!, `Invalid '${name}': it is given twice.`);
  if (member === undefined) {
    if (fields.has(name!)) twice();
    fields.set(name!, text);
    return;
  }
  const members = fields.get(name!) ?? {};
  if (typeof members !== 'object' || Object.hasOwn(members as object, member)) twice();
  fields.set(name!, Object.fromEntries([...Object.entries(members as object), [member, text]]));
}

async function textOf({ name, content }: Part): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.byteLength;
    if (bytes > MOST_FIELD_BYTES) fail('string_above_max_length', name.slice(0, 80), MOST_FIELD_BYTES, bytes);
    pieces.push(piece);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces));
  } catch {
    return fail('invalid_value', name.slice(0, 80), `Invalid '${name.slice(0, 80)}': it is not UTF-8.`);
  }
}
