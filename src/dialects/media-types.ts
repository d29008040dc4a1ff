/** Endings of file names and the media types they stand for; the first ending of a type is its usual one. */
const TYPES: readonly (readonly [ending: string, mime: string])[] = [
  ['png', 'image/png'],
  ['jpeg', 'image/jpeg'],
  ['jpg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['bmp', 'image/bmp'],
  ['avif', 'image/avif'],
  ['mp3', 'audio/mpeg'],
  ['wav', 'audio/wav'],
  ['flac', 'audio/flac'],
  ['ogg', 'audio/ogg'],
  ['opus', 'audio/opus'],
  ['aac', 'audio/aac'],
  ['m4a', 'audio/mp4'],
  ['aiff', 'audio/aiff'],
  ['mp4', 'video/mp4'],
  ['mov', 'video/quicktime'],
  ['mkv', 'video/x-matroska'],
  ['webm', 'video/webm'],
  ['flv', 'video/x-flv'],
  ['mpeg', 'video/mpeg'],
  ['mpg', 'video/mpeg'],
  ['wmv', 'video/x-ms-wmv'],
  ['3gp', 'video/3gpp'],
  ['pdf', 'application/pdf'],
  ['csv', 'text/csv'],
  ['doc', 'application/msword'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xls', 'application/vnd.ms-excel'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['html', 'text/html'],
  ['htm', 'text/html'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['json', 'application/json'],
  ['xml', 'text/xml'],
];
const MIMES = new Map(TYPES);
const ENDINGS = new Map(TYPES.toReversed().map(([ending, mime]) => [mime, ending]));

/** Other spellings that clients send. */
const ALIASES = new Map([
  ['image/jpg', 'image/jpeg'],
  ['audio/mp3', 'audio/mpeg'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/wave', 'audio/wav'],
  ['audio/x-flac', 'audio/flac'],
  ['audio/m4a', 'audio/mp4'],
  ['audio/x-m4a', 'audio/mp4'],
  ['audio/x-aac', 'audio/aac'],
  ['video/mov', 'video/quicktime'],
  ['text/x-markdown', 'text/markdown'],
]);

/** What the address says about the file behind it; undefined when it says nothing. */
export function mimeOfAddress(address: string): string | undefined {
  const path = address.replace(/[?#].*$/s, '');
  const name = path.slice(path.lastIndexOf('/') + 1);
  return name.includes('.') ? MIMES.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) : undefined;
}

/** `png` for `image/png`; undefined for types that are not known. */
export function endingOf(mime: string): string | undefined {
  const [plain = ''] = mime.toLowerCase().split(';');
  const type = plain.trim();
  return ENDINGS.get(ALIASES.get(type) ?? type);
}
