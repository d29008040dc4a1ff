import type { SentHeaders } from '../../http/headers.ts';
import type { ForwardHeaders } from './configuration.ts';
import { isForwardable, normalised } from './header-names.ts';

/** Hands on those of a client's headers that the configuration lets through, under the names it gives them. */
export type Forwarding = (sent: SentHeaders, put: (name: string, value: string) => void) => void;

const NOTHING: Forwarding = () => {};

/** `kept` are normalised names that stay behind on this server, beside those that always do. */
export function forwardingOf(given: ForwardHeaders | undefined, kept: readonly string[]): Forwarding {
  if (given === undefined) return NOTHING;
  const { mode, headers } = Array.isArray(given) ? { mode: 'allowlist' as const, headers: given } : given;
  const listed = new Set<string>();
  const renamed = new Map<string, string>();
  for (const each of headers) {
    if (typeof each === 'string') listed.add(normalised(each));
    else renamed.set(normalised(each.from), each.to);
  }
  const keptHere = new Set(kept);
  const passes = (name: string) => isForwardable(name) && !keptHere.has(name);
  const isListed = mode === 'allowlist' ? (name: string) => listed.has(name) : (name: string) => !listed.has(name);
  return (sent, put) => {
    for (const name in sent) {
      const plain = normalised(name);
      if (!passes(plain)) continue;
      const other = renamed.get(plain);
      if (other !== undefined) {
        if (passes(normalised(other))) put(other, sent[name]!);
      } else if (isListed(plain)) put(name, sent[name]!);
    }
  };
}
