import { type MetadataCube, metadataCube } from '../aggregates/cubes.ts';
import { type Dimension, OTHER, type Value } from '../aggregates/fact.ts';
import type { AnyTerm, Column, Test } from '../filter/language.ts';

/** Columns of the log that figures are told apart by. */
const KEPT: Partial<Record<Column, Dimension>> = {
  api_key_id: 'api_key_id',
  user_id: 'user_id',
  virtual_key: 'virtual_key',
  provider: 'provider',
  model: 'model',
  status: 'status',
  failed_by: 'failed_by',
  error_code: 'error_code',
  is_stream: 'is_stream',
  verdict: 'verdict',
  cache_status: 'cache_status',
};

export interface KeptTerm {
  readonly name: Dimension | MetadataCube;
  /** Whether a value is meant; null: that cannot be told from it. */
  readonly test: (value: Value) => boolean | null;
}

/** What a term asks of what figures are told apart by; null: it asks for something else. */
export function keptTerm(term: AnyTerm): KeptTerm | null {
  if (term.column === 'said') return null;
  const name = term.key === null ? KEPT[term.column] : metadataCube(term.key);
  if (name === undefined) return null;
  const test = (value: Value) => {
    if (value === OTHER) return null;
    const found = term.tests.map((each) => holds(each, value));
    const isMet = found.includes(true) ? true : found.includes(null) ? null : false;
    return isMet === null ? null : isMet !== term.isNot;
  };
  return { name, test };
}

/** Letters whose small ones the stores agree on. */
const PLAIN = /^[\x00-\x7f]*$/;

/** As the stores say it: no value meets nothing but being absent. */
function holds(test: Test, value: Value): boolean | null {
  if (test.is === 'absent') return value === null;
  if (value === null) return false;
  switch (test.is) {
    case 'equal':
      return value === (typeof test.value === 'boolean' ? Number(test.value) : test.value);
    case 'like': {
      const text = String(value);
      return PLAIN.test(text + test.parts.join('')) ? isLike(text.toLowerCase(), test.parts) : null;
    }
    case '>':
      return Number(value) > test.value;
    case '>=':
      return Number(value) >= test.value;
    case '<':
      return Number(value) < test.value;
    case '<=':
      return Number(value) <= test.value;
  }
}

/** Whether a text in small letters is these parts with anything between them. */
function isLike(text: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts.map((part) => part.toLowerCase());
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
