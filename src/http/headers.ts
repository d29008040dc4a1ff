import { fail } from '../core/errors.ts';
import { PlainHeaders } from '../core/header-map.ts';
import { FOREIGN_HEADERS, speaksForOrigin } from './foreign.ts';

/** Connection-level headers (RFC 9110 section 7.6.1): they speak of one hop and are never passed on. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What a provider must not learn about the client or the gateway. */
const NEVER_FORWARDED = new Set([
  'host',
  'content-length',
  'expect',
  'cookie',
  'cookie2',
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'x-request-start',
  // Credentials: the gateway key is ours, the provider's is set again in the provider's own scheme.
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
]);

/** Where our own key may stand when it does not have its own header. */
const MAY_BE_OUR_KEY = new Set(['authorization', 'x-api-key', 'x-goog-api-key']);

const namedInConnection = (value: string | null | undefined): Set<string> | null => {
  if (!value || value === 'keep-alive' || value === 'close') return null;
  return new Set(value.split(',').map((name) => name.trim().toLowerCase()));
};

/** Names that were looked at before: a handful of clients send the same ones over and over. */
const verdicts = new Map<string, boolean>();

function isForwarded(name: string): boolean {
  let verdict = verdicts.get(name);
  if (verdict === undefined) {
    verdict = !(
      HOP_BY_HOP.has(name) ||
      NEVER_FORWARDED.has(name) ||
      name.startsWith('x-gateway-') ||
      name.startsWith('x-forwarded-')
    );
    if (verdicts.size > 1_000) verdicts.clear();
    verdicts.set(name, verdict);
  }
  return verdict;
}

const returnVerdicts = new Map<string, boolean>();

function isReturned(name: string): boolean {
  let verdict = returnVerdicts.get(name);
  if (verdict === undefined) {
    // Ours are ours to set: a provider behind another gateway may send some, too.
    verdict = !(HOP_BY_HOP.has(name) || name.startsWith('x-gateway-') || speaksForOrigin(name));
    if (returnVerdicts.size > 1_000) returnVerdicts.clear();
    returnVerdicts.set(name, verdict);
  }
  return verdict;
}

/**
 * Headers as they came, by lower-case name. Taken out of a `Headers` once, by one native call, and then looked at as
 * plain data: a call reads a dozen of them, and each look through `Headers` crosses into native code.
 */
export type SentHeaders = Readonly<Record<string, string>>;

/** Lines of the same name are joined, as HTTP allows; only `set-cookie`, which cannot be, is an array. */
export const sentHeaders = (headers: Headers): SentHeaders => headers.toJSON() as SentHeaders;

/** The way back. */
export function headersOf(sent: SentHeaders): Headers {
  const { 'set-cookie': cookies, ...others } = sent;
  const headers = new Headers(others);
  for (const cookie of [cookies ?? []].flat()) headers.append('set-cookie', cookie);
  return headers;
}

/**
 * Reads headers of another gateway as ours: with the alias `x-portkey-`, `x-portkey-virtual-key` is understood as
 * `x-gateway-virtual-key`. Ours wins where both are sent, then the alias that stands first. An aliased header is gone
 * after this and so reaches no provider.
 */
export function sentHeadersWithAliases(aliases: readonly string[]): (headers: Headers) => SentHeaders {
  return (headers) => {
    const sent = sentHeaders(headers) as Record<string, string>;
    for (const alias of aliases) {
      for (const name of Object.keys(sent)) {
        if (!name.startsWith(alias)) continue;
        const own = `x-gateway-${name.slice(alias.length)}`;
        if (!sent[own]) sent[own] = sent[name]!;
        delete sent[name];
      }
    }
    return sent;
  };
}

/**
 * Headers with some set by the gateway; null takes one away. A client that names one of these in `connection` speaks of
 * what it sent itself, and cannot take away what the gateway has set.
 */
export function withHeaders(sent: SentHeaders, changes: Readonly<Record<string, string | null>>): SentHeaders {
  const names = Object.keys(changes);
  if (names.length === 0) return sent;
  const next: Record<string, string> = { ...sent };
  const dropped = namedInConnection(sent.connection);
  if (dropped) next.connection = [...dropped].filter((name) => !names.includes(name)).join(', ');
  for (const name of names) {
    const value = changes[name]!;
    if (value === null) delete next[name];
    else next[name] = value;
  }
  return next;
}

/** The client's end-to-end headers, as far as they are meant for a provider. */
export function forwardedHeaders(sent: SentHeaders): PlainHeaders {
  const dropped = namedInConnection(sent.connection);
  // Without a prototype no name is there before it was sent.
  const forwarded = { __proto__: null } as unknown as Record<string, string>;
  for (const name in sent) {
    if (isForwarded(name) && !dropped?.has(name)) forwarded[name] = sent[name]!;
  }
  return new PlainHeaders(forwarded);
}

/** What no config can have forwarded: what speaks of one hop, the sessions in a browser's cookies, and what is ours. */
const isNeverNamed = (name: string): boolean =>
  HOP_BY_HOP.has(name) || name === 'cookie' || name === 'cookie2' || name.startsWith('x-gateway-');

/** A header that is forwarded because a config names it; never one that holds our own key. */
export function namedHeader(sent: SentHeaders, name: string): string | undefined {
  if (isNeverNamed(name) || !Object.hasOwn(sent, name)) return undefined;
  const own = headerOf(sent, 'x-gateway-api-key');
  const value = sent[name]!;
  const isOurs = own === null ? MAY_BE_OUR_KEY.has(name) : value.includes(own);
  return isOurs ? undefined : value;
}

/** The provider's end-to-end headers, for the client, with our stamp and notes, and what fences foreign content in. */
export function returnedHeaders(received: SentHeaders, stamp: SentHeaders, notes: SentHeaders): Record<string, string> {
  const dropped = namedInConnection(received.connection);
  const returned: Record<string, string> = {};
  for (const name in received) if (isReturned(name) && !dropped?.has(name)) returned[name] = received[name]!;
  for (const name in stamp) {
    // The provider's own id is the one its support asks for.
    if (name !== 'x-request-id' || returned[name] === undefined) returned[name] = stamp[name]!;
  }
  for (const name in notes) returned[name] = notes[name]!;
  return Object.assign(returned, FOREIGN_HEADERS);
}

/** A header's value; an empty one counts as absent. */
export const headerOf = (headers: SentHeaders, name: string): string | null => headers[name] || null;

/** A header that says yes or no; null when it is not there. */
export function flagOf(headers: SentHeaders, name: string): boolean | null {
  const value = headerOf(headers, name)?.toLowerCase();
  if (value === undefined) return null;
  if (value !== 'true' && value !== 'false') fail('invalid_header', name, 'give true or false');
  return value === 'true';
}
