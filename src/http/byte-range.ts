import { GatewayError } from '../core/errors.ts';

export interface ByteRange {
  readonly start: number;
  /** The byte behind the last. */
  readonly end: number;
}

const SINGLE = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/;

/**
 * What a Range header asks for of so many bytes; null when that is everything. Several ranges at once, other units and
 * whatever cannot be read count as no header, as RFC 9110 (14.2) allows. A range behind the end is refused.
 */
export function rangeOf(header: string | null, size: number): ByteRange | null {
  const found = SINGLE.exec(header?.replaceAll(' ', '') ?? '');
  if (!found) return null;
  const [, first, last, suffix] = found;
  if (suffix !== undefined) {
    const length = Number(suffix);
    return length > 0 && size > 0 ? { start: Math.max(0, size - length), end: size } : unsatisfiable(header, size);
  }
  const start = Number(first);
  const end = last ? Math.min(size, Number(last) + 1) : size;
  if (last && Number(last) < start) return null;
  return start < size ? { start, end } : unsatisfiable(header, size);
}

const unsatisfiable = (header: string | null, size: number): never => {
  throw new GatewayError('range_not_satisfiable', [header, size], { 'content-range': `bytes */${size}` });
};
