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
