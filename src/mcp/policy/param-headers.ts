import type { SentHeaders } from '../../http/headers.ts';
import { headerValue, mismatch, plainValue, type ReadMessage } from '../message/message.ts';

/** `Mcp-Param-*` repeat arguments for proxies: what stands there must have passed where arguments are judged. */

const PREFIX = 'mcp-param-';

const leavesOf = (value: unknown): string[] => {
  if (value === null || typeof value !== 'object') return [String(value)];
  return Object.values(value).flatMap(leavesOf);
};

/** Refuses a header that repeats no argument. */
export function checkParamHeaders(headers: SentHeaders, message: ReadMessage) {
  let leaves: Set<string | null> | undefined;
  for (const name in headers) {
    if (!name.startsWith(PREFIX)) continue;
    leaves ??= new Set(leavesOf(message.params.arguments));
    if (!leaves.has(plainValue(headers[name]!)))
      throw mismatch(name, 'is none of the arguments of the body', message.id);
  }
}

/** The headers of a message that has been changed on the way. */
export function mirrored(headers: SentHeaders, before: ReadMessage, after: ReadMessage): SentHeaders {
  const [old, fresh] = [leavesOf(before.params.arguments), leavesOf(after.params.arguments)];
  const next: Record<string, string> = { ...headers };
  for (const name in headers) {
    if (!name.startsWith(PREFIX)) continue;
    const index = old.indexOf(plainValue(headers[name]!) ?? '');
    if (old.length === fresh.length && index >= 0) next[name] = headerValue(fresh[index]!);
    else delete next[name];
  }
  if (next['mcp-method'] && after.method !== null) next['mcp-method'] = after.method;
  const [target] = after.targets;
  if (next['mcp-name'] && target) next['mcp-name'] = headerValue(target.name);
  return next;
}
