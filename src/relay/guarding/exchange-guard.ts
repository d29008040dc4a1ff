import { fail } from '../../core/errors.ts';
import { packHookResults } from '../../core/hook-results.ts';
import type { NowOrLater } from '../../core/runtime/now-or-later.ts';
import type { Hook, Ports } from '../../guardrails/check.ts';
import { type Guardrail, holdsStreams } from '../../guardrails/guardrail.ts';
import { EMPTY, type Reading, readBody } from '../../guardrails/reading.ts';
import { type Judged, judge } from '../../guardrails/run.ts';
import { Unreadable } from '../../guardrails/texts.ts';
import {
  GuardrailDenied,
  type HookResult,
  type HookResults,
  isDenied,
  isFailed,
  joined,
  toldToCaller,
} from '../../guardrails/verdict.ts';
import { type SentHeaders, withHeaders } from '../../http/headers.ts';
import type { GuardedBody, GuardedCall, Passed, Stages } from './guarded.ts';
import { withQuery } from './query-guard.ts';

const NOTHING: readonly HookResult[] = [];
const isAside = ({ actions }: Guardrail) => actions.async;
const isAwaited = ({ actions }: Guardrail) => !actions.async;
const allOf = ({ operators, callers }: Stages) => (callers.length === 0 ? operators : [...operators, ...callers]);
const isBodyRead = ({ checks }: Guardrail) => checks.input.some(({ check }) => check.judges !== 'call');

interface Look {
  readonly hook: Hook;
  readonly reading: Reading;
  readonly status: number | null;
  readonly guardrails: readonly Guardrail[];
  /** What was asked, for those that judge an answer. */
  readonly request: Reading;
  /** Of the request, where they have changed since it came. */
  readonly headers?: SentHeaders;
}

/** The guardrails of one exchange, and what they have found so far. */
export class Guarding {
  readonly call: GuardedCall;
  readonly #stages: Readonly<Record<Hook, Stages>>;
  readonly #guardrails: Readonly<Record<Hook, readonly Guardrail[]>>;
  readonly #ports: Ports;
  readonly #results: Record<Hook, readonly HookResult[]> = { input: NOTHING, output: NOTHING };
  /** As the provider gets it. */
  #request = EMPTY;
  /** The same without what the operator's guardrails put into it, which is not for the caller's to see. */
  #callersRequest = EMPTY;

  /** Whether answers have to be looked into, be it only to say there what was found. */
  touchesAnswers: boolean;

  constructor(call: GuardedCall, stages: Readonly<Record<Hook, Stages>>, ports: Ports) {
    this.call = call;
    this.#stages = stages;
    this.#guardrails = { input: allOf(stages.input), output: allOf(stages.output) };
    this.#ports = ports;
    this.touchesAnswers = this.judgesAnswers;
  }

  /** Whether the request has to be read whole. Its answer may be judged by what was asked. */
  get readsRequest(): boolean {
    return this.judgesAnswers || this.#guardrails.input.some(isBodyRead);
  }

  get judgesAnswers(): boolean {
    return this.#guardrails.output.length > 0;
  }

  /** The answer waits for none of their verdicts. */
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

  get operatorsWatching(): readonly Guardrail[] {
    return this.watching.filter((each) => !this.#stages.output.callers.includes(each));
  }

  get callersWatching(): readonly Guardrail[] {
    return this.watching.filter((each) => this.#stages.output.callers.includes(each));
  }

  get results(): HookResults {
    return { before_request_hooks: this.#results.input, after_request_hooks: this.#results.output };
  }

  get hasFailed(): boolean {
    return isFailed(this.#results.input) || isFailed(this.#results.output);
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
  async input(body: GuardedBody): Promise<Passed> {
    const before = this.#readRequest(body);
    this.#request = before;
    this.#callersRequest = before;
    const { results, reading, headers } = await this.judge('input', before);
    this.settle('input', results);
    this.#request = reading;
    return { body: reading === before ? null : reading.bytes, headers };
  }

  /**
   * Lets guardrails look in their order. A request: the caller's, then the operator's at what has become of it. An answer:
   * the operator's, so that the caller's see only what may leave; and when these have changed it, the operator's again.
   */
  async judge(
    hook: Hook,
    reading: Reading,
    status: number | null = null,
    all: readonly Guardrail[] = this.#guardrails[hook],
  ): Promise<Judged> {
    const { callers, operators } = this.#among(hook, all);
    if (callers.length === 0)
      return this.#look({ hook, reading, status, guardrails: operators, request: this.#request });
    return hook === 'input'
      ? this.#judgeRequest(callers, operators, reading)
      : this.#judgeAnswer(callers, operators, reading, status);
  }

  /** Whose those are that look now. Mostly all look, and that was found out when they were put together. */
  #among(hook: Hook, all: readonly Guardrail[]): Pick<Stages, 'callers' | 'operators'> {
    const stages = this.#stages[hook];
    if (all === this.#guardrails[hook]) return stages;
    const isBrought = (each: Guardrail) => stages.callers.includes(each);
    return { callers: all.filter(isBrought), operators: all.filter((each) => !isBrought(each)) };
  }

  async #judgeRequest(
    callers: readonly Guardrail[],
    operators: readonly Guardrail[],
    reading: Reading,
  ): Promise<Judged> {
    const hook = 'input';
    const first = await this.#look({ hook, reading, status: null, guardrails: callers, request: reading });
    this.#callersRequest = first.reading;
    if (operators.length === 0 || isDenied(first.results)) return first;
    const headers = withHeaders(this.call.headers, first.headers);
    const last = await this.#look({
      hook,
      reading: first.reading,
      status: null,
      guardrails: operators,
      request: reading,
      headers,
    });
    return {
      reading: last.reading,
      results: [...first.results, ...last.results],
      headers: { ...first.headers, ...last.headers },
    };
  }

  async #judgeAnswer(
    callers: readonly Guardrail[],
    operators: readonly Guardrail[],
    reading: Reading,
    status: number | null,
  ): Promise<Judged> {
    const look = { hook: 'output', status } as const;
    const first = await this.#look({ ...look, reading, guardrails: operators, request: this.#request });
    if (isDenied(first.results)) return first;
    const own = await this.#look({
      ...look,
      reading: first.reading,
      guardrails: callers,
      request: this.#callersRequest,
    });
    const results = (operatorsFound: readonly HookResult[]) => [...operatorsFound, ...own.results];
    if (own.reading === first.reading || isDenied(own.results)) return { ...own, results: results(first.results) };
    const awaited = operators.filter(isAwaited);
    const last = await this.#look({ ...look, reading: own.reading, guardrails: awaited, request: this.#request });
    return { ...last, results: results(joined(first.results, last.results)) };
  }

  /** Lets those look that are waited for, and the others beside them. */
  #look({ hook, reading, status, guardrails, request, headers = this.call.headers }: Look): NowOrLater<Judged> {
    const { call } = this;
    const judging = {
      hook,
      guardrails,
      reading,
      request,
      written: this.#stages[hook].written,
      surroundings: {
        status,
        model: call.model,
        addressed: call.addressed ?? null,
        endpointType: call.endpoint,
        metadata: call.log.metadata ?? {},
        headers,
        isStream: call.isStream,
        provider: call.provider,
        proving: call.proving,
      },
      ports: this.#ports,
      owner: call.principal?.keyId ?? call.who.workspaceId,
    };
    if (!guardrails.some(isAside)) return judge(judging);
    const looking = Promise.resolve(judge({ ...judging, guardrails: guardrails.filter(isAside) }));
    call.log.awaits(looking.then(({ results }) => this.#record(hook, results)));
    return judge({ ...judging, guardrails: guardrails.filter(isAwaited) });
  }

  /** Keeps what was found; throws when that is a denial. */
  settle(hook: Hook, results: readonly HookResult[]) {
    this.#record(hook, results);
    if (isDenied(results)) throw new GuardrailDenied(hook, this.results);
  }

  /** Forgets what was found of an answer that is not used. */
  forgetAnswer() {
    this.#results.output = NOTHING;
    this.touchesAnswers = this.judgesAnswers || this.#isTold;
  }

  #record(hook: Hook, results: readonly HookResult[]) {
    if (results.length === 0) return;
    const earlier = this.#results[hook];
    this.#results[hook] = earlier.length === 0 ? results : [...earlier, ...results];
    this.touchesAnswers = this.judgesAnswers || this.#isTold;
    this.call.log.hookResults = packHookResults(this.results);
  }

  #readRequest({ bytes, type = 'application/json', encoding = null }: GuardedBody): Reading {
    const { endpoint, search } = this.call;
    if (bytes && encoding !== null && encoding !== 'identity' && this.readsRequest)
      fail('invalid_request', 'content-encoding', 'guardrails read this body; send it as it is, not encoded');
    try {
      const reading = readBody(bytes, { type, encoding }, { on: 'input', endpoint });
      return search ? withQuery(reading, search) : reading;
    } catch (error) {
      if (error instanceof Unreadable)
        fail('invalid_request', 'body', `guardrails read this body, and ${error.message}; send it in one clear form`);
      throw error;
    }
  }
}
