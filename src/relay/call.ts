import type { CallLog } from '../core/call-log.ts';
import type { ClientForm, EndpointType } from '../core/endpoints.ts';
import type { Principal } from '../core/principal.ts';
import type { Usage } from '../core/usage.ts';
import type { CallName, CallThoughts } from '../dialects/lost-thoughts.ts';
import type { FetchedFile } from '../dialects/remote-media.ts';
import type { Proven } from '../guardrails/proof.ts';
import type { ArrivingBody } from '../http/arriving.ts';
import type { SentHeaders } from '../http/headers.ts';
import type { Incoming } from '../http/upstream.ts';
import type { TokenEstimate } from '../limits/estimate.ts';
import type { Admission } from '../limits/limiter.ts';
import type { Lead } from '../routing/cache.ts';
import type { TargetSettings } from '../routing/plan.ts';
import type { BodyWords } from './body-words.ts';
import type { Guarding } from './guarding/exchange-guard.ts';
import type { KeptResponse } from './kept-response.ts';
import type { Target } from './target.ts';

/** One model call as it came in. */
export interface ModelCall {
  readonly request: Request;
  readonly headers: SentHeaders;
  /** What the answer carries beside the provider's headers. */
  readonly stamp: SentHeaders;
  readonly endpoint: EndpointType;
  /** The path after `/v1`. */
  readonly path: string;
  /** The query with its question mark, or nothing. */
  readonly search: string;
  readonly principal: Principal;
  /** The credential the caller brought for the provider. */
  readonly providerKey: string | null;
  /** Whether the model of a body may name a virtual key, as `@slug/name` or `slug/name`; the provider then gets the name. */
  readonly readsModel: boolean;
  /** Made by a guardrail itself, and so judged by none. */
  readonly isUnguarded?: boolean;
  /** Of a call that work makes without its caller: what was proven when the work was accepted. */
  readonly proven?: Proven;
  /** Made by the gateway without its caller, and made again where it fails: a line of a batch, a step of a run. */
  readonly isWork?: true;
  /** One round of a response whose tools the gateway runs. */
  readonly isRound?: true;
  /**
   * Of a call that serves a tool: the headers of the request whose tool it is. Guardrails look at them, and those of its config
   * hold for this call, too; no provider gets them.
   */
  readonly inServiceOf?: SentHeaders;
  /** Types of tools in it that run here where the provider has none. */
  readonly standingBy?: ReadonlySet<string>;
  /** The wish for usage in the body is not a client's: a server that refuses it is asked again without it. */
  readonly hopesForUsage?: true;
  /** What the address says of the call. Everything else looks for it in the body, so it is put there. */
  readonly inAddress?: InAddress;
  /** The client's format streams where its body does not say otherwise. */
  readonly streamsByDefault?: true;
  /** Set where a client asks for this endpoint in a format of Google's or Ollama's. */
  readonly form?: ClientForm;
  /** Of a conversation in real time that is not in OpenAI's dialect. */
  readonly tongue?: 'gemini';
  /** Asks the provider in another way than by a request: on a WebSocket that is open. */
  readonly line?: AskOnLine;
  /** What it may take at most, where the body does not tell. */
  readonly expects?: TokenEstimate;
  readonly log: CallLog;
}

/** Asks on a line that is open, once the call may run. The answer is judged before the client gets it where `isJudged`. */
export type AskOnLine = (asked: {
  readonly isJudged: boolean;
  readonly admission: Admission;
  /** As guardrails have left it. */
  readonly body: Uint8Array | null;
}) => Promise<Incoming>;

export interface InAddress {
  readonly model: string;
  /** Whether the answer is a stream; absent where the body says so. */
  readonly stream?: boolean;
  /** Which model counts where the body names another one: the address's, or none, and the call is refused. */
  readonly onConflict: 'address' | 'refuse';
}

/** A request body on its way: all of it, or a stream that is never held in memory. */
export type Body = Uint8Array | ReadableStream<Uint8Array> | null;

/** What was read of a body before it is known where it goes. */
export interface Opening {
  readonly head: Uint8Array;
  /** What follows the head; null when the head is all. */
  readonly rest: ArrivingBody | null;
  /** Looks at what follows the head; it has seen the head. */
  readonly watch?: BodyWatch;
  /** What was found in the head as it arrived; absent once the head is another. */
  readonly words?: BodyWords;
}

/** Counts what must not stand in the pieces that pass. */
export interface BodyWatch {
  push(piece: Uint8Array): number;
}

/** A call whose body has been opened. */
export interface OpenCall extends ModelCall {
  readonly body: Opening | null;
  readonly isJson: boolean;
  /** How many bytes longer the body is than the client declared. */
  readonly grownBy: number;
  /** The model of the body, as the body says it. */
  readonly named: string | null;
  /** The model that the client asked for, before anything else was decided. */
  readonly asked: string | null;
  /** The virtual key that stood before the model, in `model: "@slug/name"`. */
  readonly slug: string | null;
  /** What the answer says of how its provider was found. */
  readonly foundBy: SentHeaders | null;
  /** The config that was asked for, where one was. */
  readonly config: string | null;
  /** The model that the address names, whatever the body says. */
  readonly addressed: string | null;
  /** Files that were fetched for a provider that does not fetch. */
  readonly files?: ReadonlyMap<string, FetchedFile>;
  /** Thoughts that were kept for a client that does not send them back, by the ids of the calls they belong to. */
  readonly thoughts?: ReadonlyMap<string, CallThoughts>;
  /** For a response that the gateway keeps because the provider does not. */
  readonly kept?: KeptResponse | null;
}

/** Whom to ask, how, and under which name the answer says so. */
export interface Attempt {
  readonly target: Target;
  readonly settings: TargetSettings;
  /** `config`, `config.targets[1]`. */
  readonly path: string;
}

/** A call made ready for one target: where it goes, with which body, and how the answer is read. */
export interface Prepared {
  readonly path: string;
  readonly search: string;
  readonly body: Opening | null;
  /** How many bytes longer the body is than the client declared. */
  readonly grownBy: number;
  /** Null: the bytes go both ways as they are. */
  readonly translation: Translation | null;
  /** Calls of tools that came without the thoughts which the provider may want back. */
  readonly bareCalls?: readonly CallName[];
  /** The answer, where the gateway has it without the provider. */
  readonly here?: () => Promise<Incoming>;
  /** The model is asked for JSON in words, so `answer` may throw `UnfitAnswer`. */
  readonly isChecked?: true;
  /** The body without the wish for usage that the gateway added, for a server that does not know it. */
  readonly unasked?: () => Uint8Array;
}

/** Told what an answer took, and which model says so where that is known. */
export type Report = (usage: Usage, model?: string | null) => void;

/** What a target of another dialect needs beside the body, and how its answer becomes one that the client knows. */
export interface Translation {
  readonly headers: Readonly<Record<string, string>>;
  readonly notes: Readonly<Record<string, string>>;
  answer(incoming: Incoming, report: Report): Promise<Incoming>;
}

/** A call for one target in the client's words, and who judges it. */
export interface Edited {
  /** As its config and its guardrails have left it. */
  readonly call: OpenCall;
  /** Null: no guardrail holds here. */
  readonly guarding: Guarding | null;
}

/** A call that one target can be asked. */
export interface Ready extends Edited {
  /** In the target's words, as far as the call tells them; what it may take is estimated from this. */
  readonly prepared: Prepared;
  /** Fetches what the call does not hold itself, when it may run. Null: it lacks nothing. */
  readonly supply: (() => Promise<Prepared>) | null;
  /** Called with the answer that has passed the guardrails. */
  readonly onPassed?: OnPassed;
}

/** Called with what has passed, before the client sees it. */
export type OnPassed = (bytes: Uint8Array, type: string) => Promise<void>;

/** A call that may run: what goes out, what the limits hold for it, and what its answer will say. */
export interface Exchange extends Attempt {
  readonly call: OpenCall;
  readonly guarding: Guarding | null;
  readonly onPassed?: OnPassed;
  /** All of it, when the target is asked. */
  prepared: Prepared;
  /** What is held for the request that is under way; what was held for one before it has been settled. */
  admission: Admission;
  /** The model was asked once more, because its first answer was not the JSON that was asked for. */
  isRepair: boolean;
  /** Set when this call gets the answer for others that wait: it tells the cache how it went. */
  turn: Lead | null;
  /** It goes out in another dialect than the client's. */
  isTranslated: boolean;
  /** What the gateway says about the answer, beside the provider's headers. */
  readonly notes: Record<string, string>;
}

/** A target's answer as the client gets it, its body unread. */
export interface Attempted {
  readonly status: number;
  readonly incoming: Incoming;
  /** What the gateway says about it, beside the provider's headers. */
  readonly notes: SentHeaders;
  discard(): void;
}
