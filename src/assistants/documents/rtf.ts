import { invalid } from './document.ts';
import { unmarked } from './marks.ts';
import { tableText } from './tables.ts';

/** What stands in groups of these names is no text of the document. */
const SILENT = new Set(
  (
    'fonttbl colortbl stylesheet listtable listoverridetable revtbl rsidtbl generator info pict object themedata ' +
    'colorschememapping datastore latentstyles xmlnstbl mmathPr wgrffmtfilter pgptbl filetbl header footer headerl headerr ' +
    'headerf footerl footerr footerf fldinst bkmkstart bkmkend'
  ).split(' '),
);
/** Words that stand for characters. */
const CHARACTERS: Readonly<Record<string, string>> = {
  par: '\n\n',
  sect: '\n\n',
  page: '\n\n',
  line: '\n',
  tab: '\t',
  nestcell: '\t',
  nestrow: '\n',
  emdash: '—',
  endash: '–',
  bullet: '•',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  emspace: ' ',
  enspace: ' ',
};
const SYMBOLS: Readonly<Record<string, string>> = { '~': '\u00a0', _: '\u2011', '-': '', '\n': '\n\n', '\r': '\n\n' };
/** A control word with its number, a character by its byte, a symbol, a brace, or text up to the next of these. */
const TOKEN = /\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|[^\\{}]+|\\/giy;
const MOST_DEPTH = 10_000;

interface Group {
  isSilent: boolean;
  /** How many characters stand behind one in Unicode for those who do not know it. */
  skips: number;
}

/** The text of a document in the Rich Text Format, a line for each row of its tables. */
export function textOfRtf(bytes: Uint8Array): string {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const page = decoderOf(/\\ansicpg(\d{1,5})/.exec(source.slice(0, 4_096))?.[1]);
  const groups: Group[] = [{ isSilent: false, skips: 1 }];
  /** What is finished, and what is being read: of a cell, or since the last table. */
  const pieces: string[] = [];
  let text = '';
  /** Bytes of the code page, each as a character: several may be one. */
  let held = '';
  let toSkip = 0;
  let isStarred = false;
  /** Rows that stand below each other, and the row that is open. */
  let rows: string[][] = [];
  let row: string[] | null = null;
  const say = (said: string) => {
    if (held !== '') text += unmarked(page(Buffer.from(held, 'latin1')));
    held = '';
    text += said;
  };
  const endTable = () => {
    if (rows.length > 0) pieces.push('\n\n', tableText(rows), '\n\n');
    rows = [];
  };
  const tableWord = (word: string) => {
    if (!TABLE_WORDS.has(word)) return;
    say('');
    if (word === 'trowd' && row === null) {
      if (text.trim() !== '') {
        endTable();
        pieces.push(text);
      }
      row = [];
    }
    if (word === 'cell') row?.push(text);
    if (word === 'row' && row) {
      rows.push(row);
      row = null;
    }
    if (row || word === 'row') text = '';
  };

  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(source); found; found = TOKEN.exec(source)) {
    const [whole, word, number, byte, symbol, brace] = found;
    const group = groups.at(-1)!;
    if (brace === '{') {
      if (groups.length > MOST_DEPTH) invalid('The document is damaged: it is nested too deeply.');
      groups.push({ ...group });
      toSkip = 0;
    } else if (brace === '}') {
      if (groups.length > 1) groups.pop();
      toSkip = 0;
    } else if (word !== undefined) {
      const isNamed = SILENT.has(word) || (isStarred && !KNOWN_BEHIND_STAR.has(word));
      if (isNamed) group.isSilent = true;
      if (word === 'bin') TOKEN.lastIndex += Math.max(0, Number(number ?? 0));
      if (word === 'uc') group.skips = Math.min(16, Math.max(0, Number(number ?? 1)));
      if (!group.isSilent) tableWord(word);
      if (word === 'u' && !group.isSilent) {
        say(String.fromCharCode(Number(number ?? 0) & 0xffff));
        toSkip = group.skips;
      } else if (!group.isSilent && CHARACTERS[word] !== undefined) say(CHARACTERS[word]);
    } else if (group.isSilent) {
      // Nothing of it is read.
    } else if (byte !== undefined) {
      if (toSkip > 0) toSkip--;
      else held += String.fromCharCode(Number.parseInt(byte, 16));
    } else if (symbol !== undefined) {
      say(SYMBOLS[symbol] ?? ('\\{}'.includes(symbol) ? symbol : ''));
    } else {
      // Line ends are there for those who look at the file, not at the document.
      const plain = whole === '\\' ? '' : whole.replace(/[\r\n]/g, '');
      const skipped = Math.min(toSkip, plain.length);
      toSkip -= skipped;
      held += plain.slice(skipped);
    }
    isStarred = symbol === '*';
  }
  say('');
  endTable();
  return [...pieces, text]
    .join('')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** Groups that a reader may pass over, and that hold what people read. */
const KNOWN_BEHIND_STAR = new Set(['shpinst', 'shptxt', 'footnote']);
const TABLE_WORDS = new Set(['trowd', 'cell', 'row']);

/** Of the bytes of characters that are not ASCII: in the code page that the document names. */
function decoderOf(page: string | undefined): (bytes: Uint8Array) => string {
  const names: Readonly<Record<string, string>> = { '932': 'shift_jis', '936': 'gbk', '949': 'euc-kr', '950': 'big5' };
  const name = page === undefined ? 'windows-1252' : page === '65001' ? 'utf-8' : (names[page] ?? `windows-${page}`);
  try {
    const decoder = new TextDecoder(name as 'utf-8');
    return (bytes) => decoder.decode(bytes);
  } catch {
    const decoder = new TextDecoder('windows-1252' as 'utf-8');
    return (bytes) => decoder.decode(bytes);
  }
}
