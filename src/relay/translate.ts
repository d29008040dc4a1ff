import { fail } from '../core/errors.ts';
import type { Usage } from '../core/usage.ts';
import type { Dialect, Outbound } from '../dialects/dialect.ts';
import { jsonWay, repairing } from '../dialects/json-ways.ts';
import { type CallName, type CallThoughts, callsWithoutThoughts, withThoughts } from '../dialects/lost-thoughts.ts';
import { plainTools } from '../dialects/plain-tools.ts';
import { type FetchedFile, needsFetch, withFetched } from '../dialects/remote-media.ts';
import type { ServerSentEvent } from '../dialects/sse.ts';
import type { Incoming } from '../http/upstream.ts';
import { jsonCheck } from './json-check.ts';
import type { KeptResponse } from './kept-response.ts';
import { MediaWanted } from './remote-media.ts';
import { jsonBytes, notesOf, parsedRequest } from './rewritten.ts';
import { answer, isForgetful } from './translated-answer.ts';

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
  /** The model is asked for JSON in words, so `answer` may throw `UnfitAnswer`. */
  readonly isChecked?: true;
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
  /** Types of tools that run here where the provider has none. */
  readonly standingBy?: ReadonlySet<string> | undefined;
  /** What the provider cannot be told is left out and named, and not refused. */
  readonly dropsUnsayable: boolean;
  readonly provider: string;
  /** The wish for usage in the body can be done without. */
  readonly hopesForUsage?: true;
  /** What the provider's address demands of a body. */
  readonly forAddress: (body: Uint8Array) => Uint8Array;
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
  const plain = plainTools(kept ? kept.asked(request) : request, to.name, options.standingBy);
  const json = jsonWay(plain.request, to.name, quirks);
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
  const isClients = from.name === 'openai-chat' && request.includeUsage === true && !options.hopesForUsage;
  const isWished = to.name === 'openai-chat' && request.stream === true && !isClients;
  const { checked } = json;
  const path = request.origin?.names.responseFormat ?? 'response_format';
  const check = checked && {
    faultIn: jsonCheck(checked, path, provider),
    repair: (text: string, fault: string) =>
      options.forAddress(jsonBytes(outbound.encodeRequest(repairing(complete, text, fault), quirks).body)),
  };
  const unasked = () => jsonBytes(outbound.encodeRequest(complete, { ...quirks, refusesStreamOptions: true }).body);
  return {
    body: jsonBytes(encoded.body),
    ...(isWished && { unasked }),
    ...(check && { isChecked: true as const }),
    headers: encoded.headers ?? {},
    notes: notesOf({
      dropped: [...plain.dropped, ...encoded.dropped],
      changed: [...plain.changed, ...json.changed, ...encoded.changed],
    }),
    isStream: request.stream === true,
    bareCalls,
    answer: (incoming, report) =>
      answer(incoming, report, {
        ...{ request, inbound, outbound, options, check },
        known: plain.known,
        isJsonCall: json.isCalled,
        unfencing: null,
      }),
  };
}
