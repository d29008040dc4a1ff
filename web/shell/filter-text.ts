/** The filter of the log as text: its terms, and what the bar knows of its language. The server reads it; this only helps. */

export interface TermText {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Null: a word that was said. */
  readonly field: string | null;
  readonly isNot: boolean;
  readonly value: string;
}

/** The terms as they stand there. Quotes and backslashes keep what stands in them together. */
export function termsOf(text: string): readonly TermText[] {
  const terms: TermText[] = [];
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text[at]!)) {
      at++;
      continue;
    }
    const start = at;
    let isQuoted = false;
    let colon = -1;
    for (; at < text.length && (isQuoted || !/\s/.test(text[at]!)); at++) {
      if (text[at] === '\\') at++;
      else if (text[at] === '"') isQuoted = !isQuoted;
      else if (text[at] === ':' && colon < 0 && !isQuoted) colon = at;
    }
    at = Math.min(at, text.length);
    const isNot = text[start] === '-';
    const from = isNot ? start + 1 : start;
    terms.push({
      text: text.slice(start, at),
      start,
      end: at,
      isNot,
      field: colon < 0 ? null : text.slice(from, colon),
      value: text.slice(colon < 0 ? from : colon + 1, at),
    });
  }
  return terms;
}

const PLAIN = /^[^\s",*\\<>=:-][^\s",*\\]*$/;

/** A value as it is written, so that it means exactly itself. */
export const written = (value: string | number | null): string => {
  if (value === null) return 'none';
  const text = String(value);
  if (text !== 'none' && PLAIN.test(text)) return text;
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
};

/** The filter with this term in it. What it said of the field before gives way, but for what it leaves out. */
export function withTerm(text: string, field: string, value: string | number | null, isNot = false): string {
  const term = `${isNot ? '-' : ''}${field}:${written(value)}`;
  const kept = termsOf(text)
    .filter((each) => each.text !== term && (each.field !== field || (isNot && each.isNot)))
    .map((each) => each.text);
  return [...kept, term].join(' ');
}

export const withoutTerm = (text: string, term: TermText): string =>
  `${text.slice(0, term.start)}${text.slice(term.end)}`.replace(/\s+/g, ' ').trim();

export interface FieldHelp {
  readonly name: string;
  readonly about: string;
  /** Where /v1/analytics/facets has its values. */
  readonly facet?: string;
  readonly values?: readonly string[];
}

/** The fields of the language, the most used first. */
export const FIELDS: readonly FieldHelp[] = [
  { name: 'status', about: 'status of the answer', facet: 'status', values: ['>=400', '>=500', '429', '200'] },
  { name: 'model', about: 'model, * for anything', facet: 'model' },
  { name: 'provider', about: 'who was asked', facet: 'provider' },
  { name: 'error', about: 'code of the error', facet: 'error_code' },
  { name: 'failed_by', about: 'whose fault it was', values: ['gateway', 'provider', 'client', 'none'] },
  { name: 'cost', about: 'US dollars', values: ['>0.01', '>0.1', '>1', 'none'] },
  { name: 'duration', about: 'until the last byte', values: ['>1s', '>5s', '>30s'] },
  { name: 'first_byte', about: 'until the first byte', values: ['>500', '>2s', '>10s'] },
  { name: 'virtual_key', about: 'key of the provider', facet: 'virtual_key' },
  { name: 'api_key', about: 'key of the caller, by id', facet: 'api_key_id' },
  { name: 'user', about: 'user, by id', facet: 'user_id' },
  { name: 'session', about: 'session' },
  { name: 'trace', about: 'trace' },
  { name: 'path', about: 'path, * for anything', facet: 'endpoint' },
  { name: 'method', about: 'method', values: ['POST', 'GET', 'PUT', 'DELETE'] },
  { name: 'verdict', about: 'what guardrails came to', values: ['denied', 'failed', 'passed', 'none'] },
  { name: 'cache', about: 'what the cache said', values: ['HIT', 'MISS', 'REFRESH', 'none'] },
  { name: 'stream', about: 'streamed or not', values: ['true', 'false'] },
  { name: 'tokens', about: 'all tokens', values: ['>1000', '>10000'] },
  { name: 'input_tokens', about: 'tokens of the request', values: ['>1000', '>10000'] },
  { name: 'output_tokens', about: 'tokens of the answer', values: ['>1000', '>10000'] },
  { name: 'cached_tokens', about: 'tokens from the provider’s cache', values: ['>0', 'none'] },
  { name: 'reasoning_tokens', about: 'tokens of reasoning', values: ['>0', 'none'] },
  { name: 'attempts', about: 'how often a provider was asked', values: ['>1', '>2'] },
  { name: 'address', about: 'address of the client' },
  { name: 'id', about: 'id of the request' },
  { name: 'request_bytes', about: 'size of the request', values: ['>100000'] },
  { name: 'response_bytes', about: 'size of the answer', values: ['>100000'] },
];

export interface Suggestion {
  readonly text: string;
  readonly about: string;
  /** What of the text it takes the place of. */
  readonly from: number;
  readonly to: number;
  readonly isWhole: boolean;
}

type Facets = Readonly<
  Record<string, { readonly values: readonly { readonly value: string | number | null; readonly requests: number }[] }>
>;

const MOST = 12;

/** What could stand where the cursor is. */
export function suggestionsAt(text: string, cursor: number, facets: Facets = {}): readonly Suggestion[] {
  const term = termsOf(text).find(({ start, end }) => start < cursor && cursor <= end);
  const isNot = term?.isNot ?? false;
  if (!term || term.field === null || cursor <= term.start + (isNot ? 1 : 0) + term.field.length) {
    const from = term ? term.start + (isNot ? 1 : 0) : cursor;
    const begun = text.slice(from, cursor).toLowerCase();
    return FIELDS.filter(({ name }) => name.includes(begun))
      .toSorted((one, other) => Number(other.name.startsWith(begun)) - Number(one.name.startsWith(begun)))
      .map(({ name, about }) => ({ text: `${name}:`, about, from, to: term?.end ?? cursor, isWhole: false }))
      .slice(0, MOST);
  }
  const help = FIELDS.find(({ name }) => name === term.field);
  if (!help) return [];
  const valueStart = term.end - term.value.length;
  const comma = text.slice(valueStart, cursor).lastIndexOf(',');
  const from = comma < 0 ? valueStart : valueStart + comma + 1;
  const begun = text.slice(from, cursor).replaceAll('"', '').toLowerCase();
  const found = [
    ...(help.values ?? []).map((value) => ({ value, about: '' })),
    ...(help.facet ? (facets[help.facet]?.values ?? []) : []).map(({ value, requests }) => ({
      value: written(value),
      about: `${requests} requests`,
    })),
  ];
  const unique = found.filter((each, index) => found.findLastIndex(({ value }) => value === each.value) === index);
  return unique
    .filter(({ value }) => value.toLowerCase().includes(begun) && value.toLowerCase() !== begun)
    .slice(0, MOST)
    .map(({ value, about }) => ({ text: value, about, from, to: term.end, isWhole: true }));
}

/** Where the server found a fault in the filter, counted from 0. */
export function faultPosition(message: string): { readonly at: number; readonly says: string } | null {
  const [, position, says] = /at character (\d+): (.*)$/s.exec(message) ?? [];
  return position ? { at: Number(position) - 1, says: says ?? '' } : null;
}
