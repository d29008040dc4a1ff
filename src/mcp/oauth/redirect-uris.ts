/** Where a user may be sent with a code. */

/** Handled by browsers themselves: a code must reach an application. */
const NOT_AN_APPLICATION = new Set([
  'about:',
  'blob:',
  'chrome:',
  'data:',
  'file:',
  'filesystem:',
  'ftp:',
  'javascript:',
  'mailto:',
  'tel:',
  'vbscript:',
  'view-source:',
  'ws:',
  'wss:',
]);
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);
const LONGEST = 2_000;
/** Ours to add: an address that holds them already would be read in two ways. */
const ANSWERED = ['code', 'state', 'iss', 'error'];

/** What is wrong with an address, in words that follow its name; null when nothing is. */
export function redirectFault(text: string): string | null {
  if (text.length > LONGEST) return `is longer than ${LONGEST} characters`;
  if (!/^[\x21-\x7e]+$/.test(text)) return 'holds spaces or other characters that an address has not';
  const url = URL.parse(text);
  if (!url) return 'is no absolute address';
  if (text.includes('#')) return 'has a fragment';
  if (url.username || url.password) return 'holds a user name';
  if (NOT_AN_APPLICATION.has(url.protocol)) return `is of the scheme ${url.protocol}`;
  // It stands in the policy of a page, whose parts are told apart by such characters.
  if (isWeb(url) && !/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/.test(url.hostname)) return 'has a host of odd characters';
  if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname)) return 'is plain http and not on this machine';
  const taken = ANSWERED.find((name) => url.searchParams.has(name));
  return taken === undefined ? null : `holds the parameter ${taken}`;
}

const isWeb = ({ protocol }: URL): boolean => protocol === 'https:' || protocol === 'http:';

export const isLoopback = (text: string): boolean => {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && LOOPBACK.has(url.hostname);
};

/** Whether only one party can receive what is sent there: on one machine any program can listen, or take a scheme. */
export const isClaimed = (text: string): boolean => URL.parse(text)?.protocol === 'https:';

/** Letter by letter; on this machine's own address the port is free (RFC 8252 section 7.3). */
export const isRegistered = (asked: string, registered: readonly string[]): boolean =>
  registered.includes(asked) ||
  (isLoopback(asked) && registered.some((each) => isLoopback(each) && withoutPort(each) === withoutPort(asked)));

function withoutPort(text: string): string {
  return text.replace(/^(http:\/\/(?:\[::1\]|[^/:?]+)):\d{1,5}(?=[/?]|$)/i, '$1');
}

/** Where it leads, as people and a page's policy name it: an origin, or the scheme of an application. */
export function destinationOf(text: string): string {
  const url = new URL(text);
  return isWeb(url) ? url.origin : url.protocol;
}

/** The same for a page's policy, which has no form for addresses of IPv6. */
export const policySourceOf = (text: string): string => destinationOf(text).replace(/^(http:|https:).*\[.*$/, '$1');

export function withParameters(uri: string, parameters: Readonly<Record<string, string | null>>): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== null) added.set(name, value);
  return `${uri}${uri.includes('?') ? '&' : '?'}${added}`;
}
