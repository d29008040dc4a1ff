import { fail } from '../core/errors.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';

const HEADER = 'x-gateway-request-timeout';

/** How many milliseconds a request gives the provider to begin its answer; null when it does not say. */
export function readTimeout(headers: SentHeaders): number | null {
  const text = headerOf(headers, HEADER);
  if (text === null) return null;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return ms >= 1 ? ms : fail('invalid_header', HEADER, 'give a whole number of milliseconds above 0');
}
