import { fail } from '../core/errors.ts';
import { headerOf, type SentHeaders } from './headers.ts';

/** The header of ours that says which session a call belongs to. */
export const SESSION_ID = 'x-gateway-session-id';
/** Those in which Claude Code and Codex say so; Codex wrote its own with an underscore before. */
const OF_CLIENTS = ['x-claude-code-session-id', 'session-id', 'session_id'];
const FORM = /^[\x21-\x7e]{1,256}$/;

/** The session that a request says it belongs to; null: it says nothing. A header of others that cannot be one is ignored. */
export function sessionIn(headers: SentHeaders): string | null {
  const own = headerOf(headers, SESSION_ID);
  if (own !== null)
    return FORM.test(own)
      ? own
      : fail('invalid_header', SESSION_ID, 'give 1 to 256 printable ASCII characters, no space');
  for (const name of OF_CLIENTS) {
    const theirs = headers[name];
    if (theirs !== undefined && FORM.test(theirs)) return theirs;
  }
  return null;
}
