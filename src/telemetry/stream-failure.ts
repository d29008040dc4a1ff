/** An event that tells of a failure is short, and nothing comes behind it but perhaps the mark of the end. */
const LOOKED_AT = 8 * 1024;
const LAST_EVENTS = 3;
/** Every event that tells of one has this word, in the name of a header, of a member or of the event itself. */
const WORD = /error|failed/;
const IN_FRAMES = /:exception-type|:error-code/;

/** Whether a stream that came to its end says in its last events that the provider failed. */
export function endsInFailure(contentType: string, tail: Uint8Array): boolean {
  const from = Math.max(0, tail.byteLength - LOOKED_AT);
  const end = Buffer.from(tail.buffer, tail.byteOffset + from, tail.byteLength - from);
  if (contentType.startsWith('application/vnd.amazon.eventstream')) return IN_FRAMES.test(end.toString('latin1'));
  const text = end.toString('utf8');
  if (!WORD.test(text)) return false;
  return text
    .split(/(?:\r\n|\r|\n){2}/)
    .filter((event) => event.trim() !== '')
    .slice(-LAST_EVENTS)
    .some(tellsOfFailure);
}

function tellsOfFailure(event: string): boolean {
  const lines = event.split(/\r\n|\r|\n/);
  if (lines.some((line) => /^event: ?error$/.test(line))) return true;
  const data = lines.flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? []).join('\n');
  if (!WORD.test(data)) return false;
  try {
    const { type, error } = Object(JSON.parse(data)) as { readonly type?: unknown; readonly error?: unknown };
    if (type === 'error' || type === 'response.failed') return true;
    return typeof error === 'string' ? error !== '' : typeof error === 'object' && error !== null;
  } catch {
    return false;
  }
}
