import { mayNameMcp } from './body-words.ts';
import type { Opening } from './call.ts';

const TOKEN = /("authorization(?:_token)?"\s*:\s*")((?:[^"\\]|\\.)*)/g;
const QUERY = /("(?:server_url)"\s*:\s*"[^"?]*\?)((?:[^"\\]|\\.)*)/g;
const HEADERS = /("headers"\s*:\s*\{)([^{}]*)/g;
const VALUE = /(:\s*")((?:[^"\\]|\\.)*)/g;

const masked = (_: string, before: string, secret: string): string => before + '*'.repeat(secret.length);

/**
 * A body as the log may keep it: what a client gives for MCP servers (`authorization`, `authorization_token`, `headers`,
 * the query of `server_url`) is masked. Every byte stands where it stood, so sizes and the ends of what is kept stay as they are.
 */
export function loggedBody(body: Pick<Opening, 'head' | 'words'>): Uint8Array {
  const bytes = body.head;
  if (!mayNameMcp(body)) return bytes;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const shown = text
    .replace(TOKEN, masked)
    .replace(QUERY, masked)
    .replace(HEADERS, (_, before: string, members: string) => before + members.replace(VALUE, masked));
  return shown === text ? bytes : Buffer.from(shown, 'latin1');
}
