/** A sample as a scraper reads it. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly exemplar: {
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
    readonly at: number;
  } | null;
}

export interface ScrapedFamily {
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

/** By name of the family, as its TYPE line has it. */
export type Scrape = ReadonlyMap<string, ScrapedFamily>;

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*/;
const NUMBER = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]Inf|NaN)/i;
const SUFFIXES: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'], gauge: [''] };

/**
 * Reads what `/metrics` says, by the rules of the Prometheus text format 0.0.4 or of OpenMetrics 1.0, and throws at the first
 * line that breaks one. It shares nothing with the code that writes it.
 */
export function readScrape(text: string, format: 'text' | 'openmetrics' = 'text'): Scrape {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const lines = text.slice(0, -1).split('\n');
  if (format === 'openmetrics' && lines.pop() !== '# EOF') throw new Error('it does not end with # EOF');
  const families = new Map<string, ScrapedFamily>();
  let current = '';
  let help: { name: string; text: string } | null = null;
  const seen = new Set<string>();
  for (const line of lines) {
    const fault = (why: string): never => {
      throw new Error(`${why}: ${line}`);
    };
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === 'HELP') {
      if (families.has(name) || help) fault('HELP comes once and before TYPE');
      const escapes = format === 'openmetrics' ? /\\(?![\\n"])|(?<!\\)"/ : /\\(?![\\n])/;
      if (escapes.test(rest.replaceAll('\\\\', ''))) fault('a help text is not escaped');
      help = { name, text: rest };
    } else if (keyword === 'TYPE') {
      if (families.has(name)) fault('a family comes twice');
      if (help?.name !== name || help.text === '') fault('a family has no help');
      if (!['counter', 'gauge', 'histogram'].includes(rest)) fault('an unknown type');
      const named = format === 'text' ? name : rest === 'counter' ? `${name}_total` : name;
      if (named.endsWith('_total') !== (rest === 'counter')) fault('counters end in _total, and nothing else does');
      families.set(name, { type: rest, help: help!.text, samples: [] });
      current = name;
      help = null;
    } else {
      const sample = readSample(line, format, fault);
      const family = families.get(current) ?? fault('a sample without a family');
      const suffixes = SUFFIXES[family.type] ?? [format === 'openmetrics' ? '_total' : ''];
      if (!suffixes.some((suffix) => sample.name === current + suffix))
        fault(`a sample of another family than ${current}`);
      const identity = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
      if (seen.has(identity)) fault('a series comes twice');
      seen.add(identity);
      if (sample.exemplar && !sample.name.endsWith('_bucket')) fault('an exemplar outside of a bucket');
      family.samples.push(sample);
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family);
  return families;
}

function readSample(line: string, format: string, fault: (why: string) => never): Sample {
  const [name] = NAME.exec(line) ?? fault('no name');
  const labelled = readLabels(line.slice(name.length), fault);
  const [, value = ''] = /^ (\S+)/.exec(labelled.rest) ?? fault('no value');
  if (NUMBER.exec(value)?.[0] !== value) fault('no number');
  const after = labelled.rest.slice(value.length + 1);
  const exemplar =
    after === '' ? null : format === 'text' ? fault('an exemplar in plain text') : readExemplar(after, fault);
  return { name, labels: labelled.labels, value: numberOf(value), exemplar };
}

function readExemplar(text: string, fault: (why: string) => never): Sample['exemplar'] {
  if (!text.startsWith(' # {')) fault('something after the value');
  const { labels, rest } = readLabels(text.slice(3), fault);
  const size = Object.entries(labels).reduce((sum, [name, value]) => sum + [...name].length + [...value].length, 0);
  if (size > 128) fault('an exemplar of more than 128 characters');
  const [, value = '', at = ''] = /^ (\S+) (\d+(?:\.\d+)?)$/.exec(rest) ?? fault('an exemplar without value or time');
  if (NUMBER.exec(value)?.[0] !== value) fault('no number');
  return { labels, value: numberOf(value), at: Number(at) };
}

function readLabels(text: string, fault: (why: string) => never): { labels: Record<string, string>; rest: string } {
  const labels: Record<string, string> = {};
  if (text[0] !== '{') return { labels, rest: text };
  let at = 1;
  while (text[at] !== '}') {
    const [name] = LABEL.exec(text.slice(at)) ?? fault('no name of a label');
    if (name in labels) fault('a label comes twice');
    at += name.length;
    if (text.slice(at, at + 2) !== '="') fault('no value of a label');
    at += 2;
    let value = '';
    for (; text[at] !== '"'; at++) {
      if (text[at] === undefined) fault('a value of a label does not end');
      if (text[at] !== '\\') value += text[at];
      else {
        at++;
        value += { n: '\n', '"': '"', '\\': '\\' }[text[at] ?? ''] ?? fault('an unknown escape');
      }
    }
    labels[name] = value;
    at++;
    if (text[at] === ',') at++;
    else if (text[at] !== '}') fault('labels do not end');
  }
  return { labels, rest: text.slice(at + 1) };
}

const numberOf = (text: string): number =>
  /Inf$/.test(text) ? (text[0] === '-' ? -Infinity : Infinity) : Number(text);

/** Buckets rise, the last one has no bound and is the count, and an exemplar lies in its bucket. */
function checkHistogram(name: string, { samples }: ScrapedFamily) {
  const groups = Map.groupBy(samples, ({ labels: { le: _, ...rest } }) => JSON.stringify(rest));
  for (const [labels, series] of groups) {
    const buckets = series.filter((sample) => sample.name === `${name}_bucket`);
    const count = series.find((sample) => sample.name === `${name}_count`)?.value;
    let bound = -Infinity;
    let total = 0;
    for (const {
      labels: { le = '' },
      value,
      exemplar,
    } of buckets) {
      const next = numberOf(le);
      const isWithin = !exemplar || (exemplar.value > bound && exemplar.value <= next);
      if (next <= bound || value < total || !isWithin) throw new Error(`${name}${labels} is wrong at ${le}`);
      bound = next;
      total = value;
    }
    if (bound !== Infinity || total !== count) throw new Error(`${name}${labels} does not add up`);
  }
}

/** The value of one series; undefined: there is none. */
export const valueIn = (
  scrape: Scrape,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined =>
  [...scrape.values()]
    .flatMap(({ samples }) => samples)
    .find(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    )?.value;
