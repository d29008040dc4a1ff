import { GatewayError } from '../../core/errors.ts';
import type { Files } from '../../files/files.ts';
import { failRun } from './failures.ts';
import type { ReadImage } from './history.ts';

/** What providers take of one image. */
const MOST_BYTES = 20 << 20;

/** What they take of all images of a request. A message may refer to one file a thousand times. */
const MOST_BYTES_TOGETHER = 64 << 20;

const SIGNATURES: readonly (readonly [type: string, at: number, bytes: string])[] = [
  ['image/png', 0, '\x89PNG'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF8'],
  ['image/webp', 8, 'WEBP'],
];

/** Images that messages refer to by file: providers get them inside the request. */
export const imageReader =
  (files: Pick<Files, 'row' | 'open'>): ReadImage =>
  async (workspaceId, fileId) => {
    const row = await files.row(workspaceId, fileId).catch((error: unknown) => {
      if (!(error instanceof GatewayError) || error.code !== 'file_not_found') throw error;
      return failRun('invalid_prompt', `The image ${fileId} of a message is not there any more.`);
    });
    if (row.bytes > MOST_BYTES) failRun('invalid_prompt', `The image ${fileId} has more than ${MOST_BYTES} bytes.`);
    const bytes = Buffer.from(await new Response(await files.open(row)).arrayBuffer());
    const type = typeOf(bytes) ?? failRun('invalid_prompt', `The file ${fileId} is no PNG, JPEG, GIF or WebP image.`);
    return `data:${type};base64,${bytes.toString('base64')}`;
  };

/** The same for the images of one prompt. */
export function imagesTogether(read: ReadImage): ReadImage {
  let left = MOST_BYTES_TOGETHER;
  return async (workspaceId, fileId) => {
    const url = await read(workspaceId, fileId);
    left -= url.length;
    if (left < 0) failRun('invalid_prompt', `The images of the thread have more than ${MOST_BYTES_TOGETHER} bytes.`);
    return url;
  };
}

const typeOf = (bytes: Buffer): string | null =>
  SIGNATURES.find(([, at, start]) => bytes.toString('latin1', at, at + start.length) === start)?.[0] ?? null;
