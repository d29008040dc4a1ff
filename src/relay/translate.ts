import { fail } from '../core/errors.ts';
import type { Usage } from '../core/usage.ts';
import type { Dialect, Inbound, Outbound } from '../dialects/dialect.ts';
import { FramingError } from '../dialects/framing-error.ts';
import type { ModelReply, ModelRequest } from '../dialects/ir.ts';
import { jsonByTool, jsonEvent, withJsonText } from '../dialects/json-tool.ts';
import { KnownCalls, withKnownCalls } from '../dialects/known-calls.ts';
import {
  type CallName,
  type CallThoughts,
  callsWithoutThoughts,
  ThoughtWatch,
  thoughtsIn,
  withThoughts,
} from '../dialects/lost-thoughts.ts';
import { type PlainTools, plainTools } from '../dialects/plain-tools.ts';
import { type FetchedFile, needsFetch, withFetched } from '../dialects/remote-media.ts';
import { finalResponse } from '../dialects/responses/kept.ts';
import { formatSse, type ServerSentEvent, SseParser } from '../dialects/sse.ts';
import { headersOf } from '../http/headers.ts';
import type { Incoming } from '../http/upstream.ts';
import type { KeptResponse } from './kept-response.ts';
import { MediaWanted } from './remote-media.ts';
import {
  jsonBytes,
  LARGEST_ANSWER,
  notesOf,
  parsedReply,
  parsedRequest,
  refuseShape,
  replaced,
  rewrittenFields,
  tooLarge,
  wholeAnswer,
} from './rewritten.ts';

/** A call in the provider's words, and how its answer becomes one in the client's. */
export interface Translated {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** What the client must hear about: what was left out or said in another way. */
  readonly notes: Readonly<Record<string, string>>;
  readonly isStream: boolean;
  /** Calls of tools whose thoughts the client did not send back, and which the provider may want. */
  readonly bareCalls: readonly CallName[];
  /** The body without the wish for usage, where the client did not utter it. */
  readonly unasked?: () => Uint8Array;
  /** The provider's answer as the client understands it. */
  answer(incoming: Incoming, report: (usage: Usage) => void): Promise<Incoming>;
}

export interface TranslateOptions {
  readonly from: Dialect;
  readonly to: Dialect;
  readonly quirks?: Parameters<Outbound['encodeRequest']>[1];
  readonly requestId: string;
  readonly now: () => number;
  readonly isStrict: boolean;
  readonly showsThoughts: boolean;
  /** What the provider cannot be told is left out and named, and not refused. */
  readonly dropsUnsayable: boolean;
  readonly provider: string;
  /** Files by their addresses, where the provider takes only the files. */
  readonly files?: ReadonlyMap<string, FetchedFile>;
  /** Thoughts that the client did not send back, by the ids of the calls that they belong to. */
  readonly thoughts?: ReadonlyMap<string, CallThoughts>;
  /** Keeps what the client will not send back. */
  readonly keepThoughts?: (thoughts: readonly CallThoughts[]) => Promise<void>;
  /** A response whose conversation the gateway keeps. */
  readonly kept?: KeptResponse | null;
  /** Turns the provider's stream into events. Default: server-sent events. */
  readonly framing?: () => { push(piece: Uint8Array): readonly ServerSentEvent[]; end(): readonly ServerSentEvent[] };
}

/** Reads the client's body and writes the provider's. Throws when something that matters cannot be said. */
export function translate(body: Uint8Array, options: TranslateOptions): Translated {
  const { from, to, quirks, provider } = options;
  const inbound = from.inbound!;
  const outbound = to.outbound!;
  const { kept } = options;
  const request = inbound.decodeRequest(kept ? kept.body : parsedRequest(body));
  const plain = plainTools(kept ? kept.asked(request) : request, to.name);
  const json = jsonByTool(plain.request, to.name);
  const whole = json.request;
  // Usage is wanted for every stream, whether or not the client asked for it.
  const counted = request.stream ? { ...whole, includeUsage: true } : whole;
  const bareCalls = isForgetful(options) && !options.thoughts ? callsWithoutThoughts(whole) : [];
  const asked = options.thoughts ? withThoughts(counted, options.thoughts, to.name) : counted;
  const complete = options.files ? withFetched(asked, options.files) : asked;
  const encoded = outbound.encodeRequest(complete, quirks);
  const wanted = options.files ? [] : needsFetch(encoded);
  if (wanted.length > 0) throw new MediaWanted(wanted, bareCalls);
  const refused = options.dropsUnsayable ? undefined : encoded.dropped.find(({ matters }) => matters);
  if (refused) fail('not_expressible', refused.path, provider, refused.why);
  const isClients = from.name === 'openai-chat' && request.includeUsage === true;
  const isWished = to.name === 'openai-chat' && request.stream === true && !isClients;
  const unasked = () => jsonBytes(outbound.encodeRequest(complete, { ...quirks, refusesStreamOptions: true }).body);
  return {
    body: jsonBytes(encoded.body),
    ...(isWished && { unasked }),
    headers: encoded.headers ?? {},
    notes: notesOf({
      dropped: [...plain.dropped, ...encoded.dropped],
      changed: [...plain.changed, ...json.changed, ...encoded.changed],
    }),
    isStream: request.stream === true,
    bareCalls,
    answer: (incoming, report) =>
      answer(incoming, report, { request, inbound, outbound, options, known: plain.known, isJsonCall: json.isCalled }),
  };
}

/** Whether the provider signs thoughts and the client does not send them back. */
const isForgetful = ({ from, to }: TranslateOptions): boolean =>
  from.inbound?.losesThoughts === true && to.outbound?.signsThoughts === true;

interface Sides {
  readonly request: ModelRequest;
  readonly inbound: Inbound;
  readonly outbound: Outbound;
  readonly options: TranslateOptions;
  /** Tools that were sent as functions of these names. */
  readonly known: PlainTools['known'];
  /** The answer is what a function was called with. */
  readonly isJsonCall: boolean;
}

async function answer(incoming: Incoming, report: (usage: Usage) => void, sides: Sides): Promise<Incoming> {
  const { status } = incoming;
  if (status >= 400) return refusal(incoming, sides);
  if (status === 204 || status >= 300) {
    incoming.cancel();
    return fail('upstream_failed', sides.options.provider, `its status ${status} comes without an answer`);
  }
  return sides.request.stream ? stream(incoming, report, sides) : whole(incoming, report, sides);
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

const asKnown = (reply: ModelReply, { known, isJsonCall }: Sides): ModelReply =>
  isJsonCall ? withJsonText(reply) : withKnownCalls(reply, known);

function read({ outbound, options }: Sides, body: unknown) {
  try {
    return outbound.decodeReply(body);
  } catch (error) {
    if (error instanceof FramingError) fail('upstream_failed', options.provider, error.message);
    throw error;
  }
}

/** Each piece of the provider's stream becomes the events it completes; a piece that completes none waits for the next. */
function stream(incoming: Incoming, report: (usage: Usage) => void, sides: Sides): Incoming {
  const parser = sides.options.framing?.() ?? sseFraming();
  const decoder = sides.outbound.decodeStream();
  const encoder = sides.inbound.encodeStream(contextOf(sides));
  const calls = sides.known.size > 0 ? new KnownCalls(sides.known) : null;
  let usage: Usage = {};
  const { kept } = sides.options;
  let finished: ReturnType<typeof finalResponse> = null;
  const watch = isForgetful(sides.options) && sides.options.keepThoughts ? new ThoughtWatch() : null;
  let isOver = false;
  let size = 0;
  const translated = (events: readonly ServerSentEvent[], isEnd: boolean): string => {
    let text = '';
    const send = (out: readonly ServerSentEvent[]) => {
      for (const event of out) {
        text += formatSse(event);
        if (kept) finished ??= finalResponse(event);
      }
    };
    const pass = (replyEvents: ReturnType<typeof decoder.push>) => {
      for (const event of replyEvents) {
        if (event.type === 'usage') usage = { ...usage, ...event.usage };
        watch?.push(event);
        if (sides.isJsonCall) for (const said of jsonEvent(event)) send(encoder.push(said));
        else if (calls) for (const known of calls.push(event)) send(encoder.push(known));
        else send(encoder.push(event));
      }
    };
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
        const text = piece ? translated(parser.push(piece), false) : translated(parser.end(), true);
        if (finished) {
          await kept!.keep(sides.request, finished);
          finished = null;
        }
        const thoughts = watch?.take() ?? [];
        if (thoughts.length > 0) await sides.options.keepThoughts!(thoughts);
        if (text !== '') return Buffer.from(text);
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

function sseFraming() {
  const parser = new SseParser();
  return { push: (piece: Uint8Array) => parser.push(piece), end: () => parser.end() };
}
