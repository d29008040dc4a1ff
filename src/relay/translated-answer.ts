import { fail } from '../core/errors.ts';
import type { Usage } from '../core/usage.ts';
import type { Inbound, Outbound } from '../dialects/dialect.ts';
import { Fold } from '../dialects/fold.ts';
import { FramingError } from '../dialects/framing-error.ts';
import type { ModelReply, ModelRequest } from '../dialects/ir.ts';
import { jsonEvent, withJsonText } from '../dialects/json-tool.ts';
import { KnownCalls, withKnownCalls } from '../dialects/known-calls.ts';
import { ThoughtWatch, thoughtsIn } from '../dialects/lost-thoughts.ts';
import type { PlainTools } from '../dialects/plain-tools.ts';
import { finalResponse } from '../dialects/responses/kept.ts';
import { formatSse, type ServerSentEvent, SseParser } from '../dialects/sse.ts';
import { headersOf } from '../http/headers.ts';
import type { Incoming } from '../http/upstream.ts';
import { fencedIn, type JsonCheck, Unfencing, UnfitAnswer, unfitIn } from './json-check.ts';
import {
  held,
  jsonBytes,
  LARGEST_ANSWER,
  parsedReply,
  refuseShape,
  replaced,
  rewrittenFields,
  tooLarge,
  wholeAnswer,
} from './rewritten.ts';
import type { TranslateOptions } from './translate.ts';

/** Whether the provider signs thoughts and the client does not send them back. */
export const isForgetful = ({ from, to }: TranslateOptions): boolean =>
  from.inbound?.losesThoughts === true && to.outbound?.signsThoughts === true;

/** What an answer is read and written with. */
export interface Sides {
  readonly request: ModelRequest;
  readonly inbound: Inbound;
  readonly outbound: Outbound;
  readonly options: TranslateOptions;
  /** Tools that were sent as functions of these names. */
  readonly known: PlainTools['known'];
  /** The answer is what a function was called with. */
  readonly isJsonCall: boolean;
  /** Set where the model was asked for JSON in words. */
  readonly check: { readonly faultIn: JsonCheck; repair(text: string, fault: string): Uint8Array } | null;
  /** Set where checked JSON stands in code fences. */
  readonly unfencing: Unfencing | null;
}

/** The provider's answer as the client understands it. */
export async function answer(incoming: Incoming, report: (usage: Usage) => void, sides: Sides): Promise<Incoming> {
  const { status } = incoming;
  if (status >= 400) return refusal(incoming, sides);
  if (status === 204 || status >= 300) {
    incoming.cancel();
    return fail('upstream_failed', sides.options.provider, `its status ${status} comes without an answer`);
  }
  if (sides.check) return checkedAnswer(incoming, report, sides, sides.check);
  return sides.request.stream ? stream(incoming, report, sides) : whole(incoming, report, sides);
}

/** Holds an answer back until all of it is there and is the JSON that was asked for. Throws `UnfitAnswer` when it is not. */
async function checkedAnswer(
  incoming: Incoming,
  report: (usage: Usage) => void,
  sides: Sides,
  { faultIn, repair }: NonNullable<Sides['check']>,
): Promise<Incoming> {
  const { provider } = sides.options;
  const { stream: isStream } = sides.request;
  const bytes = await wholeAnswer(incoming, provider);
  const reply = isStream ? folded(bytes, sides) : read(sides, parsedReply(bytes, provider));
  const unfit = reply && unfitIn(reply, faultIn);
  if (unfit) {
    if (reply.usage) report(reply.usage);
    throw new UnfitAnswer(unfit.fault, repair(unfit.text, unfit.fault));
  }
  const fenced = reply ? fencedIn(reply) : new Map<number, string>();
  const plain = { ...sides, unfencing: fenced.size > 0 ? new Unfencing(fenced) : null };
  const again = held(incoming, bytes);
  return isStream ? stream(again, report, plain, reply?.usage) : whole(again, report, plain);
}

/** A stream that is whole; null when it broke off, which the client sees where it did. */
function folded(bytes: Uint8Array, { options, outbound }: Sides): ModelReply | null {
  const parser = options.framing?.() ?? sseFraming();
  const decoder = outbound.decodeStream();
  const fold = new Fold();
  for (const event of [...parser.push(bytes), ...parser.end()]) for (const each of decoder.push(event)) fold.push(each);
  for (const each of decoder.end()) fold.push(each);
  const { reply, failure } = fold.result();
  return failure ? null : reply;
}

const contextOf = ({ request, options }: Sides) => ({
  request,
  id: options.kept?.id ?? options.requestId,
  now: options.now(),
  isStrict: options.isStrict,
  showsThoughts: options.showsThoughts,
});

async function refusal(incoming: Incoming, { inbound, outbound, options }: Sides): Promise<Incoming> {
  const bytes = await wholeAnswer(incoming, options.provider);
  refuseShape(bytes, options.provider);
  const text = new TextDecoder().decode(bytes);
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Some refusals are pages of a load balancer.
  }
  const encoded = inbound.encodeError(outbound.decodeError(incoming.status, body));
  return replaced(incoming, { status: encoded.status, type: 'application/json', bytes: jsonBytes(encoded.body) });
}

async function whole(incoming: Incoming, report: (usage: Usage) => void, sides: Sides): Promise<Incoming> {
  const { provider } = sides.options;
  const reply = read(sides, parsedReply(await wholeAnswer(incoming, provider), provider));
  if (reply.usage) report(reply.usage);
  if (isForgetful(sides.options))
    await sides.options.keepThoughts?.(reply.choices.flatMap(({ parts }) => thoughtsIn(parts)));
  const { body } = sides.inbound.encodeReply(asKnown(reply, sides), contextOf(sides));
  const { kept } = sides.options;
  if (kept) await kept.keep(sides.request, { ...body, id: kept.id });
  return replaced(incoming, { status: incoming.status, type: 'application/json', bytes: jsonBytes(body) });
}

const asKnown = (reply: ModelReply, { known, isJsonCall, unfencing }: Sides): ModelReply =>
  isJsonCall ? withJsonText(reply) : withKnownCalls(unfencing?.reply(reply) ?? reply, known);

function read({ outbound, options }: Sides, body: unknown) {
  try {
    return outbound.decodeReply(body);
  } catch (error) {
    if (error instanceof FramingError) fail('upstream_failed', options.provider, error.message);
    throw error;
  }
}

/** Each piece of the provider's stream becomes the events it completes; a piece that completes none waits for the next. */
function stream(incoming: Incoming, report: (usage: Usage) => void, sides: Sides, counted: Usage = {}): Incoming {
  const parser = sides.options.framing?.() ?? sseFraming();
  const decoder = sides.outbound.decodeStream();
  const encoder = sides.inbound.encodeStream(contextOf(sides));
  const calls = sides.known.size > 0 ? new KnownCalls(sides.known) : null;
  let usage = counted;
  const { kept } = sides.options;
  let finished: ReturnType<typeof finalResponse> = null;
  const watch = isForgetful(sides.options) && sides.options.keepThoughts ? new ThoughtWatch() : null;
  let isOver = false;
  let size = 0;
  /** What one piece has become so far. */
  let text = '';
  const send = (out: readonly ServerSentEvent[]) => {
    for (const event of out) {
      text += formatSse(event);
      if (kept) finished ??= finalResponse(event);
    }
  };
  const pass = (replyEvents: ReturnType<typeof decoder.push>) => {
    for (const event of sides.unfencing ? replyEvents.flatMap((each) => sides.unfencing!.push(each)) : replyEvents) {
      if (event.type === 'usage') usage = { ...usage, ...event.usage };
      watch?.push(event);
      if (sides.isJsonCall) for (const said of jsonEvent(event)) send(encoder.push(said));
      else if (calls) for (const known of calls.push(event)) send(encoder.push(known));
      else send(encoder.push(event));
    }
  };
  const translated = (events: readonly ServerSentEvent[], isEnd: boolean): string => {
    text = '';
    for (const event of events) pass(decoder.push(event));
    if (isEnd) {
      pass(decoder.end());
      for (const known of calls?.end() ?? []) send(encoder.push(known));
      send(encoder.end());
      report(usage);
    }
    return text;
  };
  const fields = rewrittenFields(incoming, 'text/event-stream; charset=utf-8');
  return {
    status: incoming.status,
    statusText: '',
    fields,
    get headers() {
      return headersOf(fields);
    },
    read: async () => {
      while (!isOver) {
        const piece = await incoming.read();
        isOver = piece === null;
        // Parts of it are held until it ends.
        size += piece?.byteLength ?? 0;
        if (size > LARGEST_ANSWER) {
          incoming.cancel();
          throw new FramingError(tooLarge);
        }
        const said = piece ? translated(parser.push(piece), false) : translated(parser.end(), true);
        if (finished) {
          await kept!.keep(sides.request, finished);
          finished = null;
        }
        const thoughts = watch?.take();
        if (thoughts && thoughts.length > 0) await sides.options.keepThoughts!(thoughts);
        if (said !== '') return utf8.encode(said);
      }
      return null;
    },
    bytes: () => Promise.reject(new Error('a translated stream is read piece by piece')),
    cancel: () => {
      if (!isOver) report(usage);
      incoming.cancel();
    },
  };
}

/** Bytes of their own: `Buffer` cuts them from a larger one, which must then be kept in sight. */
const utf8 = new TextEncoder();

function sseFraming() {
  const parser = new SseParser();
  return { push: (piece: Uint8Array) => parser.push(piece), end: () => parser.end() };
}
