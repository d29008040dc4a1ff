import type { MediaKind } from './ir.ts';

/** `data:image/png;base64,…` in its two halves; null when the text is no data URL. */
export function readDataUrl(url: string): { readonly mime?: string; readonly data: string } | null {
  if (!/^data:/i.test(url)) return null;
  const comma = url.indexOf(',');
  if (comma < 0) return null;
  const [type, ...options] = url.slice('data:'.length, comma).split(';');
  const payload = url.slice(comma + 1);
  const isBase64 = options.some((option) => option.trim().toLowerCase() === 'base64');
  try {
    const data = isBase64 ? payload : Buffer.from(decodeURIComponent(payload)).toString('base64');
    return { ...(type && { mime: type.toLowerCase() }), data };
  } catch {
    return null;
  }
}

export const dataUrl = (mime: string, data: string): string => `data:${mime};base64,${data}`;

export function kindOf(mime: string): MediaKind {
  if (mime.startsWith('image/')) return 'image';
  if (mime.startsWith('audio/')) return 'audio';
  return mime.startsWith('video/') ? 'video' : 'document';
}
