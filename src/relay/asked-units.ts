import { findMembers } from '../core/json-bytes.ts';
import type { Usage } from '../core/usage.ts';
import type { OpenCall } from './call.ts';

/** What a request asks for that is not paid by tokens. */
export type AskedUnits = Pick<Usage, 'images' | 'imageKind' | 'characters'>;

/** Pictures and speech are paid by what the request says; null: the answer tells what it took, or nothing does. */
export function askedUnits({ endpoint, body, isJson }: OpenCall): AskedUnits | null {
  switch (endpoint) {
    case 'imageGenerate':
    case 'imageEdit':
    case 'imageVariation':
      return imagesIn(body?.head ?? null, isJson);
    case 'createSpeech':
      return body && isJson ? { characters: charactersIn(body.head, Boolean(body.rest)) } : null;
    default:
      return null;
  }
}

/** Sound of so few bytes a second is hardly ever sent, so a recording is not longer than this makes it. */
const LEAST_BYTES_OF_A_SECOND = 2_000;

/** The longest that a recording can be; how long it was, the answer says. */
export const longestRecording = ({ endpoint }: OpenCall, bytes: number): Pick<Usage, 'seconds'> | null =>
  endpoint === 'createTranscription' || endpoint === 'createTranslation'
    ? { seconds: Math.ceil(bytes / LEAST_BYTES_OF_A_SECOND) }
    : null;

const MOST_IMAGES = 1_000;

function imagesIn(head: Uint8Array | null, isJson: boolean): AskedUnits {
  const member = (name: string): string | null => (head ? (isJson ? inJson(head, name) : inForm(head, name)) : null);
  const asked = Number(member('n') ?? 1);
  const images = asked >= 1 && asked <= MOST_IMAGES ? Math.ceil(asked) : 1;
  return { images, imageKind: `${member('quality') ?? ''} ${member('size') ?? ''}` };
}

/** The last one counts where a name is given twice, as it does for providers. */
function inJson(head: Uint8Array, name: string): string | null {
  const found = findMembers(head, name).at(-1);
  if (!found || found.end - found.start > 64) return null;
  const text = Buffer.from(head.buffer, head.byteOffset + found.start, found.end - found.start).toString('utf8');
  return text.replace(/^"|"$/g, '').toLowerCase();
}

/** Fields of a form stand in front of its files, or behind them, where they are not looked for. */
function inForm(head: Uint8Array, name: string): string | null {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1');
  const found = new RegExp(`name="?${name}"?[^\\r\\n]*\\r\\n(?:[^\\r\\n]+\\r\\n)*\\r\\n([\\w.-]{1,32})\\r\\n`).exec(
    text,
  );
  return found?.[1]?.toLowerCase() ?? null;
}

/** What is too long to be read counts by its bytes, which are never fewer. */
function charactersIn(head: Uint8Array, isCut: boolean): number {
  const found = findMembers(head, 'input').at(-1);
  if (!found || isCut) return head.byteLength;
  try {
    const text: unknown = JSON.parse(
      Buffer.from(head.buffer, head.byteOffset + found.start, found.end - found.start).toString('utf8'),
    );
    return typeof text === 'string' ? [...text].length : found.end - found.start;
  } catch {
    return found.end - found.start;
  }
}
