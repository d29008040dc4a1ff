import { Fields, fault } from '../fields.ts';
import type { CacheMark, Ext, MediaPart, Part } from '../ir.ts';
import { present } from '../json.ts';
import { kindOf, readDataUrl } from '../media.ts';
import { readLogprobs } from './wire.ts';

export function extOf(fields: Fields): Ext | undefined {
  const rest = fields.rest();
  return rest && { responses: rest };
}

function cacheMark(fields: Fields): CacheMark | undefined {
  return fields.json('prompt_cache_breakpoint') && {};
}

/** Content is a string or a list of parts. */
export function contentParts(fields: Fields, name: string): Part[] {
  const content = fields.take(name);
  const path = fields.pathOf(name);
  if (content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content, at: path }];
  if (!Array.isArray(content)) return fault(path, 'a string or a list of parts', content);
  return content.map((part, index) => contentPart(new Fields(part, `${path}[${index}]`)));
}

function contentPart(fields: Fields): Part {
  const part = knownPart(fields);
  if (!part) return { type: 'opaque', dialect: 'responses', raw: fields.raw(), at: fields.path };
  const cache = cacheMark(fields);
  return present<Part>({ ...part, ...(cache && { cache }), at: fields.path, ext: extOf(fields) } as Part);
}

function knownPart(fields: Fields): Part | undefined {
  switch (fields.string('type')) {
    case 'input_text':
      return { type: 'text', text: fields.string('text') };
    case 'output_text':
      return outputText(fields);
    case 'refusal':
      return { type: 'refusal', text: fields.string('refusal') };
    case 'input_image':
      return imagePart(fields);
    case 'input_file':
      return filePart(fields);
    case 'input_audio':
      return audioPart(fields);
    default:
      return undefined;
  }
}

/** Answers that are sent back have lists of annotations and chances, most of them empty. */
function outputText(fields: Fields): Part {
  const { annotations } = fields.raw();
  if (Array.isArray(annotations) && annotations.length === 0) fields.take('annotations');
  const logprobs = readLogprobs(fields.list('logprobs'));
  return { type: 'text', text: fields.string('text'), ...(logprobs && { logprobs }) };
}

/** `auto` is what a picture without it gets, and the vendor's types demand a word. */
function detailOf(fields: Fields): string | undefined {
  const detail = fields.optionalString('detail');
  return detail === 'auto' ? undefined : detail;
}

function imagePart(fields: Fields): MediaPart {
  const detail = detailOf(fields);
  const id = fields.optionalString('file_id');
  if (id !== undefined) return { type: 'media', kind: 'image', source: { type: 'id', id }, detail };
  const url = fields.string('image_url');
  const data = readDataUrl(url);
  if (data) return { type: 'media', kind: 'image', source: { type: 'data', data: data.data }, mime: data.mime, detail };
  if (!isWebAddress(url)) fault(fields.pathOf('image_url'), 'an http(s) address or a data URL', url);
  return { type: 'media', kind: 'image', source: { type: 'url', url }, detail };
}

const isWebAddress = (url: string): boolean => /^https?:\/\//i.test(url);

function filePart(fields: Fields): MediaPart {
  const title = fields.optionalString('filename');
  const detail = detailOf(fields);
  const id = fields.optionalString('file_id');
  if (id !== undefined) return { type: 'media', kind: 'document', source: { type: 'id', id }, title, detail };
  const url = fields.optionalString('file_url');
  if (url !== undefined) {
    if (!isWebAddress(url)) fault(fields.pathOf('file_url'), 'an http(s) address', url);
    return { type: 'media', kind: 'document', source: { type: 'url', url }, title, detail };
  }
  if (!fields.has('file_data')) fault(fields.path, 'a file with file_data, file_id or file_url', undefined);
  const given = fields.string('file_data');
  const data = readDataUrl(given) ?? { data: given };
  const kind = data.mime ? kindOf(data.mime) : 'document';
  return { type: 'media', kind, source: { type: 'data', data: data.data }, mime: data.mime, title, detail };
}

function audioPart(fields: Fields): MediaPart {
  const audio = fields.inner('input_audio');
  const format = audio.string('format');
  const source = { type: 'data', data: audio.string('data') } as const;
  return { type: 'media', kind: 'audio', source, mime: format === 'mp3' ? 'audio/mpeg' : `audio/${format}` };
}
