import { type Draft, EMPTY, readDraft } from './draft.ts';

/** Behind `#`, where servers and logs do not see it. */
const NAME = 'draft=';

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

/** What differs from an empty draft, compressed, in letters that an address takes as they are. */
export async function fragmentOf(draft: Draft): Promise<string> {
  const changed = Object.entries(draft).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(EMPTY[name as keyof Draft]),
  );
  const text = new TextEncoder().encode(JSON.stringify(Object.fromEntries(changed)));
  const packed = await through(text, new CompressionStream('deflate-raw'));
  let letters = '';
  for (const byte of packed) letters += String.fromCharCode(byte);
  return NAME + btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Null: the address holds none, or one that cannot be read. */
export async function draftIn(fragment: string): Promise<Draft | null> {
  const text = fragment.replace(/^#/, '');
  if (!text.startsWith(NAME)) return null;
  try {
    const letters = atob(text.slice(NAME.length).replaceAll('-', '+').replaceAll('_', '/'));
    const packed = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const plain = await through(packed, new DecompressionStream('deflate-raw'));
    return readDraft({ ...EMPTY, ...JSON.parse(new TextDecoder().decode(plain)) });
  } catch {
    return null;
  }
}
