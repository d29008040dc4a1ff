import { BoundedMap } from '../core/bounded-map.ts';
import type { Clock } from '../core/clock.ts';
import { fail, GatewayError } from '../core/errors.ts';
import type { AccessToken, TokenSource } from './provider.ts';

/** A token this close to its end is not handed out: the call it is for takes time too. */
const MARGIN_MS = 60_000;
const MAX_CACHED = 1_000;
const MAX_ANSWER_BYTES = 256 * 1024;
const MAX_REASON_CHARACTERS = 200;

export interface TokenSourceParts {
  /** Sends through the egress policy. */
  readonly send: (url: string, init: RequestInit) => Promise<Response>;
  readonly now: Clock;
}

export function createTokenSource({ send, now }: TokenSourceParts): TokenSource {
  const cached = new BoundedMap<string, AccessToken>(MAX_CACHED);
  const underWay = new Map<string, Promise<string>>();

  function keep(cacheKey: string, token: AccessToken): string {
    cached.set(cacheKey, token);
    return token.value;
  }

  return {
    get(cacheKey, fetchToken) {
      const token = cached.get(cacheKey);
      // Kept anew, so that the least recently used one is dropped first.
      if (token && token.expiresAt - MARGIN_MS > now()) return Promise.resolve(keep(cacheKey, token));
      const waiting = underWay.get(cacheKey);
      if (waiting) return waiting;
      const fetching = Promise.resolve()
        .then(fetchToken)
        .then((fresh) => keep(cacheKey, fresh))
        .finally(() => underWay.delete(cacheKey));
      underWay.set(cacheKey, fetching);
      return fetching;
    },

    async postForm(provider, url, form, headers = {}) {
      const response = await send(url, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json', ...headers },
        body: new URLSearchParams(form).toString(),
        redirect: 'manual',
      }).catch((error: unknown) => {
        if (error instanceof GatewayError) throw error;
        return fail('credential_rejected', provider, `${new URL(url).host} did not answer`);
      });
      const answer = parseObject(await readText(response));
      if (response.ok && answer) return answer;
      const reason = describe(answer) ?? `${new URL(url).host} answered ${response.status}`;
      return fail('credential_rejected', provider, withoutSecrets(reason, form));
    },
  };
}

/** At most a bounded part of the body: a token answer is small, and the other side is not ours. */
async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > MAX_ANSWER_BYTES) break;
      text += decoder.decode(chunk, { stream: true });
    }
  } catch {
    return '';
  }
  return text;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The vendor's own words: OAuth's `error_description` and `error`, or the message AWS and Google nest below. */
function describe(answer: Record<string, unknown> | undefined): string | undefined {
  for (const candidate of [answer?.error_description, answer?.error, answer?.Error, answer?.message]) {
    if (typeof candidate === 'string' && candidate) return candidate;
    if (typeof candidate === 'object' && candidate !== null) {
      const { message, Message } = candidate as Record<string, unknown>;
      const nested = message ?? Message;
      if (typeof nested === 'string' && nested) return nested;
    }
  }
  return undefined;
}

/** A vendor may quote what it was sent. */
function withoutSecrets(reason: string, form: Record<string, string>): string {
  let clean = reason;
  for (const name of ['client_secret', 'assertion', 'client_assertion']) {
    const value = form[name];
    if (value) clean = clean.replaceAll(value, '[secret]');
  }
  return clean
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .replace(/\.+$/, '')
    .slice(0, MAX_REASON_CHARACTERS);
}
