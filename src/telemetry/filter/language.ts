import { type Phrase, wordsIn } from '../search/words.ts';

/**
 * The language in which people say which log entries they mean:
 *
 *     status:>=500 model:gpt* cost:>0.1 meta.team:search -provider:openai,azure
 *
 *     model:gpt* "money back" refund*
 *
 * Terms stand side by side and must all hold. A term is a field, a colon and what it must be: a value, several with commas
 * between them, a text with `*` for anything, or for numbers a comparison. `-` before a term turns it round. Quotes keep
 * spaces, commas and stars in a value as they are. A word or a text in quotes without a field is one that was said, in the
 * request or in the answer, where bodies are searched; with a `*` behind it, one that begins so.
 */
export interface Term {
  readonly column: Column;
  /** The key of the pair, where `column` is `metadata`. */
  readonly key: string | null;
  readonly isNot: boolean;
  /** One of them must hold. */
  readonly tests: readonly Test[];
}

/** What was said in the request or in the answer. */
export interface SaidTerm {
  readonly column: 'said';
  readonly isNot: boolean;
  /** One of them must hold. */
  readonly phrases: readonly Phrase[];
}

export type AnyTerm = Term | SaidTerm;

const isSaid = (term: AnyTerm): term is SaidTerm => term.column === 'said';
export const saidTerms = (terms: readonly AnyTerm[] = []): SaidTerm[] => terms.filter(isSaid);
export const fieldTerms = (terms: readonly AnyTerm[] = []): Term[] =>
  terms.filter((term): term is Term => !isSaid(term));

export type Test =
  | { readonly is: 'equal'; readonly value: string | number | boolean }
  | { readonly is: 'like'; readonly parts: readonly string[] }
  | { readonly is: Comparison; readonly value: number }
  | { readonly is: 'absent' };

export type Comparison = '>' | '>=' | '<' | '<=';

type Kind = 'text' | 'number' | 'milliseconds' | 'boolean';

/** Each field: the column it asks for, and what stands there. */
const FIELDS = {
  id: ['id', 'text'],
  trace: ['trace_id', 'text'],
  session: ['session_id', 'text'],
  api_key: ['api_key_id', 'text'],
  user: ['user_id', 'text'],
  virtual_key: ['virtual_key', 'text'],
  provider: ['provider', 'text'],
  model: ['model', 'text'],
  method: ['method', 'text'],
  path: ['path', 'text'],
  status: ['status', 'number'],
  failed_by: ['failed_by', 'text'],
  error: ['error_code', 'text'],
  verdict: ['verdict', 'text'],
  cache: ['cache_status', 'text'],
  stream: ['is_stream', 'boolean'],
  request_bytes: ['request_bytes', 'number'],
  response_bytes: ['response_bytes', 'number'],
  first_byte: ['first_byte_ms', 'milliseconds'],
  duration: ['duration_ms', 'milliseconds'],
  input_tokens: ['input_tokens', 'number'],
  output_tokens: ['output_tokens', 'number'],
  tokens: ['total_tokens', 'number'],
  cached_tokens: ['cached_tokens', 'number'],
  reasoning_tokens: ['reasoning_tokens', 'number'],
  cost: ['cost', 'number'],
  attempts: ['attempt_count', 'number'],
  address: ['client_address', 'text'],
} as const satisfies Readonly<Record<string, readonly [string, Kind]>>;

export type Column = (typeof FIELDS)[keyof typeof FIELDS][0] | 'metadata';

export const FIELD_NAMES: readonly string[] = Object.keys(FIELDS);

/** What is wrong with a filter, and where: counted in characters from 1. */
export class FilterFault extends Error {
  readonly position: number;

  constructor(position: number, message: string) {
    super(message);
    this.position = position;
  }
}

const MOST_TERMS = 20;
const MOST_TESTS = 50;
const LONGEST = 2_000;
const MOST_PHRASE = 50;

/** The terms of a filter; `searches`: whether what was said can be asked for. Throws `FilterFault`. */
export function termsIn(text: string, { searches = false } = {}): readonly AnyTerm[] {
  if (text.length > LONGEST) throw new FilterFault(LONGEST + 1, `is longer than ${LONGEST} characters`);
  const reader = new Reader(text);
  const terms: AnyTerm[] = [];
  while (reader.skipSpace()) {
    if (terms.length === MOST_TERMS) throw reader.fault(`has more than ${MOST_TERMS} terms`);
    terms.push(termAt(reader, searches));
  }
  return terms;
}

function termAt(reader: Reader, searches: boolean): AnyTerm {
  const isNot = reader.take('-');
  const start = reader.at;
  const name = reader.name();
  if (!reader.take(':')) {
    if (!searches || (name === '' && !reader.sees('"'))) throw misplaced(start, name, reader);
    reader.at = start;
    return { column: 'said', isNot, phrases: phrasesAt(reader) };
  }
  const field = fieldOf(name, start);
  const tests = testsAt(reader, field.kind);
  return { column: field.column, key: field.key, isNot, tests };
}

function phrasesAt(reader: Reader): Phrase[] {
  const phrases: Phrase[] = [];
  do {
    if (phrases.length === MOST_TESTS) throw reader.fault(`has more than ${MOST_TESTS} values`);
    const start = reader.at;
    const { parts } = reader.value();
    const [text = '', rest, ...more] = parts;
    if (more.length > 0 || (rest !== undefined && rest !== ''))
      throw new FilterFault(start + 1, 'a * in what was said stands at its end');
    const words = wordsIn(text, MOST_PHRASE + 1);
    if (words.length === 0) throw new FilterFault(start + 1, 'there is no word in it');
    if (words.length > MOST_PHRASE) throw new FilterFault(start + 1, `is longer than ${MOST_PHRASE} words`);
    phrases.push({ words, isBeginning: rest !== undefined });
  } while (reader.take(','));
  return phrases;
}

function misplaced(start: number, name: string, reader: Reader): FilterFault {
  if (name === '' && reader.sees('"'))
    return new FilterFault(
      start + 1,
      'a text alone asks for what was said, which is not searched here (GATEWAY_LOG_SEARCH); write field:"text"',
    );
  if (name === '') return reader.fault('a term begins with the name of a field');
  return new FilterFault(start + 1, `"${name}" alone is no term; write field:value, for example model:${name}`);
}

interface Field {
  readonly column: Column;
  readonly key: string | null;
  readonly kind: Kind;
}

const METADATA = /^meta(?:data)?\.(.+)$/s;

function fieldOf(name: string, start: number): Field {
  const key = METADATA.exec(name)?.[1];
  if (key !== undefined) return { column: 'metadata', key, kind: 'text' };
  if (!Object.hasOwn(FIELDS, name))
    throw new FilterFault(start + 1, `there is no field "${name}"; there are ${FIELD_NAMES.join(', ')} and meta.<key>`);
  const [column, kind] = FIELDS[name as keyof typeof FIELDS];
  return { column, key: null, kind };
}

function testsAt(reader: Reader, kind: Kind): Test[] {
  const tests: Test[] = [];
  do {
    if (tests.length === MOST_TESTS) throw reader.fault(`has more than ${MOST_TESTS} values`);
    tests.push(testAt(reader, kind));
  } while (reader.take(','));
  return tests;
}

function testAt(reader: Reader, kind: Kind): Test {
  const start = reader.at;
  const comparison = reader.comparison();
  const { text, parts, isQuoted } = reader.value();
  if (text === '' && !isQuoted) throw new FilterFault(start + 1, 'a value is missing');
  const isNumber = kind === 'number' || kind === 'milliseconds';
  if (comparison !== null) {
    if (!isNumber) throw new FilterFault(start + 1, `${comparison} compares numbers, and this field holds none`);
    return { is: comparison, value: numberOf(text, kind, start + comparison.length) };
  }
  if (text === 'none' && !isQuoted) return { is: 'absent' };
  if (isNumber) return { is: 'equal', value: numberOf(text, kind, start) };
  if (kind === 'boolean') {
    if (text !== 'true' && text !== 'false') throw new FilterFault(start + 1, `must be true or false, not "${text}"`);
    return { is: 'equal', value: text === 'true' };
  }
  return parts.length > 1 ? { is: 'like', parts } : { is: 'equal', value: text };
}

const NUMBER = /^(-?\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?)(ms|s|m|h)?$/;
const MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function numberOf(text: string, kind: Kind, start: number): number {
  const [, digits, unit] = NUMBER.exec(text) ?? [];
  const isTime = kind === 'milliseconds';
  const value = Number(digits) * (unit === undefined ? 1 : MS[unit]!);
  if (digits === undefined || (unit !== undefined && !isTime) || !Number.isFinite(value))
    throw new FilterFault(
      start + 1,
      `"${text}" is no number${isTime ? '; write milliseconds, or 2s, 5m, 1h' : ''}; compare with >, >=, <, <=`,
    );
  return value;
}

const SPACE = /\s/;

class Reader {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  fault(message: string): FilterFault {
    return new FilterFault(this.at + 1, message);
  }

  sees(mark: string): boolean {
    return this.#text.startsWith(mark, this.at);
  }

  take(mark: string): boolean {
    if (!this.sees(mark)) return false;
    this.at += mark.length;
    return true;
  }

  /** Whether anything is left. */
  skipSpace(): boolean {
    while (this.at < this.#text.length && SPACE.test(this.#text[this.at]!)) this.at++;
    return this.at < this.#text.length;
  }

  name(): string {
    const start = this.at;
    while (this.at < this.#text.length && !/[\s:",]/.test(this.#text[this.at]!)) this.at++;
    return this.#text.slice(start, this.at);
  }

  comparison(): Comparison | null {
    for (const mark of ['>=', '<=', '>', '<'] as const) if (this.take(mark)) return mark;
    return null;
  }

  /** `parts`: what stands between the stars. A backslash keeps what follows it as it is, also in quotes. */
  value(): { readonly text: string; readonly parts: readonly string[]; readonly isQuoted: boolean } {
    const parts = [''];
    const start = this.at;
    let isQuoted = false;
    let isOpen = false;
    for (; this.at < this.#text.length; this.at++) {
      const letter = this.#text[this.at]!;
      if (letter === '"') {
        isOpen = !isOpen;
        isQuoted = true;
      } else if (letter === '\\' && this.at + 1 < this.#text.length) parts[parts.length - 1] += this.#text[++this.at]!;
      else if (!isOpen && (letter === ',' || SPACE.test(letter))) break;
      else if (!isOpen && letter === '*') parts.push('');
      else parts[parts.length - 1] += letter;
    }
    if (isOpen) throw new FilterFault(start + 1, 'a quote is opened and not closed');
    return { text: parts.join('*'), parts, isQuoted };
  }
}
