import type { Quirks } from '../dialect.ts';
import type { CacheMark, MediaPart, Part, TextPart } from '../ir.ts';
import { present } from '../json.ts';
import type { Losses } from '../losses.ts';
import { dataUrl } from '../media.ts';
import { audioFormat } from './decode-parts.ts';
import type { ContentPart, TextPart as WireText } from './wire.ts';

type Marks = Pick<WireText, 'cache_control' | 'prompt_cache_breakpoint'>;

interface Marked {
  readonly cache?: CacheMark;
  readonly at?: string;
}

/** A cache mark as this provider takes it; OpenAI itself caches without being asked. */
export function cacheMarks(part: Marked, path: string, quirks: Quirks, losses: Losses): Marks {
  if (!part.cache) return {};
  if (quirks.cacheMarks === 'cache_control') return { cache_control: { type: 'ephemeral', ...part.cache } };
  if (quirks.cacheMarks === undefined) {
    losses.member(part, path, 'cache', 'this provider decides by itself what it caches');
    return {};
  }
  if (part.cache.ttl !== undefined) losses.member(part, path, 'cache.ttl', 'it is one for the whole request here');
  return { prompt_cache_breakpoint: { mode: 'explicit' } };
}

export function textPart(part: TextPart, path: string, quirks: Quirks, losses: Losses): WireText {
  const ext = losses.ext(part, path);
  return { ...ext, type: 'text', text: part.text, ...cacheMarks(part, path, quirks, losses) };
}

/** One part of a user's message; null when it cannot be said here, which is noted. */
export function contentPart(part: Part, path: string, quirks: Quirks, losses: Losses): ContentPart | null {
  if (part.type === 'text') return textPart(part, path, quirks, losses);
  if (part.type === 'opaque' && part.dialect === 'openai-chat') return part.raw as unknown as ContentPart;
  if (part.type === 'media') {
    const made = mediaPart(part, path, losses);
    if (made) return { ...losses.ext(part, path), ...made, ...cacheMarks(part, path, quirks, losses) };
  }
  losses.node(part, path, `openai-chat takes no ${describe(part)} here`);
  return null;
}

function describe(part: Part): string {
  if (part.type === 'opaque') return `content of ${part.dialect}`;
  if (part.type !== 'media') return part.type;
  return part.source.type === 'url' ? `${part.kind} by address` : part.kind;
}

function mediaPart(part: MediaPart, path: string, losses: Losses): ContentPart | null {
  const made = sayableMedia(part);
  if (!made) return null;
  const lost = (name: 'detail' | 'title' | 'mime', isKept: boolean) => {
    if (part[name] !== undefined && !isKept) losses.member(part, path, name, 'openai-chat has no place for it');
  };
  lost('detail', made.type === 'image_url');
  lost('title', made.type === 'file');
  lost('mime', part.source.type === 'data' || made.type === 'text');
  if (made.type === 'text') losses.change(part, path, 'sent as the text that it holds');
  return made;
}

function sayableMedia({ kind, source, mime, detail, title }: MediaPart): ContentPart | null {
  if (kind === 'image') {
    const url = source.type === 'url' ? source.url : source.type === 'data' && mime ? dataUrl(mime, source.data) : null;
    const image_url = url && present({ url, detail: detail as 'auto' | undefined });
    return image_url ? { type: 'image_url', image_url } : null;
  }
  if (kind === 'audio' && source.type === 'data' && mime)
    return { type: 'input_audio', input_audio: { data: source.data, format: audioFormat(mime) as 'wav' } };
  if (kind !== 'document' || source.type === 'url') return null;
  if (source.type === 'text') return { type: 'text', text: source.text };
  if (source.type === 'id') return { type: 'file', file: present({ file_id: source.id, filename: title }) };
  const file_data = mime ? dataUrl(mime, source.data) : source.data;
  return { type: 'file', file: present({ file_data, filename: title }) };
}
