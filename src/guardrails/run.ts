import type { CheckResult, Facts, Hook, Ports } from './check.ts';
import { errored } from './check.ts';
import type { Guardrail, PreparedCheck } from './guardrail.ts';
import type { Reading } from './reading.ts';
import { Unreadable } from './texts.ts';
import { type CheckOutcome, type HookResult, resultOf } from './verdict.ts';

/** What is judged, apart from the body. */
export type Surroundings = Omit<Facts, 'texts' | 'json' | 'on' | 'request' | 'model'> & {
  readonly model: string | null;
  /** The model that the address names, whatever the body says. */
  readonly addressed?: string | null;
};

export interface Judging {
  readonly hook: Hook;
  readonly guardrails: readonly Guardrail[];
  readonly reading: Reading;
  /** The request, while its answer is judged. */
  readonly request: Reading;
  readonly surroundings: Surroundings;
  readonly ports: Ports;
}

export interface Judged {
  /** What has become of the body. */
  readonly reading: Reading;
  readonly results: readonly HookResult[];
  /** To set on the request; null takes one away. */
  readonly headers: Readonly<Record<string, string | null>>;
}

/** Changes of others may come while a check looks; after so many it is not asked again. */
const MOST_LOOKS = 5;

/**
 * Lets every guardrail look. Those that find out at once are answered at once, without a promise. Whatever a check puts
 * in the place of what it saw, those that begin later see; two that change the same text do so one after the other.
 */
export function judge(judging: Judging): Judged | Promise<Judged> {
  const subject = new Subject(judging);
  const running = judging.guardrails.map((guardrail) => runGuardrail(guardrail, subject));
  const judged = (results: readonly HookResult[]): Judged => ({
    reading: subject.reading,
    results,
    headers: subject.headers,
  });
  return running.some((each) => each instanceof Promise)
    ? Promise.all(running).then(judged)
    : judged(running as HookResult[]);
}

/** The body while it is judged. */
class Subject {
  readonly hook: Hook;
  readonly ports: Ports;
  headers: Record<string, string | null> = {};
  reading: Reading;
  facts: Facts;
  /** Grows with each change. */
  version = 0;
  readonly #judging: Judging;

  constructor(judging: Judging) {
    this.#judging = judging;
    this.hook = judging.hook;
    this.ports = judging.ports;
    this.reading = judging.reading;
    this.facts = this.#factsOf(judging.reading);
  }

  change(reading: Reading) {
    this.reading = reading;
    this.facts = this.#factsOf(reading);
    this.version++;
  }

  #factsOf(reading: Reading): Facts {
    const { hook, request, surroundings } = this.#judging;
    const isInput = hook === 'input';
    const asked = isInput ? reading : request;
    return {
      ...surroundings,
      on: hook,
      texts: reading.texts,
      // Putting a stream together takes time, and few checks ask for it.
      get json() {
        return reading.json;
      },
      request: asked,
      model: surroundings.addressed ?? asked.model ?? surroundings.model,
      status: isInput ? null : surroundings.status,
    };
  }
}

function runGuardrail(guardrail: Guardrail, subject: Subject): HookResult | Promise<HookResult> {
  const startedAt = subject.ports.now();
  const started = performance.now();
  const checks = guardrail.checks[subject.hook].filter((prepared) => hasSomethingToSee(prepared, subject.reading));
  const result = (outcomes: readonly CheckOutcome[]) =>
    resultOf(guardrail, outcomes, { startedAt, ms: elapsed(started) });
  if (guardrail.actions.sequential) {
    const outcomes = inOrder(checks, subject);
    return outcomes instanceof Promise ? outcomes.then(result) : result(outcomes);
  }
  const running = checks.map((prepared) => runCheck(prepared, subject));
  return running.some((each) => each instanceof Promise)
    ? Promise.all(running).then(result)
    : result(running as CheckOutcome[]);
}

/** Nobody can say of a request without a body what its texts are like. */
const hasSomethingToSee = ({ check: { judges = 'texts' } }: PreparedCheck, { isEmpty }: Reading): boolean =>
  judges !== 'texts' || !isEmpty;

async function inOrder(checks: readonly PreparedCheck[], subject: Subject): Promise<CheckOutcome[]> {
  const outcomes: CheckOutcome[] = [];
  for (const prepared of checks) outcomes.push(await runCheck(prepared, subject));
  return outcomes;
}

const elapsed = (started: number): number => Math.round((performance.now() - started) * 1_000) / 1_000;

function runCheck(prepared: PreparedCheck, subject: Subject, looks = 1): CheckOutcome | Promise<CheckOutcome> {
  const { version } = subject;
  const startedAt = subject.ports.now();
  const started = performance.now();
  const end = (found: CheckResult): CheckOutcome | Promise<CheckOutcome> => {
    let result = found;
    let isTransformed = false;
    if (found.transformed) {
      if (subject.version !== version)
        return looks < MOST_LOOKS
          ? runCheck(prepared, subject, looks + 1)
          : outcomeOf(prepared, errored('what it looked at kept changing'), { startedAt, started, isTransformed });
      const changed = changedBy(found, subject.reading);
      if (changed) subject.change(changed);
      else result = errored('what it puts in the place of this body cannot be put there');
      isTransformed = changed !== null;
    }
    if (result.headers) subject.headers = { ...subject.headers, ...result.headers };
    return outcomeOf(prepared, result, { startedAt, started, isTransformed });
  };
  const looking = look(prepared, subject);
  return looking instanceof Promise ? looking.then(end) : end(looking);
}

/** A check that throws has not looked. */
function look(
  { check, parameters }: PreparedCheck,
  { facts, reading, ports }: Subject,
): CheckResult | Promise<CheckResult> {
  if (reading.obstacle !== null && (check.judges ?? 'texts') === 'texts')
    return errored(`this body cannot be judged: ${reading.obstacle}`);
  try {
    const result = check.run(facts, parameters, ports);
    return result instanceof Promise ? result.catch(broken) : result;
  } catch {
    return broken();
  }
}

const broken = (): CheckResult => errored('the check failed');

function changedBy({ transformed }: CheckResult, reading: Reading): Reading | null {
  try {
    return reading.changed(transformed!);
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

function outcomeOf(
  { id, name, failsOnError }: PreparedCheck,
  { verdict, data, log = null, error }: CheckResult,
  { startedAt, started, isTransformed }: { startedAt: number; started: number; isTransformed: boolean },
): CheckOutcome {
  return {
    id,
    ...(name !== undefined && { name }),
    // Whatever a check answers beside true is no pass.
    verdict: verdict === true,
    data,
    log,
    error: error === undefined ? null : { message: error },
    fail_on_error: failsOnError,
    transformed: isTransformed,
    execution_time: elapsed(started),
    created_at: new Date(startedAt).toISOString(),
  };
}
