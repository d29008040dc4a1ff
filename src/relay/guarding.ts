import { fail } from '../core/errors.ts';
import { packHookResults } from '../core/hook-results.ts';
import type { Hook, Ports } from '../guardrails/check.ts';
import { type Guardrail, holdsStreams } from '../guardrails/guardrail.ts';
import { type BodyHead, EMPTY, type Reading, readBody } from '../guardrails/reading.ts';
import { type Judged, judge } from '../guardrails/run.ts';
import { Unreadable } from '../guardrails/texts.ts';
import {
  GuardrailDenied,
  type HookResult,
  type HookResults,
  isDenied,
  isFailed,
  toldToCaller,
} from '../guardrails/verdict.ts';
import type { Incoming } from '../http/upstream.ts';
import type { GuardedCall } from './guard.ts';
import { type GuardedAnswerOptions, guardAnswer } from './guarded-answer.ts';
import { withQuery } from './guarded-query.ts';

/** What has become of a request that passed. */
export interface Passed {
  /** Null: nothing of it was changed. */
  readonly body: Uint8Array | null;
  /** To set on the request, by lower-case name; null takes one away. */
  readonly headers: Readonly<Record<string, string | null>>;
}

export interface GuardedBody extends Partial<BodyHead> {
  readonly bytes: Uint8Array | null;
}

const NOTHING: readonly HookResult[] = [];
const isAside = ({ actions }: Guardrail) => actions.async;
const isAwaited = ({ actions }: Guardrail) => !actions.async;
const isBodyRead = ({ checks }: Guardrail) => checks.input.some(({ check }) => check.judges !== 'call');

/** The guardrails of one exchange, and what they have found so far. */
export class Guarding {
  readonly call: GuardedCall;
  readonly #guardrails: Readonly<Record<Hook, readonly Guardrail[]>>;
  readonly #ports: Ports;
  readonly #results: Record<Hook, readonly HookResult[]> = { input: NOTHING, output: NOTHING };
  #request = EMPTY;

  constructor(call: GuardedCall, guardrails: Readonly<Record<Hook, readonly Guardrail[]>>, ports: Ports) {
    this.call = call;
    this.#guardrails = guardrails;
    this.#ports = ports;
  }

  /** Whether the request has to be read whole. Its answer may be judged by what was asked. */
  get readsRequest(): boolean {
    return this.judgesAnswers || this.#guardrails.input.some(isBodyRead);
  }

  get judgesAnswers(): boolean {
    return this.#guardrails.output.length > 0;
  }

  /** Nobody waits for any of their verdicts on the answer. */
  get isAside(): boolean {
    return this.#guardrails.output.every(isAside);
  }

  /** Those that hold an answer back until they have looked. */
  get holding(): readonly Guardrail[] {
    return this.#guardrails.output.filter(holdsStreams);
  }

  /** The others, which look at an answer when it has passed. */
  get watching(): readonly Guardrail[] {
    return this.#guardrails.output.filter((guardrail) => !holdsStreams(guardrail));
  }

  get results(): HookResults {
    return { before_request_hooks: this.#results.input, after_request_hooks: this.#results.output };
  }

  get hasFailed(): boolean {
    return isFailed(this.#results.input) || isFailed(this.#results.output);
  }

  /** Whether answers have to be looked into, be it only to say there what was found. */
  get touchesAnswers(): boolean {
    return this.judgesAnswers || this.#isTold;
  }

  get #isTold(): boolean {
    const hasRun = this.#results.input.length + this.#results.output.length > 0;
    return hasRun && (!this.call.isStrict || this.hasFailed);
  }

  /** For the caller; null where the caller wants none and needs none. */
  get told(): HookResults | null {
    return this.#isTold ? toldToCaller(this.results) : null;
  }

  /** Judges a request. Throws 446 when a guardrail denies it, 400 when it cannot be read in one way only. */
  input(body: GuardedBody): Passed | Promise<Passed> {
    const reading = this.#readRequest(body);
    this.#request = reading;
    const judged = this.judge('input', reading);
    return judged instanceof Promise
      ? judged.then((outcome) => this.#passed(reading, outcome))
      : this.#passed(reading, judged);
  }

  #passed(before: Reading, { results, reading, headers }: Judged): Passed {
    this.settle('input', results);
    this.#request = reading;
    return { body: reading === before ? null : reading.bytes, headers };
  }

  /** Judges an answer of a provider. Throws 446 when a guardrail denies it before anything was given on. */
  output(incoming: Incoming, options: GuardedAnswerOptions = {}): Promise<Incoming> {
    return guardAnswer(this, incoming, options);
  }

  /** Lets those look that are waited for, and the others beside them. */
  judge(
    hook: Hook,
    reading: Reading,
    status: number | null = null,
    all: readonly Guardrail[] = this.#guardrails[hook],
  ): Judged | Promise<Judged> {
    const { call } = this;
    const judging = {
      hook,
      guardrails: all,
      reading,
      request: this.#request,
      surroundings: {
        status,
        model: call.model,
        addressed: call.addressed ?? null,
        endpointType: call.endpoint,
        metadata: call.log.metadata ?? {},
        headers: call.headers,
        isStream: call.isStream,
        provider: call.provider,
      },
      ports: this.#ports,
    };
    if (!all.some(isAside)) return judge(judging);
    const looking = Promise.resolve(judge({ ...judging, guardrails: all.filter(isAside) }));
    call.log.awaits(looking.then(({ results }) => this.#record(hook, results)));
    return judge({ ...judging, guardrails: all.filter(isAwaited) });
  }

  /** Keeps what was found; throws when that is a denial. */
  settle(hook: Hook, results: readonly HookResult[]) {
    this.#record(hook, results);
    if (isDenied(results)) throw new GuardrailDenied(hook, this.results);
  }

  /** Forgets what was found of an answer that is not used. */
  forgetAnswer() {
    this.#results.output = NOTHING;
  }

  #record(hook: Hook, results: readonly HookResult[]) {
    if (results.length === 0) return;
    const earlier = this.#results[hook];
    this.#results[hook] = earlier.length === 0 ? results : [...earlier, ...results];
    this.call.log.hookResults = packHookResults(this.results);
  }

  #readRequest({ bytes, type = 'application/json', encoding = null }: GuardedBody): Reading {
    const { endpoint, search } = this.call;
    if (bytes && encoding !== null && encoding !== 'identity' && this.readsRequest)
      fail('invalid_request', 'content-encoding', 'guardrails read this body; send it as it is, not encoded');
    try {
      const reading = readBody(bytes, { type, encoding }, { on: 'input', endpoint });
      return endpoint === 'proxy' && search ? withQuery(reading, search) : reading;
    } catch (error) {
      if (error instanceof Unreadable)
        fail('invalid_request', 'body', `guardrails read this body, and ${error.message}; send it in one clear form`);
      throw error;
    }
  }
}
