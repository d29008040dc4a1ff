import { type Forbids, refuseForbidden } from '../core/forbidden.ts';
import type { SentHeaders } from './headers.ts';

const PREFIX = 'x-gateway-';
/** It says who calls, and is no member of a config. */
const OWN_KEY = 'x-gateway-api-key';

/**
 * Refuses a call whose headers bring what its organisation, workspace or key forbids. `set` names the headers that the
 * gateway set itself.
 */
export function refuseForbiddenHeaders(forbids: Forbids, headers: SentHeaders, set: readonly string[] = []): void {
  for (const name in headers) {
    if (!name.startsWith(PREFIX) || name === OWN_KEY || !headers[name] || set.includes(name)) continue;
    refuseForbidden(forbids, memberIn(name, headers[name]), name);
  }
}

/** What a header says, by the name of the member of a config that would say the same. */
function memberIn(header: string, value: string): string {
  if (header === 'x-gateway-config' && isInline(value)) return 'inline_config';
  if (header === 'x-gateway-provider' && value.startsWith('@')) return 'virtual_key';
  return header.slice(PREFIX.length).replaceAll('-', '_');
}

/** Whether `x-gateway-config` holds a config itself, and not the name of one. */
export const isInline = (reference: string): boolean => reference.trimStart().startsWith('{');
