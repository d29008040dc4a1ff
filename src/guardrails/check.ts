import type * as z from 'zod';
import type { Clock } from '../core/clock.ts';
import type { EndpointType } from '../core/endpoints.ts';
import type { RecheckJwt, VerifyJwt } from '../core/jwt.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import type { Proving } from './proof.ts';

/** Before the request is sent, or before its answer is given on. */
export type Hook = 'input' | 'output';

/** One text of a request or an answer. Images and other media are none. */
export interface TextPart {
  readonly text: string;
  /** Who says it, as the body spells it: `system`, `developer`, `user`, `assistant`, `tool`. */
  readonly role: string;
  /**
   * Arguments of a tool call and results of tools are texts, too, and so are thoughts that are shown. A `name` is what is
   * read and not said: names of tools, people and members, settings, addresses, probabilities.
   */
  readonly kind: 'text' | 'reasoning' | 'tool_call' | 'tool_result' | 'name';
  /** Parts of one message, choice or input share its number; numbers rise. */
  readonly turn: number;
  /** Its place in the body: `messages[2].content[0].text`. */
  readonly where: string;
  /** On the first of the texts that were taken out of one JSON: that JSON. */
  readonly whole?: string;
}

/** What a check may look at. */
export interface Facts {
  readonly on: Hook;
  /** All texts that are judged, in their order: of the request on input, of the answer on output. */
  readonly texts: readonly TextPart[];
  /** What is judged, parsed; null where it is not JSON. */
  readonly json: unknown;
  /** The request, also while its answer is judged. */
  readonly request: { readonly texts: readonly TextPart[]; readonly json: unknown };
  /** The status of the answer; null on input. */
  readonly status: number | null;
  /** The model that the request names. */
  readonly model: string | null;
  readonly endpointType: EndpointType;
  readonly metadata: Readonly<Record<string, string>>;
  /** Of the request, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isStream: boolean;
  readonly provider: string | null;
  /** Where work is accepted, and in the calls of that work; undefined where the caller is at hand. */
  readonly proving?: Proving;
}

/** What a check asks of the outside. */
export interface Ports {
  /** Sends through the egress policy, follows no redirect, gives up after `timeoutMs`; answers are bounded in size. */
  readonly fetch: (
    url: string,
    init: { method: string; headers?: Record<string, string>; body?: string; timeoutMs: number },
  ) => Promise<Response>;
  /** Whether a host's name resolves to an address that the egress policy allows. */
  readonly resolves: (hostname: string, timeoutMs: number) => Promise<boolean>;
  readonly now: Clock;
  readonly verifyJwt: VerifyJwt;
  readonly recheckJwt: RecheckJwt;
  /** Where checks look that would take long; without them they look here. */
  readonly threads?: CheckThreads;
  /** Asks a model through a virtual key of the caller's workspace; its own call passes no guardrail. */
  readonly askModel?: AskModel;
}

/** Threads in which checks look at what would hold the event loop up. */
export interface CheckThreads {
  look(look: Look): Promise<Looked>;
  close(): void;
}

/** What one check is to look at. */
export interface Look {
  /** Whose check it is: owners take turns. */
  readonly owner: string;
  /** The check by its id, with its parameters as they were given, as JSON. */
  readonly prepared: { readonly id: string; readonly given: string; readonly check: Pick<Check, 'load'> };
  readonly on: Hook;
  readonly texts: readonly TextPart[];
}

export interface Looked {
  readonly result: CheckResult;
  /** How long the thread took for it. */
  readonly ms: number;
}

/** Answers with the text of the model's reply; throws when there is none in time. */
export type AskModel = (question: {
  readonly virtualKey: string;
  readonly model: string;
  readonly system: string;
  readonly user: string;
  readonly timeoutMs: number;
}) => Promise<string>;

/** What to put in the place of what was judged: some of its texts, or all of its JSON. */
export type Transformed =
  | { readonly texts: readonly { /** Its index in `facts.texts`. */ readonly part: number; readonly text: string }[] }
  | { readonly json: unknown };

export interface CheckResult {
  /** Whether it passes. It counts whatever `error` says: a check that failed to look answers false. */
  readonly verdict: boolean;
  /**
   * For the log, for the caller who wrote the guardrail, and as far as `tells` says for every other caller. It never
   * quotes the text: a denied answer must not leave this way.
   */
  readonly data: Readonly<Record<string, unknown>> | null;
  /** For the log alone; may quote the text. */
  readonly log?: unknown;
  readonly transformed?: Transformed;
  /** To set on the request, by lower-case name; null takes one away. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** Why it could not be found out; every caller sees it, so it says nothing of the parameters. */
  readonly error?: string;
}

/** How many characters (UTF-16 units) of a stream have to be seen together. */
export type Span = number | 'whole';

/**
 * A check looks at a request or an answer and says whether it passes. It keeps nothing between two looks.
 *
 *     const shout = check({
 *       id: 'default.shout',
 *       passes: 'some text ends with an exclamation mark',
 *       on: ['input', 'output'],
 *       span: 'whole',
 *       parameters: () => z.strictObject({}),
 *       run: ({ texts }) => ({ verdict: texts.some(({ text }) => text.endsWith('!')), data: null }),
 *     });
 */
export interface Check<Parameters = unknown> {
  readonly id: string;
  /** Other ids it answers to. */
  readonly aliases?: readonly string[];
  /** Completes "Passes when …"; the documentation shows it. */
  readonly passes: string;
  readonly on: readonly Hook[];
  /** `whole` where a part of the text cannot be judged alone; such a check cannot guard a stream in windows. */
  readonly span: Span | ((parameters: Parameters) => Span);
  /**
   * What it has to see: `texts` unless said otherwise, so that it cannot judge what is not text; `body`, which it takes as
   * it is; or nothing but the `call` around it (headers, metadata, model).
   */
  readonly judges?: 'texts' | 'body' | 'call';
  /**
   * It judges what only the caller's own request carries. Work that goes on without the caller is judged by it when it is
   * accepted, and its later calls by what was proven then: `facts.proving`.
   */
  readonly proves?: true;
  /** Whether it may put something else in the place of what it judges, so that a stream has to wait for it. */
  readonly transforms?: boolean | ((parameters: Parameters) => boolean);
  /**
   * Members of `data` that a caller sees of a guardrail that is not the caller's own: what was found in the caller's own
   * request, never what the operator asks for (words, patterns, schemas, criteria). Nothing, unless it says so.
   */
  readonly tells?: readonly string[] | 'all';
  /**
   * About how many microseconds a look at texts of this size takes. Given by those that look at nothing but texts, hook and
   * clock, and wait for nothing outside: they look in a thread when it would be long, and once when the same is asked twice.
   */
  readonly effort?: (parameters: Parameters, characters: number) => number;
  /**
   * Loads what it needs and what is too large for the memory of every gateway. Such a check looks in a thread, however short
   * the text is, and the time that loading takes is not counted.
   */
  readonly load?: () => Promise<unknown>;
  /** From what is stored to what `run` takes. Parsed once per guardrail, not per call: patterns are compiled here. */
  readonly parameters: () => z.ZodType<Parameters>;
  /** Parameters that are stored sealed and shown masked. */
  readonly secrets?: readonly string[];
  /** Addresses it will call, to be held against the egress policy when it is saved. */
  readonly addresses?: (parameters: Parameters) => readonly string[];
  run(facts: Facts, parameters: Parameters, ports: Ports): NowOrLater<CheckResult>;
}

/** Gives `run` the type of what its schema makes, and hides it from those who hold checks of all kinds. */
export const check = <Schema extends z.ZodType>(
  one: Omit<Check<z.output<Schema>>, 'parameters'> & { readonly parameters: () => Schema },
): Check => one as unknown as Check;

export const spanOf = ({ span }: Check, parameters: unknown): Span =>
  typeof span === 'function' ? span(parameters) : span;

export const mayTransform = ({ transforms = false }: Check, parameters: unknown): boolean =>
  typeof transforms === 'function' ? transforms(parameters) : transforms;

/** So many microseconds for each character. */
export const perCharacter =
  (microseconds: number) =>
  (_parameters: unknown, characters: number): number =>
    characters * microseconds;

/** The check could not look, so what it looks at does not pass. */
export const errored = (error: string): CheckResult => ({ verdict: false, data: null, error });
