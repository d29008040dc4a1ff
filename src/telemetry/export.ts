import { streamOf } from '../http/pulled-stream.ts';
import { LISTED_COLUMNS } from './log-columns.ts';
import { type LogPage, type LogQuery, positionOf } from './log-query.ts';
import type { LogRecord } from './record.ts';

export type ExportFormat = 'ndjson' | 'csv';

export const EXPORT_TYPES: Readonly<Record<ExportFormat, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
};

/** Entries that are in memory at once. */
const PAGE = 500;

/** All entries that a query means, newest first, page by page, as fast as the client takes them. `list` answers JSON. */
export function exported(
  query: Omit<LogQuery, 'limit'>,
  format: ExportFormat,
  list: (query: LogQuery) => Promise<string>,
): ReadableStream<Uint8Array> {
  const write = format === 'csv' ? csvLine : jsonLine;
  let after = query.after;
  let isOver = false;
  let heading = format === 'csv' ? `${LISTED_COLUMNS.join(',')}\r\n` : '';
  return streamOf(async () => {
    if (isOver) return null;
    const page: LogPage = JSON.parse(await list({ ...query, limit: PAGE, ...(after && { after }) }));
    after = page.next_cursor === undefined ? undefined : positionOf(page.next_cursor)!;
    isOver = !page.has_more;
    const text = heading + page.data.map(write).join('');
    heading = '';
    return text === '' ? null : Buffer.from(text);
  });
}

const jsonLine = (record: LogRecord): string => `${JSON.stringify(record)}\n`;

const csvLine = (record: LogRecord): string =>
  `${LISTED_COLUMNS.map((column) => cellOf(record[column])).join(',')}\r\n`;

/** RFC 4180. Objects are JSON. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = harmless(typeof value === 'string' ? value : JSON.stringify(value));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Clients choose what stands in paths, models and metadata, and a table calculator would carry out what looks like a formula. */
const harmless = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
