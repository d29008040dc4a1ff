import type { MediaKind, MediaPart } from '../ir.ts';
import { endingOf, mimeOfAddress } from '../media-types.ts';
import type { Notes } from './encode-messages.ts';
import type { ContentBlock, DocumentFormat } from './wire.ts';

const FORMATS: Readonly<Record<MediaKind, readonly string[]>> = {
  image: ['png', 'jpeg', 'gif', 'webp'],
  document: ['pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md'],
  video: ['mkv', 'mov', 'mp4', 'webm', 'flv', 'mpeg', 'wmv', 'three_gp'],
  audio: ['mp3', 'wav', 'flac', 'ogg', 'opus', 'aac', 'm4a'],
};

/** The service's word for a media type; undefined when it takes none of that type. */
function formatOf(kind: MediaKind, mime: string): string | undefined {
  const ending = endingOf(mime);
  const format = ending === '3gp' ? 'three_gp' : ending;
  if (format !== undefined && FORMATS[kind].includes(format)) return format;
  // Source code and the like are text.
  return kind === 'document' && mime.startsWith('text/') ? 'txt' : undefined;
}

type SourceOf = { readonly bytes: string } | { readonly s3Location: { readonly uri: string } };

/** Null when it cannot be said here, which is noted. */
export function mediaBlock(part: MediaPart, path: string, notes: Notes): ContentBlock | null {
  const source = sourceOf(part, path, notes);
  if (!source) return null;
  const uri = 's3Location' in source ? source.s3Location.uri : undefined;
  const mime = part.mime ?? (part.source.type === 'text' ? 'text/plain' : uri && mimeOfAddress(uri));
  const format = mime === undefined ? undefined : formatOf(part.kind, mime);
  if (format === undefined) {
    notes.losses.node(
      part,
      path,
      `converse takes no ${part.kind} ${mime ? `of type ${mime}` : 'without a media type'}`,
    );
    return null;
  }
  noteMembers(part, path, notes);
  if (part.kind !== 'document') return { [part.kind]: { format, source } } as unknown as ContentBlock;
  const name = notes.documents.nameFor(part.title);
  if (name !== part.title) notes.losses.change(part, path, `called "${name}", because converse wants a plain name`);
  return { document: { format: format as DocumentFormat, name, source } };
}

function sourceOf(part: MediaPart, path: string, notes: Notes): SourceOf | null {
  const { source, kind } = part;
  const address = source.type === 'url' ? source.url : source.type === 'id' ? source.id : undefined;
  if (address?.startsWith('s3://')) return { s3Location: { uri: address } };
  switch (source.type) {
    case 'data':
      return { bytes: source.data };
    case 'text':
      return { bytes: Buffer.from(source.text).toString('base64') };
    case 'url':
      notes.needsFetch.push({ path: part.at ?? path, url: source.url, kind });
      notes.losses.node(part, path, `converse takes no ${kind} by address, except s3://`);
      return null;
    case 'id':
      notes.losses.node(part, path, `converse takes no ${kind} by id, except s3://`);
      return null;
    default:
      return source satisfies never;
  }
}

function noteMembers(part: MediaPart, path: string, { losses }: Notes) {
  if (part.detail !== undefined) losses.member(part, path, 'detail', 'converse has no such setting');
  if (part.title !== undefined && part.kind !== 'document')
    losses.member(part, path, 'title', `a ${part.kind} has no title at converse`);
}
