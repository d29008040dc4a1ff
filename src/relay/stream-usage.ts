import { includesBytes } from '../core/bytes.ts';
import { findMembers } from '../core/json-bytes.ts';
import { type Incoming, receivedHeaders } from '../http/upstream.ts';
import { quirksOf } from '../providers/chat.ts';
import { hasRefusedStreamOptions, learnRefusedStreamOptions } from '../providers/learned-refusals.ts';
import { applyParams, compileParams, setMember } from '../routing/params.ts';
import { keepUpTo } from './body.ts';
import { mayNameStream } from './body-words.ts';
import type { Exchange, Opening, Prepared } from './call.ts';
import { held, wholeAnswer } from './rewritten.ts';
import { withoutUsage } from './usage-filter.ts';

/**
 * An OpenAI stream tells its usage only when asked to. The gateway asks, whatever the client said, and takes what is said
 * because of that out again for a client that did not want it. Not below `/proxy`, where bytes stay bytes.
 */
export async function askForUsage(exchange: Exchange): Promise<Prepared> {
  const { call, prepared } = exchange;
  const { body } = prepared;
  if (call.endpoint !== 'chatComplete' && call.endpoint !== 'complete') return prepared;
  if (!body || !call.isJson) return prepared;
  // Whether it streams may stand in what was not read.
  if (!body.rest) return withWish(exchange, prepared, body);
  const read = await keepUpTo(body);
  const whole = { ...prepared, body: read };
  return read.rest ? whole : withWish(exchange, whole, read);
}

function withWish(exchange: Exchange, prepared: Prepared, body: Opening): Prepared {
  if (!mayStream(body)) return prepared;
  const given = body.head;
  const options = streamOptions(given);
  if (options === 'asked' && exchange.call.hopesForUsage) return withHope(exchange, prepared, given);
  // A client that asked for it once, and not twice in two ways, gets what the provider says.
  if (options === null || options === 'asked' || isRefused(exchange)) return prepared;
  const head = setMember(given, 'stream_options', JSON.stringify({ ...options, include_usage: true }));
  return {
    ...prepared,
    body: { head, rest: null },
    grownBy: prepared.grownBy + head.byteLength - given.byteLength,
    unasked: () => given,
    translation: {
      headers: { 'accept-encoding': 'identity' },
      notes: {},
      answer: async (incoming, report) => withoutUsage(incoming, report),
    },
  };
}

const WISH = compileParams({ drop_params: ['stream_options'] })!;

/** A call of the gateway's own that says the wish itself, reads what is told, and can do without. */
function withHope(exchange: Exchange, prepared: Prepared, given: Uint8Array): Prepared {
  if (!isRefused(exchange)) return { ...prepared, unasked: () => applyParams(given, WISH) };
  const head = applyParams(given, WISH);
  return { ...prepared, body: { head, rest: null }, grownBy: prepared.grownBy + head.byteLength - given.byteLength };
}

/** Which of two members of that name counts is the provider's to choose. */
const mayStream = (body: Opening): boolean =>
  mayNameStream(body) && findMembers(body.head, 'stream').some(({ start }) => body.head[start] === 't'.charCodeAt(0));

/** What the client says of its stream. Null: it is nothing that could be added to. */
function streamOptions(body: Uint8Array): Record<string, unknown> | 'asked' | null {
  const members = findMembers(body, 'stream_options');
  const member = members.at(-1);
  if (!member) return {};
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body.subarray(member.start, member.end)));
    if (value === null) return {};
    if (typeof value !== 'object' || Array.isArray(value)) return null;
    const options = value as Record<string, unknown>;
    return options.include_usage === true && members.length === 1 ? 'asked' : options;
  } catch {
    return null;
  }
}

/** Whether the target is known not to take the wish for usage: by its provider, or because it has refused it lately. */
function isRefused({ call, target, prepared }: Exchange): boolean {
  const { provider, options } = target;
  const { model } = call.log;
  const quirks = provider.chat
    ? provider.chat({ model: model ?? '', stream: true, options }).quirks
    : quirksOf(provider, options);
  return quirks?.refusesStreamOptions === true || hasRefusedStreamOptions(target, model, prepared);
}

const NAMES = ['stream_options', 'include_usage'].map((name) => Buffer.from(name));

/**
 * The answer to a call for which the gateway has added its wish for usage. A server that does not know the wish is asked
 * again without it, and the client does not see its refusal. That is remembered only once the same call has streamed
 * without the wish: a client could bring about a refusal by other means.
 */
export async function againIfRefused(
  exchange: Exchange,
  refusal: Incoming,
  again: (body: Uint8Array) => Promise<Incoming>,
): Promise<Incoming> {
  const { call, target, prepared } = exchange;
  const { status } = refusal;
  if (!prepared.unasked || (status !== 400 && status !== 422)) return refusal;
  const text = await wholeAnswer(refusal, target.provider.name);
  if (!NAMES.some((name) => includesBytes(text, name))) return held(refusal, text);
  const answer = await again(prepared.unasked());
  if (answer.status === 200 && (receivedHeaders(answer)['content-type'] ?? '').startsWith('text/event-stream'))
    learnRefusedStreamOptions(target, call.log.model, prepared);
  return answer;
}
