import { api, send } from './client.ts';
import { faultOf } from './fault.ts';
import type { File as StoredFile } from './types.d.ts';

/** Puts a file of the browser into the workspace. */
export function uploadFile(file: Blob & { readonly name: string }, purpose: string): Promise<StoredFile> {
  const body = new FormData();
  body.set('purpose', purpose);
  body.set('file', file, file.name);
  return api.post('/v1/files', { body });
}

/** Saves what an address answers, asked for as the signed-in user in the workspace of the page. */
export async function download(
  address: string,
  name: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const answer = await send(address, { headers });
  if (!answer.ok) throw await faultOf(answer);
  const url = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** The bytes of a file. */
export const contentOf = (id: string): string => `/v1/files/${encodeURIComponent(id)}/content`;

/** The beginning of a file as text. */
export async function beginningOf(id: string, bytes: number, signal?: AbortSignal): Promise<string> {
  const answer = await send(contentOf(id), { headers: { range: `bytes=0-${bytes - 1}` }, signal });
  if (!answer.ok) throw await faultOf(answer);
  return answer.text();
}

const MOST_PICTURE = 8 * 1024 * 1024;

/** A stored picture as data that the page may show. Throws where it is none, or a large one. */
export async function pictureOf(id: string, signal?: AbortSignal): Promise<string> {
  const answer = await send(contentOf(id), { signal });
  if (!answer.ok) throw await faultOf(answer);
  const blob = await answer.blob();
  if (blob.size > MOST_PICTURE) throw new Error('The picture is too large to be shown.');
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const type = pictureType(bytes);
  if (!type) throw new Error('The file is no picture.');
  let text = '';
  for (let from = 0; from < bytes.length; from += 8_192)
    text += String.fromCharCode(...bytes.subarray(from, from + 8_192));
  return `data:image/${type};base64,${btoa(text)}`;
}

/** By its first bytes: what a file is called says nothing. */
function pictureType(bytes: Uint8Array): string | null {
  const starts = (...first: number[]) => first.every((byte, index) => bytes[index] === byte);
  if (starts(0x89, 0x50, 0x4e, 0x47)) return 'png';
  if (starts(0xff, 0xd8, 0xff)) return 'jpeg';
  return starts(0x47, 0x49, 0x46, 0x38) ? 'gif' : null;
}
