import { Refusal } from './refusal.ts';

/** What a request asks to go wrong, or to be unusual. */
export interface Faults {
  readonly status?: number;
  readonly retryAfter?: string;
  /** Before the headers. */
  readonly delayMs?: number;
  /** Between chunks. Zero waits for nothing but still writes each chunk on its own. */
  readonly chunkDelayMs?: number;
  /** Never goes on after so many chunks; `headers`: never even starts. */
  readonly stall?: number | 'headers';
  /** The connection dies after so many chunks. */
  readonly cut?: number;
  /** Words of the answer. */
  readonly length?: number;
  /** Pieces the text is streamed in. */
  readonly chunks?: number;
  /** The body is so many bytes and nothing else. */
  readonly bytes?: number;
  readonly framing?: ReadonlySet<Framing>;
  readonly gzip?: boolean;
  readonly echo?: boolean;
}

const framings = ['crlf', 'cr', 'no-space', 'split', 'comments', 'multiline'] as const;
export type Framing = (typeof framings)[number];

export const noFaults: Faults = {};

// One hour: a test that waits longer wants `stall`, and setTimeout stops counting at 2^31 ms.
const LONGEST_WAIT_MS = 3_600_000;
// Times the 128 choices that a request may want, this still fits in memory.
const MOST_WORDS = 100_000;

const readers: Record<string, (value: string, name: string) => Faults> = {
  status: (value, name) => ({ status: integer(value, name, 200, 599) }),
  'retry-after': (value, name) => ({ retryAfter: headerValue(value, name) }),
  delay: (value, name) => ({ delayMs: integer(value, name, 0, LONGEST_WAIT_MS) }),
  'chunk-delay': (value, name) => ({ chunkDelayMs: integer(value, name, 0, LONGEST_WAIT_MS) }),
  stall: (value, name) => ({ stall: value === 'headers' ? 'headers' : after(value, name) }),
  cut: (value, name) => ({ cut: value === 'headers' ? 0 : after(value, name) }),
  length: (value, name) => ({ length: integer(value, name, 1, MOST_WORDS) }),
  chunks: (value, name) => ({ chunks: integer(value, name, 1, MOST_WORDS) }),
  bytes: (value, name) => ({ bytes: integer(value, name, 0, Number.MAX_SAFE_INTEGER) }),
  framing: (value) => ({ framing: new Set(value.split('+').map(framing)) }),
  gzip: () => ({ gzip: true }),
  echo: () => ({ echo: true }),
};

/** Reads `status=429, retry-after=2`; a fault it does not know is refused, so that a typing error is no passing test. */
export function parseFaults(directive: string): Faults {
  const faults = {};
  for (const item of directive.split(',')) {
    const [name = '', value = ''] = item.split('=', 2).map((part) => part.trim());
    if (name === '') continue;
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (!read) {
      throw new Refusal(400, `Unknown simulation "${name}"; known are ${Object.keys(readers).join(', ')}.`);
    }
    Object.assign(faults, read(value, name));
  }
  return faults;
}

const DIRECTIVE = /\[\[simulate:([^\][]*)\]\]/;
const mentionsDirective = (said: string): boolean => said.includes('[[simulate:');

/** The faults that a prompt asks for with `[[simulate: …]]`. */
export function faultsIn(said: string): Faults {
  const directive = mentionsDirective(said) ? DIRECTIVE.exec(said)?.[1] : undefined;
  return directive === undefined ? noFaults : parseFaults(directive);
}

export const withoutDirective = (said: string): string =>
  mentionsDirective(said) ? said.replace(DIRECTIVE, '').trim() : said;

export function integer(value: string, name: string, least: number, most: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < least || number > most) {
    throw new Refusal(400, `Simulation "${name}" is "${value}"; it must be a whole number from ${least} to ${most}.`);
  }
  return number;
}

function headerValue(value: string, name: string): string {
  if (!/^[\x20-\x7e]+$/.test(value)) {
    throw new Refusal(400, `Simulation "${name}" needs a value of printable ASCII, such as ${name}=2.`);
  }
  return value;
}

function after(value: string, name: string): number {
  if (!value.startsWith('after:')) {
    throw new Refusal(400, `Simulation "${name}" is "${value}"; it must be "headers" or "after:" and a number.`);
  }
  return integer(value.slice('after:'.length), name, 0, Number.MAX_SAFE_INTEGER);
}

function framing(value: string): Framing {
  const known = framings.find((name) => name === value);
  return known ?? refuseFraming(value);
}

function refuseFraming(value: string): never {
  throw new Refusal(400, `Simulation "framing" is "${value}"; known are ${framings.join(', ')}.`);
}
