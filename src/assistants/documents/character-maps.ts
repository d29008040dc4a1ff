/**
 * The character maps that PDF takes for known: which bytes of a text stand for which character of a collection, and which
 * character that is. Adobe's are a megabyte; these are made when a document asks for one, from the encodings that the runtime
 * knows: the number of a character in its collection is then its place in Unicode, in both maps alike.
 */
const ENCODINGS: readonly (readonly [names: RegExp, encoding: string])[] = [
  [/^Uni\w+-(?:UCS2|UTF16)(?:-HW)?-[HV]$/, 'utf-16be'],
  [/^(?:90ms|90msp|90pv|83pv|78ms|78|Add|Ext)?-?RKSJ-[HV]$/, 'shift_jis'],
  [/^(?:78-)?EUC-[HV]$/, 'euc-jp'],
  [/^(?:GB|GBpc|GBK|GBKp)-EUC-[HV]$|^GBK2K-[HV]$/, 'gbk'],
  [/^(?:B5pc|ETen-B5|ETenms-B5|HKscs-B5)-[HV]$/, 'big5'],
  [/^(?:KSC|KSCpc)-EUC-[HV]$|^KSCms-UHC(?:-HW)?-[HV]$/, 'euc-kr'],
];
const COLLECTION = /^Adobe-(?:GB1|CNS1|Japan1|Korea1)-UCS2$/;

const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0');

interface Range {
  readonly from: number;
  readonly bytes: number;
  readonly place: number;
  length: number;
}

/** Two bytes for each character; the halves of rarer ones are no characters. */
const BASIC: readonly Range[] = [
  { from: 0, bytes: 2, place: 0, length: 0xd800 },
  { from: 0xe000, bytes: 2, place: 0xe000, length: 0x1_0000 - 0xe000 },
];

/** What one byte, and what two, stand for. */
function rangesOf(encoding: string): Range[] {
  const decoder = new TextDecoder(encoding as 'utf-8', { fatal: true });
  const ranges: Range[] = [];
  const add = (code: number, bytes: number) => {
    const place = placeOf(decoder, bytes === 1 ? [code] : [code >> 8, code & 255]);
    if (place === null) return;
    const last = ranges.at(-1);
    // A range stays within its first byte.
    const goesOn = last?.bytes === bytes && last.from + last.length === code && last.place + last.length === place;
    if (last && goesOn && code >> 8 === last.from >> 8) last.length++;
    else ranges.push({ from: code, bytes, place, length: 1 });
  };
  const isLead = Array.from({ length: 256 }, (_, byte) => byte > 127 && placeOf(decoder, [byte]) === null);
  for (let byte = 0; byte < 256; byte++) if (!isLead[byte]) add(byte, 1);
  for (let byte = 0x81; byte < 0xff; byte++)
    if (isLead[byte]) for (let next = 0x40; next < 0xff; next++) add((byte << 8) | next, 2);
  return ranges;
}

function placeOf(decoder: TextDecoder, bytes: readonly number[]): number | null {
  try {
    const text = decoder.decode(new Uint8Array(bytes));
    return text.length === 1 ? text.charCodeAt(0) : null;
  } catch {
    return null;
  }
}

/** As text, in parts of as many lines as a map may have in one. */
function written(name: string, ranges: readonly Range[], spaces: readonly string[], kind: 'cid' | 'bf'): string {
  const lines = ranges.flatMap(({ from, bytes, place, length }) => {
    // Ranges of two bytes change in their last byte alone.
    const parts: string[] = [];
    for (let at = 0; at < length; ) {
      const code = from + at;
      const most = bytes === 1 ? length - at : Math.min(length - at, 256 - (code & 255));
      const to = kind === 'cid' ? String(place + at) : `<${hex(place + at, 4)}>`;
      parts.push(`<${hex(code, bytes * 2)}> <${hex(code + most - 1, bytes * 2)}> ${to}`);
      at += most;
    }
    return parts;
  });
  const blocks: string[] = [];
  for (let at = 0; at < lines.length; at += 100) {
    const some = lines.slice(at, at + 100);
    blocks.push(`${some.length} begin${kind}range\n${some.join('\n')}\nend${kind}range`);
  }
  return [
    '/CIDInit /ProcSet findresource begin 12 dict begin begincmap',
    `/CMapName /${name} def /WMode ${name.endsWith('-V') ? 1 : 0} def`,
    `${spaces.length} begincodespacerange\n${spaces.join('\n')}\nendcodespacerange`,
    ...blocks,
    'endcmap end end',
  ].join('\n');
}

/**
 * What the parser asks for the data that a document takes for known: character maps, and nothing else. A collection is described
 * only to a document that has used a map from here: of others the numbers are Adobe's, and would become other characters.
 */
export class CharacterMaps {
  #isOwn = false;

  async fetch({ kind, filename }: { readonly kind: string; readonly filename: string }): Promise<Uint8Array> {
    const text = kind === 'cMapUrl' ? this.#mapOf(filename) : null;
    if (text === null) throw new Error(`There is no ${filename} here.`);
    return Buffer.from(text, 'latin1');
  }

  #mapOf(name: string): string | null {
    if (COLLECTION.test(name)) return this.#isOwn ? written(name, BASIC, ['<0000> <ffff>'], 'bf') : null;
    const encoding = ENCODINGS.find(([names]) => names.test(name))?.[1];
    if (encoding === undefined) return null;
    this.#isOwn = true;
    if (encoding === 'utf-16be') return written(name, BASIC, ['<0000> <ffff>'], 'cid');
    const ranges = rangesOf(encoding);
    const leads = [...new Set(ranges.filter(({ bytes }) => bytes === 2).map(({ from }) => from >> 8))];
    const singles = ranges.filter(({ bytes }) => bytes === 1);
    const spaces = [
      ...singles.map(({ from, length }) => `<${hex(from, 2)}> <${hex(from + length - 1, 2)}>`),
      ...leads.map((lead) => `<${hex(lead, 2)}40> <${hex(lead, 2)}fe>`),
    ];
    return written(name, ranges, spaces, 'cid');
  }
}
