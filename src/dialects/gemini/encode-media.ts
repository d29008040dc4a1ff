import type { MediaPart } from '../ir.ts';
import { present } from '../json.ts';
import { mimeOfAddress } from '../media-types.ts';
import type { Notes } from './encode-contents.ts';
import type { InlineData, Part } from './wire.ts';

/** Files that were uploaded to Gemini, and films of YouTube, need no type. */
const FILES = 'https://generativelanguage.googleapis.com/v1beta/';
const TYPED_BY_THEMSELVES = /^https:\/\/(?:generativelanguage\.googleapis\.com|(?:www\.)?youtube\.com|youtu\.be)\//i;

/** Null when it cannot be said here, which is noted. */
export function mediaPart(part: MediaPart, path: string, notes: Notes): Part | null {
  const made = part.source.type === 'url' || part.source.type === 'id' ? filePart(part, path, notes) : null;
  if (made) {
    noteMembers(part, path, notes);
    return made;
  }
  return part.source.type === 'id' ? null : inlinePart(part, path, notes);
}

function filePart(part: MediaPart, path: string, notes: Notes): Part | null {
  const { source } = part;
  if (source.type === 'id') {
    const fileUri = fileUriOf(source.id);
    if (fileUri) return { fileData: present({ fileUri, mimeType: part.mime }) };
    notes.losses.node(part, path, 'gemini knows files by "files/…" or by their address');
    return null;
  }
  if (source.type !== 'url') return null;
  const { url } = source;
  if (TYPED_BY_THEMSELVES.test(url)) return { fileData: present({ fileUri: url, mimeType: part.mime }) };
  const mimeType = part.mime ?? mimeOfAddress(url);
  if (mimeType === undefined) return null;
  if (part.mime === undefined) notes.losses.change(part, path, `its type, ${mimeType}, is taken from the address`);
  return { fileData: { fileUri: url, mimeType } };
}

function fileUriOf(id: string): string | null {
  if (id.startsWith('files/')) return `${FILES}${id}`;
  return /^(?:https|gs):\/\//.test(id) ? id : null;
}

/** The file itself. What has only an address has to be fetched first. */
export function inlinePart(part: MediaPart, path: string, notes: Notes): { inlineData: InlineData } | null {
  const { source, kind, mime } = part;
  if (source.type === 'url') {
    notes.needsFetch.push({ path: part.at ?? path, url: source.url, kind });
    notes.losses.node(part, path, `gemini takes no ${kind} by an address that does not tell its type`);
    return null;
  }
  if (source.type === 'id') {
    notes.losses.node(part, path, `gemini takes no ${kind} by id here`);
    return null;
  }
  const mimeType = mime ?? (source.type === 'text' ? 'text/plain' : undefined);
  if (mimeType === undefined) {
    notes.losses.node(part, path, `gemini has to be told the media type of the ${kind}`);
    return null;
  }
  noteMembers(part, path, notes);
  const data = source.type === 'text' ? Buffer.from(source.text).toString('base64') : source.data;
  return { inlineData: { mimeType, data } };
}

function noteMembers(part: MediaPart, path: string, { losses }: Notes) {
  if (part.detail !== undefined) losses.member(part, path, 'detail', 'not every gemini model takes it');
  if (part.title !== undefined) losses.member(part, path, 'title', 'files have no title at gemini');
}
