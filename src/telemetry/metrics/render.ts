import { BUCKETS, type Exemplar, type FamilySnapshot, type HistogramSeries } from './family.ts';

export type Format = 'text' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** OpenMetrics where the scraper names it and does not like plain text better; everything else gets plain text. */
export function formatOf(accept: string | null): Format {
  let openmetrics = 0;
  let text = 0;
  for (const range of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const given = new Map(
      parameters.map((parameter) => parameter.split('=').map((part) => part.trim()) as [string, string]),
    );
    const liking = given.has('q') ? Number(given.get('q')) || 0 : 1;
    if (type === 'application/openmetrics-text' && (given.get('version') ?? '1.0.0') === '1.0.0')
      openmetrics = Math.max(openmetrics, liking);
    if (type === 'text/plain') text = Math.max(text, liking);
  }
  return openmetrics > 0 && openmetrics >= text ? 'openmetrics' : 'text';
}

export function render(families: readonly FamilySnapshot[], format: Format): string {
  const lines: string[] = [];
  for (const family of families) {
    const { name, type, help } = family;
    // In OpenMetrics the suffix belongs to the sample and not to the family.
    const title = format === 'openmetrics' && type === 'counter' ? name.replace(/_total$/, '') : name;
    lines.push(`# HELP ${title} ${escapeHelp(help, format)}`, `# TYPE ${title} ${type}`);
    if (family.type === 'histogram') for (const series of family.series) renderHistogram(family, series, format, lines);
    else
      for (const { labelled, value } of family.series)
        lines.push(`${name}${labelsOf(family.labels, labelled)} ${numberOf(value)}`);
  }
  if (format === 'openmetrics') lines.push('# EOF');
  return `${lines.join('\n')}\n`;
}

function renderHistogram(
  { name, labels }: FamilySnapshot,
  { labelled, counts, sum, exemplars }: HistogramSeries,
  format: Format,
  lines: string[],
) {
  let total = 0;
  for (const [index, count] of counts.entries()) {
    total += count;
    const bound = labelsOf(labels, labelled, `le="${boundOf(BUCKETS[index], format)}"`);
    const exemplar = format === 'openmetrics' ? exemplarOf(exemplars[index] ?? null) : '';
    lines.push(`${name}_bucket${bound} ${total}${exemplar}`);
  }
  const own = labelsOf(labels, labelled);
  lines.push(`${name}_sum${own} ${numberOf(sum)}`, `${name}_count${own} ${total}`);
}

const exemplarOf = (exemplar: Exemplar | null): string =>
  exemplar
    ? ` # {trace_id="${escapeLabel(exemplar.traceId)}"} ${numberOf(exemplar.value)} ${(exemplar.at / 1000).toFixed(3)}`
    : '';

function boundOf(bound: number | undefined, format: Format): string {
  if (bound === undefined) return '+Inf';
  return format === 'openmetrics' && Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

function numberOf(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

function labelsOf(labels: readonly string[], values: readonly string[], extra = ''): string {
  const pairs = labels.map((label, index) => `${label}="${escapeLabel(values[index] ?? '')}"`);
  if (extra) pairs.push(extra);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

const escapeLabel = (value: string) =>
  value.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));

const escapeHelp = (help: string, format: Format) =>
  help.replace(format === 'openmetrics' ? /[\\"\n]/g : /[\\\n]/g, (character) =>
    character === '\n' ? '\\n' : `\\${character}`,
  );
