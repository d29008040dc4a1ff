/**
 * Request bodies with text that looks like writing: one repeated word would flatter a proxy that compresses or scans
 * it.
 */

const words = `account address afternoon agreement almost amount answer apply appointment archive arrange assume attach
average balance basic because before behind belong between bridge brief budget building calendar camera careful carry
central change choose circle clear climate collect colour comment compare concern confirm connect consider contain copper
correct country courage cover credit customer damage daily debate decide deliver depend describe detail device different
discover distance document double draft drive during early edge effort either electric empty engine enough entire
estimate evening every evidence example expect explain factor family fashion figure final follow foreign forest forward
freedom friend garden general gentle glass gradual group handle harbour harvest height history however hundred idea
imagine include increase indeed island journal journey keep kitchen language large later learn letter level library light
listen little local machine manage market material matter measure medicine meeting member memory method middle minute
mirror modern monthly morning mountain museum narrow nearly network neither normal notice number object observe offer
office often opinion orange order ordinary outside painter paper parcel patient pattern people perhaps period picture
place plain planet point polite popular possible prepare present pressure private problem produce promise proper protect
purpose quarter question quick quiet railway random rather reason receive recent record reduce refund region regular
relate remain remember repair replace report request result return review river route safety sample schedule school
season second select sentence separate serious several shadow shipment signal silver similar simple single sister slowly
smooth society something spring station storage story straight street strong student subject sudden suggest summary
supply support surface system table teacher theory thread through ticket timber together tomorrow tradition traffic
travel treat trouble typical uncle under unless update useful usual valley various version village visit volume warning
water weather weekend welcome whether window winter without wonder writing yellow yesterday`.split(/\s+/);

const joiners = [
  'and',
  'but',
  'of the',
  'in a',
  'with',
  'for the',
  'to',
  'that',
  'which',
  'on',
  'is',
  'was',
  'the',
  'a',
];

/** About `length` characters of sentences; the same seed writes the same text. */
export function prose(length: number, seed = 7): string {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % limit;
  };
  let text = '';
  while (text.length < length) {
    const parts: string[] = [];
    const count = 6 + below(14);
    for (let index = 0; index < count; index++) {
      parts.push(words[below(words.length)]!);
      if (below(3) > 0) parts.push(joiners[below(joiners.length)]!);
      if (below(9) === 0) parts.push(`"${words[below(words.length)]}",`);
      if (below(17) === 0) parts.push(String(below(5_000)));
    }
    const sentence = parts.join(' ');
    text += `${sentence[0]!.toUpperCase()}${sentence.slice(1)}.${below(5) === 0 ? '\n' : ' '}`;
  }
  return text.slice(0, length);
}

/** A chat request of about `bytes` bytes. */
export function chatRequest(bytes: number, more: object = {}): string {
  const build = (content: string): string =>
    JSON.stringify({
      model: 'gpt-4o-mini',
      messages: [
        { role: 'system', content: 'Answer briefly and name your sources.' },
        { role: 'user', content },
      ],
      temperature: 0.7,
      ...more,
    });
  return build(prose(Math.max(16, bytes - build('').length)));
}

/**
 * The upstream of the bench reads `max_tokens` as the number of chunks and `seed` as the milliseconds between them.
 * Anthropic knows no seed; without one it is 8 ms.
 */
export function streamRequest(chunks: number, everyMs?: number, more: object = {}): string {
  return chatRequest(300, {
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: chunks,
    seed: everyMs,
    ...more,
  });
}
