import type { Quirks } from '../dialect.ts';
import type { CacheMark, MediaPart, Part } from '../ir.ts';
import { present } from '../json.ts';
import type { Losses } from '../losses.ts';
import { dataUrl } from '../media.ts';
import type { InputContent, InputFile, InputImage, InputText } from './wire.ts';

type Marks = Pick<InputText, 'prompt_cache_breakpoint'>;

/** OpenAI caches without being asked; models that take marks say so in the provider's quirks. */
function cacheMarks(
  part: { readonly cache?: CacheMark; readonly at?: string },
  path: string,
  quirks: Quirks,
  losses: Losses,
): Marks {
  if (!part.cache) return {};
  if (quirks.cacheMarks !== 'prompt_cache_breakpoint') {
    losses.member(part, path, 'cache', 'this provider decides by itself what it caches');
    return {};
  }
  if (part.cache.ttl !== undefined) losses.member(part, path, 'cache.ttl', 'it is one for the whole request here');
  return { prompt_cache_breakpoint: { mode: 'explicit' } };
}

/** One part of what a client says; null when it cannot be said here, which is noted. */
export function contentPart(part: Part, path: string, quirks: Quirks, losses: Losses): InputContent | null {
  if (part.type === 'opaque' && part.dialect === 'responses') return part.raw as unknown as InputContent;
  const made =
    part.type === 'text' ? inputText(part.text) : part.type === 'media' ? mediaPart(part, path, losses) : null;
  if (made)
    return {
      ...losses.ext(part, path),
      ...made,
      ...cacheMarks(part as MediaPart, path, quirks, losses),
    } as InputContent;
  losses.node(part, path, `responses takes no ${describe(part)} here`);
  return null;
}

const inputText = (text: string): InputText => ({ type: 'input_text', text });

function describe(part: Part): string {
  if (part.type === 'opaque') return `content of ${part.dialect}`;
  return part.type === 'media' ? part.kind : part.type;
}

function mediaPart(part: MediaPart, path: string, losses: Losses): InputContent | null {
  const made = part.kind === 'image' ? imagePart(part) : part.kind === 'document' ? filePart(part) : null;
  if (!made) return null;
  const lost = (name: 'title' | 'mime' | 'detail', isKept: boolean) => {
    if (part[name] !== undefined && !isKept) losses.member(part, path, name, 'responses has no place for it');
  };
  lost('title', made.type === 'input_file');
  lost('mime', part.source.type === 'data' || part.source.type === 'text');
  lost('detail', made.type !== 'input_text');
  if (made.type === 'input_text') losses.change(part, path, 'sent as the text that it holds');
  return made;
}

function imagePart({ source, mime, detail = 'auto' }: MediaPart): InputImage | null {
  const image = { type: 'input_image', detail: detail as InputImage['detail'] } as const;
  if (source.type === 'id') return { ...image, file_id: source.id };
  if (source.type === 'url') return { ...image, image_url: source.url };
  return source.type === 'data' && mime ? { ...image, image_url: dataUrl(mime, source.data) } : null;
}

function filePart({ source, mime, title, detail }: MediaPart): InputFile | InputText {
  if (source.type === 'text') return inputText(source.text);
  const file = { type: 'input_file', filename: title, detail: detail as InputFile['detail'] } as const;
  if (source.type === 'id') return present<InputFile>({ ...file, file_id: source.id });
  if (source.type === 'url') return present<InputFile>({ ...file, file_url: source.url });
  return present<InputFile>({ ...file, file_data: mime ? dataUrl(mime, source.data) : source.data });
}
