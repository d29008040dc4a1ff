export const REDACTED = '[redacted]';

const SENSITIVE_NAME =
  /auth|cookie|key|token|secret|password|credential|signature|service-account|x-gateway-config|sec-websocket-protocol/i;
const SENSITIVE_QUERY =
  /^(?:.*key(?:[-_]?id)?|.*token|sig|.*signature|.*secret|pass.*|auth.*|credential.*|code|x-(?:amz|goog)-.*)$/i;
/** Headers that carry an address, which may carry a signature. */
const ADDRESSES = new Set(['location', 'content-location', 'referer']);

/** Header names repeat endlessly; clients choose them, so the memory of them is bounded. */
const MOST_NAMES = 2_000;
const known = new Map<string, boolean>();

function isSensitive(name: string): boolean {
  let answer = known.get(name);
  if (answer === undefined) {
    answer = SENSITIVE_NAME.test(name);
    if (known.size < MOST_NAMES) known.set(name, answer);
  }
  return answer;
}

/** Headers as they may be stored: no value that could open a door. */
export function redactHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const shown: Record<string, string> = {};
  for (const name in headers) {
    if (isSensitive(name)) shown[name] = REDACTED;
    else shown[name] = ADDRESSES.has(name) ? redactPath(headers[name]!) : headers[name]!;
  }
  return shown;
}

/**
 * Headers as the log keeps them, as JSON. A client sends the same ones with every call, or nearly: what was written last
 * is mostly what is to be written now.
 */
export class RedactedJson {
  #shown: Readonly<Record<string, string>> = {};
  #count = 0;
  #json = '{}';

  of(headers: Readonly<Record<string, string>>): string {
    if (this.#isLast(headers)) return this.#json;
    this.#shown = redactHeaders(headers);
    this.#count = Object.keys(this.#shown).length;
    this.#json = JSON.stringify(this.#shown);
    return this.#json;
  }

  #isLast(headers: Readonly<Record<string, string>>): boolean {
    let count = 0;
    for (const name in headers) {
      const shown = this.#shown[name];
      if (shown !== headers[name] && !(shown === REDACTED && isSensitive(name))) return false;
      count++;
    }
    return count === this.#count;
  }
}

/** A path, or a whole address, whose query no longer holds keys or signatures. */
export function redactPath(path: string): string {
  const mark = path.indexOf('?');
  if (mark < 0) return path;
  const query = path
    .slice(mark + 1)
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 0) return pair;
      return SENSITIVE_QUERY.test(plain(pair.slice(0, equals))) ? `${pair.slice(0, equals)}=${REDACTED}` : pair;
    });
  return `${path.slice(0, mark)}?${query.join('&')}`;
}

function plain(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
