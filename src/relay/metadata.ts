import { fail } from '../core/errors.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';

const HEADER = 'x-gateway-metadata';
const MAX_LENGTH = 128;

/** `x-gateway-metadata`, a JSON object of short strings. What the key's owner fixed stands above what the request says. */
export function readMetadata(
  headers: SentHeaders,
  fixed: Readonly<Record<string, string>> | undefined,
): Record<string, string> | null {
  const text = headerOf(headers, HEADER);
  if (text === null) return fixed ? { ...fixed } : null;
  const metadata = parse(text);
  for (const [key, value] of Object.entries(metadata)) {
    if ([...key].length > MAX_LENGTH) fail('invalid_header', HEADER, `a key is longer than ${MAX_LENGTH} characters`);
    if (typeof value !== 'string') fail('invalid_header', HEADER, `the value of "${key}" must be a string`);
    if ([...value].length > MAX_LENGTH)
      fail('invalid_header', HEADER, `the value of "${key}" is longer than ${MAX_LENGTH} characters`);
  }
  return { ...(metadata as Record<string, string>), ...fixed };
}

function parse(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    fail('invalid_header', HEADER, 'is not JSON; send an object of strings such as {"_user":"ada"}');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    fail('invalid_header', HEADER, 'must be a JSON object of strings such as {"_user":"ada"}');
  }
  return value;
}
