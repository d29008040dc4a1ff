import * as z from 'zod';
import { fail, GatewayError } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import { schemaOf } from '../core/schema.ts';
import { checked } from '../http/input.ts';
import type { Segment } from './content.ts';
import {
  checkFormat,
  checkSize,
  expiresAfterInForm,
  type FileObject,
  filename,
  MOST_FILE_BYTES,
  purpose,
} from './file.ts';
import type { Files } from './files.ts';
import { receiveForm } from './form.ts';
import { MOST_PART_BYTES, type UploadPart } from './upload.ts';
import type { Uploads } from './uploads.ts';

const binary = () => z.custom<unknown>().meta({ type: 'string', format: 'binary' });

/** The forms as the description of the API shows them. */
export const fileForm = () =>
  z.strictObject({ file: binary(), purpose: purpose(), expires_after: expiresAfterInForm().optional() });
export const partForm = () => z.strictObject({ data: binary() });

const fileFields = () =>
  z.strictObject({ file: filename(), purpose: purpose(), expires_after: expiresAfterInForm().optional() });
const partFields = () => z.strictObject({ data: z.literal(true) });

/** `POST /files`: the file is on its way into the store while the rest of the form is still to come. */
export async function receiveFile(
  request: Request,
  { workspaceId, userId }: Pick<Principal, 'workspaceId' | 'userId'>,
  files: Files,
): Promise<FileObject> {
  const { fields, file } = await receiveForm(request, {
    field: 'file',
    mostBytes: MOST_FILE_BYTES,
    what: 'a file that comes in one request',
    keep: files.keep,
    discard: files.discard,
  });
  const accept = async () => {
    if (file && file.filename === null) fail('invalid_type', 'file', 'a file', 'a string');
    const given = checked(schemaOf(fileFields), { ...fields, file: file?.filename ?? undefined }, 'body', 'openai');
    checkFormat(given.file, given.purpose);
    checkSize(file!.content.bytes, given.purpose, 'file');
    return given;
  };
  const given = await orDiscard(accept, file?.content, files);
  return files.create({
    workspaceId,
    userId,
    filename: given.file,
    purpose: given.purpose,
    segments: [file!.content],
    livesSeconds: given.expires_after?.seconds,
  });
}

/** `POST /uploads/:id/parts`. */
export async function receivePart(
  request: Request,
  workspaceId: WorkspaceId,
  uploadId: string,
  { files, uploads }: { files: Files; uploads: Uploads },
): Promise<UploadPart> {
  await uploads.requireRoom(workspaceId, uploadId);
  const { fields, file } = await receiveForm(request, {
    field: 'data',
    mostBytes: MOST_PART_BYTES,
    what: 'a part',
    keep: uploads.keepPart,
    discard: files.discard,
  });
  const accept = () => {
    checked(schemaOf(partFields), { ...fields, ...(file && { data: true }) }, 'body', 'openai');
    return uploads.addPart(workspaceId, uploadId, file!.content);
  };
  return orDiscard(accept, file?.content, files);
}

/**
 * What came with a form that is refused does not stay. Whether an insert that failed otherwise took place is not known, so
 * then the content stays; if it did not, the content is swept.
 */
async function orDiscard<Result>(
  accept: () => Promise<Result>,
  content: Segment | undefined,
  files: Files,
): Promise<Result> {
  try {
    return await accept();
  } catch (error) {
    if (content && error instanceof GatewayError && error.status < 500) await files.discard(content);
    throw error;
  }
}
