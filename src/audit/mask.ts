import { MASKED, maskedAddress } from '../core/masked-address.ts';
import { isAddressName, isSecretName } from '../core/secret-names.ts';
import { mask } from '../crypto/seal.ts';
import type { SentHeaders } from '../http/headers.ts';

/** A body is kept this far; what it says beyond that is counted, not kept. */
const MOST_CHARACTERS = 64 << 10;
const LONGEST_BEGINNING = 200;
const DEEPEST = 40;

/** Names as they mean the same: `apiKey`, `api_key`, `API-KEY`. */
const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** Whose members are named by others than us, and hold credentials as a rule. */
const OPAQUE = new Set(['headers', 'customheaders', 'env', 'environment']);
/** Lists of `{ key, … }` that name a field and hold no secret. */
const NAMING_LISTS = new Set(['conditions', 'groupby']);
/** The private members of a JSON Web Key. */
const PRIVATE_JWK = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']);
const SECRET_VALUE =
  /^(?:sk-|gw-|pk-|xox[a-z]-|gh[opsur]_|glpat-|AKIA|ASIA|AIza|hf_|Bearer\s|Basic\s|-----BEGIN|eyJ[\w-]+\.[\w-]+\.)/i;

/** Whether an address stands there that the gateway stores sealed. */
const holdsAddress = (name: string): boolean => isAddressName(name) || name === 'url' || name.endsWith('_endpoint');

/** An address without what it may carry: a password before the host, a token behind it. */
function plainAddress(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  return text
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i, `$1${MASKED}@`)
    .replace(/([?&])([^=&#]+)=([^&#]*)/g, (whole, mark: string, name: string) =>
      isSecretName(name) ? `${mark}${name}=${MASKED}` : whole,
    );
}

interface Place {
  readonly name: string;
  /** The nearest named thing above. */
  readonly list: string;
  readonly isSecret: boolean;
  readonly isJwk: boolean;
  readonly depth: number;
}

function isSecretMember(name: string, { list, isSecret, isJwk }: Place): boolean {
  if (isSecret || (isJwk && PRIVATE_JWK.has(name))) return true;
  if (NAMING_LISTS.has(plain(list)) && name === 'key') return false;
  return isSecretName(name);
}

function masked(value: unknown, place: Place): unknown {
  if (typeof value === 'string') {
    if (place.isSecret) return value === '' ? value : MASKED;
    if (SECRET_VALUE.test(value)) return MASKED;
    return holdsAddress(place.name) ? maskedAddress(value) : plainAddress(value);
  }
  if (value === null || typeof value !== 'object') return place.isSecret && typeof value === 'number' ? MASKED : value;
  if (place.depth >= DEEPEST) return '[nested deeper than is kept]';
  const depth = place.depth + 1;
  if (Array.isArray(value)) return value.map((item) => masked(item, { ...place, list: place.name, depth }));
  const inside = { ...place, isJwk: Object.hasOwn(value, 'kty') };
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const isOpaque = OPAQUE.has(plain(name)) && !Array.isArray(item);
      const isSecret = isSecretMember(name, inside) && !isCount(name, item);
      return [name, masked(item, { name, list: '', isJwk: false, isSecret: isSecret || isOpaque, depth })];
    }),
  );
}

/** `max_tokens: 100` is no token. */
const isCount = (name: string, value: unknown): boolean => typeof value === 'number' && /tokens?$/i.test(name);

const ROOT: Place = { name: '', list: '', isSecret: false, isJwk: false, depth: 0 };

/** What a body said, as JSON, without its secrets. */
export function maskedBody(body: unknown, most = MOST_CHARACTERS): string {
  const text = JSON.stringify(masked(body, ROOT)) ?? '{}';
  return text.length <= most
    ? text
    : JSON.stringify({ truncated: true, characters: text.length, beginning: text.slice(0, most) });
}

/** The query as a JSON object. A name that is given twice has an array. */
export function maskedQuery(search: string, most = MOST_CHARACTERS): string {
  const query = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(search)) {
    const shown = isSecretName(name) ? MASKED : (masked(value, ROOT) as string);
    const before = query.get(name);
    query.set(name, before === undefined ? shown : [before, shown].flat());
  }
  return cut(Object.fromEntries(query), most);
}

/** Keys by which people recognise theirs; everything else that opens a door is hidden whole. */
const RECOGNISABLE = new Set(['x-gateway-api-key', 'x-api-key', 'x-goog-api-key']);
const SECRET_HEADER = /auth|cookie|key|token|secret|password|credential|signature|csrf|session|x-gateway-config/i;
/** Names, though they sound otherwise. */
const NO_SECRET = new Set(['x-gateway-virtual-key', 'sec-websocket-key']);
const ADDRESSES = new Set(['referer', 'origin', 'location']);

export function maskedHeaders(headers: SentHeaders, most = MOST_CHARACTERS): string {
  const shown = Object.entries(headers).map(([name, value]) => {
    if (RECOGNISABLE.has(name)) return [name, mask(String(value))];
    if (SECRET_HEADER.test(name) && !NO_SECRET.has(name)) return [name, bearerMasked(name, String(value))];
    return [name, ADDRESSES.has(name) ? plainAddress(value) : masked(value, ROOT)];
  });
  return cut(Object.fromEntries(shown), most);
}

/** An SDK sends the gateway's own key as a bearer. */
const bearerMasked = (name: string, value: string): string => {
  const key = name === 'authorization' ? /^bearer\s+(\S+)$/i.exec(value)?.[1] : undefined;
  return key === undefined ? MASKED : `Bearer ${key.includes('.') ? MASKED : mask(key)}`;
};

/** Of what is too long, the beginnings of the first members. */
function cut(shown: Readonly<Record<string, unknown>>, most: number): string {
  const whole = JSON.stringify(shown);
  if (whole.length <= most) return whole;
  const kept: Record<string, string> = {};
  let left = most;
  for (const [name, value] of Object.entries(shown)) {
    const text = (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, LONGEST_BEGINNING);
    left -= name.length + text.length;
    if (left < 0) break;
    kept[name] = text;
  }
  return JSON.stringify({ ...kept, truncated: true, characters: whole.length });
}
