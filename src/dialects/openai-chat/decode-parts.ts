import { Fields, fault } from '../fields.ts';
import type { CacheMark, Ext, MediaPart, Part } from '../ir.ts';
import { present } from '../json.ts';
import { kindOf, readDataUrl } from '../media.ts';

export function extOf(fields: Fields): Ext | undefined {
  const rest = fields.rest();
  return rest && { 'openai-chat': rest };
}

/** OpenAI's own mark, or Anthropic's, which clients of gateways send. */
export function cacheMark(fields: Fields): CacheMark | undefined {
  const breakpoint = fields.fields('prompt_cache_breakpoint');
  const control = fields.fields('cache_control');
  if (!control) return breakpoint && {};
  control.oneOf('type', ['ephemeral']);
  const ttl = control.optionalString('ttl');
  return ttl === undefined ? {} : { ttl };
}

/** Content is a string or a list of parts. */
export function contentParts(fields: Fields, name = 'content'): Part[] {
  const content = fields.take(name);
  const path = fields.pathOf(name);
  if (content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content, at: path }];
  if (!Array.isArray(content)) return fault(path, 'a string or a list of parts', content);
  return content.map((part, index) => contentPart(new Fields(part, `${path}[${index}]`)));
}

export function contentPart(fields: Fields): Part {
  const part = knownPart(fields);
  if (!part) return { type: 'opaque', dialect: 'openai-chat', raw: fields.raw(), at: fields.path };
  const cache = cacheMark(fields);
  return present<Part>({ ...part, ...(cache && { cache }), at: fields.path, ext: extOf(fields) } as Part);
}

function knownPart(fields: Fields): Part | undefined {
  switch (fields.string('type')) {
    case 'text':
      return { type: 'text', text: fields.string('text') };
    case 'refusal':
      return { type: 'refusal', text: fields.string('refusal') };
    case 'image_url':
      return imagePart(fields);
    case 'input_audio':
      return audioPart(fields);
    case 'file':
      return filePart(fields);
    default:
      return undefined;
  }
}

function imagePart(fields: Fields): MediaPart {
  const given = fields.take('image_url');
  const path = fields.pathOf('image_url');
  const image = typeof given === 'string' ? new Fields({ url: given }, path) : new Fields(given, path);
  const url = image.string('url');
  const detail = image.optionalString('detail');
  const data = readDataUrl(url);
  if (!data && !/^https?:\/\//i.test(url)) fault(image.pathOf('url'), 'an http(s) address or a data URL', url);
  if (!data) return { type: 'media', kind: 'image', source: { type: 'url', url }, detail };
  const { mime } = data;
  // Documents come as images here, too, because there was no other way for long.
  const kind = mime === 'application/pdf' ? 'document' : 'image';
  return { type: 'media', kind, source: { type: 'data', data: data.data }, mime, detail };
}

export const audioMime = (format: string): string => (format === 'mp3' ? 'audio/mpeg' : `audio/${format}`);

export const audioFormat = (mime: string): string =>
  mime === 'audio/mpeg' || mime === 'audio/mp3' ? 'mp3' : mime.slice('audio/'.length);

function audioPart(fields: Fields): MediaPart {
  const audio = fields.inner('input_audio');
  const source = { type: 'data', data: audio.string('data') } as const;
  return { type: 'media', kind: 'audio', source, mime: audioMime(audio.string('format')) };
}

function filePart(fields: Fields): MediaPart {
  const file = fields.inner('file');
  const title = file.optionalString('filename');
  const id = file.optionalString('file_id');
  if (id !== undefined) return { type: 'media', kind: 'document', source: { type: 'id', id }, title };
  const url = file.optionalString('file_url');
  if (url !== undefined) return { type: 'media', kind: 'document', source: { type: 'url', url }, title };
  const given = file.string('file_data');
  const data = readDataUrl(given) ?? { data: given };
  const kind = data.mime ? kindOf(data.mime) : 'document';
  return { type: 'media', kind, source: { type: 'data', data: data.data }, mime: data.mime, title };
}
