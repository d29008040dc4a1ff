/** Bits per character, from how often each occurs (Shannon). */
export function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** 32 random characters of base64 have 4.5 bits or more; identifiers, paths and prose of that length rarely 4.2. */
const LEAST_BITS = 4.3;

/** Whether a word was made by chance. Digests, ids and hexadecimal are left alone: they are seldom secret. */
export function isRandom(text: string): boolean {
  if (!/[a-z]/.test(text) || !/[A-Z]/.test(text) || !/\d/.test(text)) return false;
  if (/^[0-9a-f-]+$/i.test(text) || text.split('/').length > 4) return false;
  // Names are made of words, and words are of one case for a while; chance changes its kind every other character.
  const changes = text.match(/[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|\d(?=[A-Za-z])/g)?.length ?? 0;
  return changes >= text.length / 3 && entropyOf(text) >= LEAST_BITS;
}
